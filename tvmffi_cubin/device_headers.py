"""CUDA's headers of device code: slow to compile, and of no use to most host code."""

from __future__ import annotations

from collections.abc import Collection

__all__ = ["is_named", "library_of"]

# How a header's name begins, and the word by which code names what is in it.
_LIBRARIES = (
    ("cub/", "cub"),
    ("thrust/", "thrust"),
    ("cuda/", "cuda"),
    ("cooperative_groups", "cooperative_groups"),
    ("mma.h", "nvcuda"),
    ("cuda_pipeline", "nvcuda"),
    ("curand", "curand"),
)
# Of which the names of all that is in it begin with that word.
_PREFIXES = frozenset(("curand",))


def library_of(header: str) -> str:
    """Return the word by which code names what is in a header; empty for any other header."""
    return next((word for start, word in _LIBRARIES if header.startswith(start)), "")


def is_named(library: str, words: Collection[str]) -> bool:
    """Whether some words name something of a library."""
    if library in _PREFIXES:
        return any(word.startswith(library) for word in words)
    return library in words
