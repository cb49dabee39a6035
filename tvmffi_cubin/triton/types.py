"""Triton's names of types, and the C++ types whose bytes Triton's own launcher passes for them."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

# An i1 is a byte that is 0 or 1, whatever sign Triton gives it.
SCALARS: Final = {
    "i1": "bool",
    "u1": "bool",
    **{f"i{bits}": f"int{bits}_t" for bits in (8, 16, 32, 64)},
    **{f"u{bits}": f"uint{bits}_t" for bits in (8, 16, 32, 64)},
    "fp16": "__half",
    "bf16": "__nv_bfloat16",
    "fp32": "float",
    "f32": "float",
    "fp64": "double",
}
# Those that point to void have no C++ type, or none with a dtype that tensors have.
POINTEES: Final = {
    **SCALARS,
    "fp8e4nv": "__nv_fp8_e4m3",
    "fp8e5": "__nv_fp8_e5m2",
    **dict.fromkeys(("fp8e4b15", "fp8e4b8", "fp8e5b16", "void"), "void"),
}


class Descriptor(NamedTuple):
    """The type of a tensor descriptor, such as ``tensordesc<fp16[64,64]>``."""

    pointer: str  # to its tensor, in C++
    rank: int


def descriptor(type_: str) -> Descriptor | None:
    """Return what a descriptor's type says; None for any other type."""
    if not type_.startswith("tensordesc"):
        return None
    match = re.match(r"tensordesc<([^\[<>]+)\[(\s*\d+\s*(?:,\s*\d+\s*){0,4})\]", type_)
    element = match[1].strip() if match else ""
    # Triton's passes end the process for others.
    if match is None or element in ("i1", "u1", "void") or element not in POINTEES:
        raise ValueError(
            f"{type_!r} is no tensor descriptor that can be made here, wanted one of 1 to 5 "
            "dimensions such as tensordesc<fp16[64,64]>; im2col maps are a Launch's own "
            "(TensorMap.im2col)"
        )
    return Descriptor(f"{POINTEES[element]}*", match[2].count(",") + 1)


def kernel_type(type_: str) -> str:
    """Return the C++ type of a pointer or a scalar."""
    is_pointer, const = type_.startswith("*"), type_.startswith("*k")
    name = type_.removeprefix("*k" if const else "*")
    if name not in (POINTEES if is_pointer else SCALARS):
        raise ValueError(
            f"{type_!r} is no type of Triton's that a kernel is launched with; there are "
            f"{', '.join(SCALARS)}, pointers to them (*fp32) and tensordesc<fp16[64,64]>"
        )
    return f"{'const ' if const else ''}{POINTEES[name]}*" if is_pointer else SCALARS[name]
