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
    "fp8e4b15": "void",
    "fp8e4b8": "void",
    "fp8e5b16": "void",
    "void": "void",
}


class Descriptor(NamedTuple):
    """The type of a tensor descriptor, such as ``tensordesc<fp16[64,64]>``."""

    element: str
    rank: int

    @property
    def pointer(self) -> str:
        """The C++ type of a pointer to its tensor."""
        return f"{POINTEES[self.element]}*"


def descriptor(type_: str) -> Descriptor | None:
    """Return what a descriptor's type says; None for any other type."""
    if not type_.startswith("tensordesc"):
        return None
    if type_.startswith("tensordesc_im2col"):
        raise ValueError(
            f"{type_!r}: an im2col descriptor has corners that only its caller knows, and none are "
            "made here: give the kernel's image to a Launch with TensorMap.im2col, or make the "
            "descriptor in the kernel (tl.make_tensor_descriptor)"
        )
    match = re.match(r"tensordesc<([^\[<>]+)\[(\s*\d+\s*(?:,\s*\d+\s*){0,4})\]", type_)
    if match is None:
        raise ValueError(
            f"{type_!r} is no tensor descriptor of 1 to 5 dimensions, wanted such as "
            "tensordesc<fp16[64,64]>"
        )
    element = match[1].strip()
    # Triton's passes end the process for others.
    if element in ("i1", "u1", "void") or element not in POINTEES:
        raise ValueError(f"{type_!r}: there is no tensor descriptor of {element}")
    return Descriptor(element, match[2].count(",") + 1)


def kernel_type(type_: str) -> str:
    """Return the C++ type of a pointer or a scalar."""
    if type_.startswith("*"):
        const, element = ("const ", type_[2:]) if type_.startswith("*k") else ("", type_[1:])
        if element not in POINTEES:
            raise ValueError(
                f"{type_!r} points to no type of Triton's; there are {', '.join(POINTEES)}"
            )
        return f"{const}{POINTEES[element]}*"
    if type_ not in SCALARS:
        raise ValueError(
            f"{type_!r} is no type of Triton's that a kernel is launched with; there are "
            f"{', '.join(SCALARS)}, pointers to them (*fp32) and tensordesc<fp16[64,64]>"
        )
    return SCALARS[type_]
