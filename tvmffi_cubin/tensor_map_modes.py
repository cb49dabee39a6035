"""The words of tensor maps: data types, swizzles and other modes, and which go together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

__all__ = [
    "DATA_TYPES",
    "INTERLEAVES",
    "L2_PROMOTIONS",
    "OOB_FILLS",
    "SWIZZLES",
    "check_word",
    "inner_problem",
    "mode_problem",
]

# In the order of the driver's numbers, by its names; each type with its bits.
DATA_TYPES: Final[Mapping[str, int]] = {
    "uint8": 8,
    "uint16": 16,
    "uint32": 32,
    "int32": 32,
    "uint64": 64,
    "int64": 64,
    "float16": 16,
    "float32": 32,
    "float64": 64,
    "bfloat16": 16,
    "float32_ftz": 32,
    "tfloat32": 32,
    "tfloat32_ftz": 32,
    "16u4_align8b": 4,
    "16u4_align16b": 4,
    "16u6_align16b": 6,
}
# Likewise, each with the bytes within which it permutes.
SWIZZLES: Final[Mapping[str, int]] = {
    "none": 0,
    "32B": 32,
    "64B": 64,
    "128B": 128,
    "128B_atom_32B": 128,
    "128B_atom_32B_flip_8B": 128,
    "128B_atom_64B": 128,
}
INTERLEAVES: Final = ("none", "16B", "32B")
L2_PROMOTIONS: Final = ("none", "64B", "128B", "256B")
OOB_FILLS: Final = ("zeros", "nan")

# Types of which a load takes 128 values, and their swizzles.
_WIDE = {
    "16u4_align16b": ("none", "128B", "128B_atom_32B"),
    "16u6_align16b": ("none", "128B", "128B_atom_32B", "128B_atom_64B"),
}


def check_word(what: str, value: object, known: Iterable[str]) -> None:
    """Check that a value is one of the words that are known.

    Raises
    ------
    TypeError, ValueError
        It is no str, or another one; the message lists those that there are.
    """
    words = tuple(known)
    if not isinstance(value, str):
        raise TypeError(f"{what} is a str, got {type(value).__name__}")
    if value not in words:
        raise ValueError(f"{what} is {value!r}; there are {', '.join(words)}")


def mode_problem(
    *, rank: int, dtype: str | None, swizzle: str, interleave: str, oob_fill: str
) -> str:
    """Return which modes do not go together; empty where all do. A `dtype` of None is unknown."""
    if interleave != "none" and rank < 3:
        return f"the rank is {rank}, interleave {interleave!r} takes 3 to 5"
    if interleave == "32B" and swizzle != "32B":
        return (
            f"swizzle is {swizzle!r}, CUDA's documentation allows '32B' alone with interleave '32B'"
        )
    if oob_fill == "nan" and dtype is not None and "float" not in dtype:
        return f"oob_fill is 'nan', dtype {dtype}: only floating types have one"
    if dtype == "16u6_align16b" and interleave != "none":
        return f"interleave is {interleave!r}, dtype {dtype} takes 'none' alone"
    swizzles = _WIDE.get(dtype or "")
    if swizzles and swizzle not in swizzles:
        return f"swizzle is {swizzle!r}, dtype {dtype} takes {', '.join(map(repr, swizzles))}"
    return ""


def inner_problem(elements: int, *, dtype: str, swizzle: str, interleave: str) -> str:
    """Return what is wrong with what a load has of the innermost dimension; empty: nothing."""
    if dtype in _WIDE and elements != 128:
        return f"is {elements}, dtype {dtype} takes 128 alone"
    if interleave == "32B":
        return ""
    bits, span = elements * DATA_TYPES[dtype], SWIZZLES[swizzle]
    if bits % 128:
        return f"is {elements} elements of {dtype}, {bits} bits, wanted a multiple of 128, 16 bytes"
    if interleave == "none" and span and bits // 8 > span:
        return (
            f"is {elements} elements of {dtype}, {bits // 8} bytes, swizzle {swizzle!r} takes at "
            f"most {span}"
        )
    return ""
