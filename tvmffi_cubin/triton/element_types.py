"""Triton's names of types, and the C++ types whose bytes Triton's own launcher passes for them."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

__all__ = ["POINTERS", "SCALARS", "Descriptor", "descriptor", "kernel_type"]

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
# Of the last three no C++ type is known, or none has a dtype that tensors have.
POINTERS: Final = {
    **SCALARS,
    "fp8e4nv": "__nv_fp8_e4m3",
    "fp8e5": "__nv_fp8_e5m2",
    "fp8e4b15": "void",
    "fp8e4b8": "void",
    "fp8e5b16": "void",
    "void": "void",
}

_MAX_RANK = 5
_DESCRIPTOR = re.compile(r"tensordesc<([^\[<>]+)\[([\d,\s]+)\]")


class Descriptor(NamedTuple):
    """The type of a tensor descriptor: ``tensordesc<fp16[64,64]>``."""

    element: str
    block_shape: tuple[int, ...]

    @property
    def rank(self) -> int:
        """Its number of dimensions."""
        return len(self.block_shape)

    @property
    def tensor_type(self) -> str:
        """The C++ type of a pointer to its tensor."""
        return f"{_pointee(self.element)}*"


def descriptor(type_: str) -> Descriptor | None:
    """Return a descriptor's type; None where it is that of something else.

    Raises
    ------
    ValueError
        It is a descriptor that cannot be made here.
    """
    if not type_.startswith("tensordesc"):
        return None
    match = _DESCRIPTOR.match(type_)
    if type_.startswith("tensordesc_im2col"):
        raise ValueError(
            f"{type_!r}: an im2col descriptor has corners that only its caller knows, and none are "
            "made here: give the kernel's image to a Launch with TensorMap.im2col, or make the "
            "descriptor in the kernel (tl.make_tensor_descriptor)"
        )
    if match is None:
        raise ValueError(
            f"{type_!r} is no tensor descriptor, wanted such as tensordesc<fp16[64,64]>"
        )
    element, sizes = match[1].strip(), match[2].split(",")
    # Triton's passes end the process for these.
    if element in ("i1", "u1") or (element not in SCALARS and not element.startswith("fp8")):
        raise ValueError(f"{type_!r}: there is no tensor descriptor of {element}")
    if len(sizes) > _MAX_RANK or not all(size.strip() for size in sizes):
        raise ValueError(f"{type_!r}: a tensor descriptor has 1 to {_MAX_RANK} dimensions")
    return Descriptor(element, tuple(map(int, sizes)))


def kernel_type(type_: str) -> str:
    """Return the C++ type of a kernel's parameter, of a pointer or a scalar.

    Raises
    ------
    ValueError
        There is no such type.
    """
    if type_.startswith("*"):
        is_const = type_.startswith("*k")
        return f"{'const ' if is_const else ''}{_pointee(type_[2 if is_const else 1 :])}*"
    if type_ not in SCALARS:
        raise ValueError(
            f"{type_!r} is no type of Triton's that a kernel is launched with; there are "
            f"{', '.join(SCALARS)}, pointers to them (*fp32) and tensordesc<fp16[64,64]>"
        )
    return SCALARS[type_]


def _pointee(element: str) -> str:
    if element not in POINTERS:
        raise ValueError(
            f"'*{element}' points to no type of Triton's; there are {', '.join(POINTERS)}"
        )
    return POINTERS[element]
