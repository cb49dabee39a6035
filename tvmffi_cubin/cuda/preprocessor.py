"""The preprocessor flags among a compiler's: macros, header folders, headers included first."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import NamedTuple

_FIRST = ("-include", "-imacros")
# In the order of the search.
_FOLDERS = ("-iquote", "-I", "-isystem", "-idirafter")


class PreprocessorFlags(NamedTuple):
    """Pairs of gcc's spelling and value, in order; paths are absolute."""

    flags: tuple[tuple[str, str], ...]

    @property
    def folders(self) -> tuple[str, ...]:
        """The header folders, in the order of the search."""
        return tuple(value for kind in _FOLDERS for name, value in self.flags if name == kind)

    @property
    def macros(self) -> dict[str, str]:
        """The macros that are defined, name to text."""
        found: dict[str, str] = {}
        for name, value in self.flags:
            macro, _, text = value.partition("=")
            if name == "-D":
                found[macro] = text or "1"
            elif name == "-U":
                found.pop(macro, None)
        return found

    @property
    def first_headers(self) -> tuple[str, ...]:
        """The headers that are included before the source."""
        return tuple(value for name, value in self.flags if name in _FIRST)

    @property
    def words(self) -> tuple[str, ...]:
        """The flags as gcc and clang take them."""
        return tuple(word for pair in self.flags for word in pair)


def parse(flags: Iterable[str]) -> PreprocessorFlags:
    """Return the preprocessor flags among `flags`, as nvcc, NVRTC or gcc spell them."""
    flags, found = tuple(flags), []
    if not flags:
        return PreprocessorFlags(())
    from .options import read

    for name, value, _ in read(flags):
        if name in (*_FIRST, *_FOLDERS, "-D", "-U"):
            # A header that comes first is looked for in the current folder first.
            is_path = name in _FOLDERS or (name in _FIRST and os.path.isfile(value))
            found.append((name, os.path.abspath(value) if is_path else value))
    return PreprocessorFlags(tuple(found))
