"""The preprocessor flags among a compiler's: macros, header folders, headers included first."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple

__all__ = ["PreprocessorFlags", "parse"]

# Every spelling of nvcc's and NVRTC's, and gcc's for each, the longest first.
_SPELLINGS = (
    ("--define-macro", "-D"),
    ("--undefine-macro", "-U"),
    ("--include-path", "-I"),
    ("--include-directory-after", "-idirafter"),
    ("--include-directory", "-I"),
    ("--system-include", "-isystem"),
    ("--pre-include", "-include"),
    ("-include", "-include"),
    ("-imacros", "-imacros"),
    ("-idirafter", "-idirafter"),
    ("-iquote", "-iquote"),
    ("-isystem", "-isystem"),
    ("-D", "-D"),
    ("-U", "-U"),
    ("-I", "-I"),
)
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
    """Return the preprocessor flags among `flags`, in whichever spelling."""
    return PreprocessorFlags(tuple(_pairs(iter(flags))))


def _pairs(flags: Iterator[str]) -> Iterator[tuple[str, str]]:
    for flag in flags:
        for spelling, name in _SPELLINGS:
            if flag.startswith(spelling):
                value = flag[len(spelling) :].removeprefix("=") or next(flags, "")
                # A header that comes first is looked for in the current folder first.
                is_path = name in _FOLDERS or (name in _FIRST and os.path.isfile(value))
                yield name, os.path.abspath(value) if is_path else value
                break
