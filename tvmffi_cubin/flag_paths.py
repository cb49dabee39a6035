"""Relative paths in a caller's flags: they start at the current folder, builds run elsewhere."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import islice

__all__ = ["absolute"]

# As gcc and clang spell them, with the value in the same word or in the next.
_HEADERS = ("-include", "-imacros")
_FOLDERS = ("-iquote", "-isystem", "-idirafter", "-I", "-L")
_LINKED = (".o", ".obj", ".a", ".so")


def absolute(flags: Iterable[str]) -> tuple[str, ...]:
    """Return flags of gcc, clang or a linker, the relative paths in them made absolute.

    Those are header and library folders; where they are files that exist, headers that come first,
    objects and libraries.
    """
    return tuple(_absolute(iter(flags)))


def _absolute(flags: Iterator[str]) -> Iterator[str]:
    for flag in flags:
        option = next((x for x in (*_HEADERS, *_FOLDERS) if flag.startswith(x)), None)
        if option is None:
            yield _file(flag) if flag.endswith(_LINKED) else flag
            continue
        complete = _folder if option in _FOLDERS else _file
        value = flag[len(option) :].strip()
        if value:
            yield option + complete(value)
            continue
        yield option
        for value in islice(flags, 1):
            yield complete(value)


def _folder(value: str) -> str:
    # A leading "=" or "$SYSROOT" stands for a folder of the compiler's.
    return value if value[:1] in ("=", "$") else os.path.abspath(value)


def _file(value: str) -> str:
    # Else it is looked for where headers are, or is an option's.
    return os.path.abspath(value) if os.path.isfile(value) else value
