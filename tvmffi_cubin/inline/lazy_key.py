"""The key under which the images of a lazy module are kept, from the caller's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..cache.key import Key
from ..cuda.arch import resolve_archs
from ..launches import SCHEMA
from .generated import FORM

__all__ = ["lazy_key"]

_DEEPEST = 100


def lazy_key(name: str, key: Any, arch: Any) -> str:
    """Return the digest of everything that tells one lazy module's images from others.

    Parameters
    ----------
    name : str
        The module's.
    key : Any
        What the caller gave.
    arch : str, sequence of str or None
        The architectures, where the caller named some.

    Raises
    ------
    TypeError, ValueError
        A part of `key` is no plain value, the message names it; or `arch` is none.
    """
    _check(key, "key", 0)
    archs = None if arch is None else resolve_archs(arch)
    full = Key("lazy images").add("form", [FORM, SCHEMA]).add("name", name).add("archs", archs)
    return full.add("key", key).hexdigest()


def _check(value: Any, where: str, depth: int) -> None:
    if value is None or isinstance(value, bool | int | float | str | bytes | bytearray):
        return
    if depth == _DEEPEST:
        raise ValueError(f"{where[:80]}... is nested too deeply, or holds itself")
    if isinstance(value, Mapping):
        for name, item in value.items():
            if not isinstance(name, str):
                raise TypeError(f"{where}: a mapping's keys are str, got {name!r}")
            _check(item, f"{where}[{name!r}]", depth + 1)
    elif isinstance(value, Sequence):
        for index, item in enumerate(value):
            _check(item, f"{where}[{index}]", depth + 1)
    else:
        raise TypeError(
            f"{where} is of type {type(value).__name__}, which has no text that is the same in "
            "every process: give None, bool, int, float, str, bytes, or a sequence or mapping of "
            "those, such as str(value)"
        )
