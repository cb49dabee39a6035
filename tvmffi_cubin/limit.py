"""`Limit`: how much a cache folder may take, and who sees to it that it takes no more."""

from __future__ import annotations

import logging
import os
import re

from . import config
from .entry import Entry
from .folder import HEADERS

_logger = logging.getLogger("tvmffi_cubin")


class Limit:
    """The limit of a cache folder.

    Attributes
    ----------
    root : str
        The folder.
    size : int or None
        How many bytes it may take; None: any number.
    """

    def __init__(self, root: str, size: int | None) -> None:
        self.root = root
        self.size = size

    @staticmethod
    def of(root: str) -> Limit:
        """Return the limit that the user has set.

        Raises
        ------
        ValueError
            It is no number of bytes.
        """
        # Precompiled headers count as part of the cache that they are in.
        return Limit(root.removesuffix(f"/{HEADERS}"), capacity())

    def count(self, entry: Entry) -> None:
        """Count a new entry; where the folder may hold too much now, remove what was used least."""
        if self.size is None or entry.level != "cache":
            return
        from .tally import Tally, size_of

        try:
            tally = Tally.add(self.root, size_of(os.fspath(entry.path)))
            if tally is None or tally.exceeds(self.size):
                from .trim import trim

                trim(self.root, limit=self.size, keep={entry.key})
        except OSError as error:
            _logger.debug("cache folder %s is not kept below its limit: %s", self.root, error)


UNLIMITED = "unlimited"

_VARIABLE = "TVMFFI_CUBIN_CACHE_SIZE"
_NUMBER = re.compile(r"\s*(\d{1,30}(?:\.\d{1,30})?)\s*([a-z]*)\s*\Z", re.IGNORECASE | re.ASCII)
_UNITS = {"": 1, "b": 1}
for _power, _letter in enumerate("kmgt", start=1):
    _UNITS |= {f"{_letter}b": 1000**_power, f"{_letter}ib": 1024**_power, _letter: 1000**_power}

# More than any disk, and what file systems count with.
_MOST = 1 << 62


def capacity() -> int | None:
    """Return how many bytes the cache folder may take, None where there is no limit.

    Raises
    ------
    ValueError
        The variable is no such number; the message says what is wanted.
    """
    return read_size(config.get(_VARIABLE) or UNLIMITED, what=_VARIABLE)


def read_size(text: str, *, what: str) -> int | None:
    """Return the number of bytes that a text such as ``500MB`` says; None of ``unlimited``.

    Parameters
    ----------
    text : str
        A number, with B, kB, MB, GB, TB (powers of 1000) or KiB, MiB, GiB, TiB (of 1024) after it.
    what : str
        Whose value it is, for the error.

    Raises
    ------
    ValueError
        It says no number of bytes.
    """
    if text.strip().lower() == UNLIMITED:
        return None
    match = _NUMBER.match(text)
    unit = _UNITS.get(match[2].lower()) if match else None
    size = 0 if match is None or unit is None else _product(match[1], unit)
    if not 0 < size < _MOST:
        raise ValueError(
            f"{what}={text!r}: wanted a number of bytes above 0, such as 500MB, 2GiB or 5000000000,"
            f" or {UNLIMITED}; to keep nothing at all, set TVMFFI_CUBIN_CACHE=off"
        )
    return size


def _product(number: str, unit: int) -> int:
    whole, _, part = number.partition(".")
    # Not by way of a float, which has too few digits.
    return int(whole) * unit + int(part or 0) * unit // int(10 ** len(part))


def size_text(size: int) -> str:
    """Return a number of bytes for people, in units of 1000."""
    if size < 1000:
        return f"{size} B"
    units = ["TB", "GB", "MB", "kB"]
    number = size / 1000
    while number >= 999.95 and len(units) > 1:
        number /= 1000
        units.pop()
    return f"{number:.1f} {units[-1]}"
