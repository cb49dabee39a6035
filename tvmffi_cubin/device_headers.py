"""CUDA's headers of device code: slow to compile, and of no use to most host code."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from .mixed_headers import MixedFile

__all__ = [
    "Library",
    "is_for_host",
    "is_stood_in",
    "left_out_headers",
    "library_of",
    "missed_headers",
    "stand_ins",
]


class Library(NamedTuple):
    """Headers of device code.

    Attributes
    ----------
    start : str
        How their names begin.
    word : str
        The word by which code names what is in them.
    is_for_host : bool
        Whether a host compiler takes them at all.
    is_prefix : bool
        Whether the names of all that is in them begin with that word, instead.
    stand_in : str
        A header of ours by which a host compiler takes as much of it as host code may use.
    """

    start: str
    word: str
    is_for_host: bool = True
    is_prefix: bool = False
    stand_in: str = ""

    def is_named(self, words: Collection[str]) -> bool:
        """Whether some words name something of it."""
        if self.is_prefix:
            return any(word.startswith(self.word) for word in words)
        return self.word in words


_LIBRARIES = (
    Library("cub/", "cub", is_for_host=False, stand_in="tvmffi_cubin/mixed/cub.h"),
    Library("thrust/", "thrust"),
    Library("cuda/", "cuda"),
    Library("cooperative_groups/", "cooperative_groups", is_for_host=False),
    Library("cooperative_groups", "cooperative_groups"),
    *(
        Library(start, "nvcuda", is_for_host=False, stand_in="tvmffi_cubin/mixed/nvcuda.h")
        for start in ("mma.h", "cuda_pipeline", "cuda_awbarrier")
    ),
    Library("curand", "curand", is_prefix=True),
)


def library_of(header: str) -> Library | None:
    """Return which of them a header is of, if it is."""
    return next((library for library in _LIBRARIES if header.startswith(library.start)), None)


def is_for_host(header: str) -> bool:
    """Whether a header is of one of them that a host compiler takes, if not as it is."""
    library = library_of(header)
    return library is not None and (library.is_for_host or bool(library.stand_in))


def is_stood_in(header: str, by: Collection[str]) -> bool:
    """Whether a header is of one of them that some headers of ours stand for."""
    library = library_of(header)
    return library is not None and library.stand_in in by


def left_out_headers(
    files: Iterable[MixedFile], words: Collection[str], *, is_whole: bool
) -> tuple[str, ...]:
    """Return those that the host text of a program is not given.

    Parameters
    ----------
    files : iterable of MixedFile
        The program's files.
    words : collection of str
        The words of the host text.
    is_whole : bool
        Whether it is given what it names nothing of, too.
    """
    found: dict[str, None] = {}
    for file in files:
        for item in file.include_items():
            is_cuda = file.includes[item.span.start].owner == "device"
            library = library_of(item.path) if is_cuda else None
            if library is not None:
                is_wanted = is_whole or library.is_named(words)
                if not (is_wanted and library.is_for_host):
                    found[item.path] = None
    return tuple(found)


def missed_headers(files: Iterable[MixedFile], words: Collection[str]) -> frozenset[str]:
    """Return those that were found nowhere, and that device code names something of.

    Parameters
    ----------
    files : iterable of MixedFile
        The program's files.
    words : collection of str
        The words of the device text.
    """
    missed: set[str] = set()
    for file in files:
        for item in file.include_items():
            found, library = file.includes[item.span.start], library_of(item.path)
            if found.owner == "host" and not found.path and library and library.is_named(words):
                missed.add(item.path)
    return frozenset(missed)


def stand_ins(
    files: Iterable[MixedFile], words: Collection[str], *, is_whole: bool
) -> tuple[str, ...]:
    """Return the headers of ours that the host text is given in the place of some that it lacks.

    The parameters are those of `left_out_headers`.
    """
    found: dict[str, None] = {}
    for file in files:
        for item in file.include_items():
            is_cuda = file.includes[item.span.start].owner == "device"
            library = library_of(item.path) if is_cuda else None
            if library and library.stand_in and (is_whole or library.is_named(words)):
                found[library.stand_in] = None
    return tuple(found)
