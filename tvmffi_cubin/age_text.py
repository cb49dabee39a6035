"""Lengths of time as people write and read them: ``30d``, ``2 h``."""

from __future__ import annotations

import re

__all__ = ["age_text", "read_age"]

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_TEXT = re.compile(r"\s*(\d{1,9})\s*([smhdw])\s*\Z", re.ASCII)


def read_age(text: str, *, what: str) -> int:
    """Return the seconds that a text such as ``30d`` says.

    Parameters
    ----------
    text : str
        A whole number with s, m (minutes), h, d or w after it.
    what : str
        Whose value it is, for the error.

    Raises
    ------
    ValueError
        It says no length of time.
    """
    match = _TEXT.match(text)
    if match is None:
        raise ValueError(
            f"{what} {text!r}: wanted a whole number with s, m (minutes), h, d or w after it, such "
            "as 30d"
        )
    return int(match[1]) * _UNITS[match[2]]


def age_text(seconds: float) -> str:
    """Return a length of time for people, in the largest unit of which there are two."""
    for unit, length in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{int(seconds // length)} {unit}"
    return f"{max(int(seconds), 0)} s"
