"""A compiled kernel of Triton's as plain data, and the C++ types of what it takes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from typing import Any, Final, NamedTuple

from ..errors import ToolchainError

Path = tuple[int, ...]
"""Where an argument is: its position, and in tuples the positions there."""


class Argument(NamedTuple):
    """An argument that callers pass, or an item of a tuple that they do."""

    name: str  # items of a tuple `t` are t_0, t_1
    type: str  # Triton's; "one" or "none" where it is always 1 or None
    multiple_of: int = 1  # of itself, or of its address


class CompiledKernel(NamedTuple):
    """A kernel that Triton has compiled."""

    image: bytes
    passed: Sequence[Argument]  # what callers pass of them, in order
    constants: Mapping[str, Any]  # those of which callers pass nothing
    metadata: Any
    version: tuple[int, int]  # Triton's


def read_kernel(kernel: Any, fixed: Set[Path] = frozenset()) -> CompiledKernel:
    """Read a compiled kernel, without touching what needs a GPU.

    `fixed` are the constants that were asked for; others Triton made.
    """
    source, metadata = kernel.src, kernel.metadata
    version = supported_version(str(metadata.triton_version))
    fixed = fixed | {(i,) for i, param in enumerate(source.fn.params) if param.is_constexpr}
    multiples = {}
    for path, attribute, value in ((x, *pair) for x, told in source.attrs.items() for pair in told):
        if attribute != "tt.divisibility":
            raise ValueError(f"Triton relied on {attribute} of an argument, which is not checked")
        multiples[path] = int(value)
    passed: list[Argument] = []
    constants: dict[str, Any] = {}

    def read(path: Path, name: str, type_: Any) -> None:
        if isinstance(type_, tuple):
            for index, inner in enumerate(type_):
                read((*path, index), f"{name}_{index}", inner)
            return
        if type_ == "constexpr":
            value = unwrapped(source.constants.get(path))
            if path in fixed or not (value is None or (type(value) is int and value == 1)):
                constants[name] = value
                return
            type_ = "none" if value is None else "one"
        passed.append(Argument(name, type_, multiples.get(path, 1)))

    for index, (name, type_) in enumerate(source.signature.items()):
        read((index,), name, type_)
    return CompiledKernel(bytes(kernel.asm["cubin"]), passed, constants, metadata, version)


def unwrapped(value: Any) -> Any:
    """Return the value of a ``tl.constexpr``."""
    while type(value).__name__ == "constexpr":
        value = value.value
    return value


def supported_version(text: str) -> tuple[int, int]:
    """Return major and minor version of Triton's."""
    major, minor = map(int, text.split(".")[:2])
    if (major, minor) < (3, 6):
        raise ToolchainError(f"Triton {text} is too old; run: pip install --upgrade 'triton>=3.6'")
    return major, minor


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
        raise ValueError(f"{type_!r} is no tensor descriptor such as tensordesc<fp16[64,64]>")
    return Descriptor(f"{POINTEES[element]}*", match[2].count(",") + 1)


def kernel_type(type_: str) -> str:
    """Return the C++ type of a pointer or a scalar."""
    is_pointer, const = type_.startswith("*"), type_.startswith("*k")
    name = type_.removeprefix("*k" if const else "*")
    if name not in (POINTEES if is_pointer else SCALARS):
        raise ValueError(f"{type_!r} is no type of Triton's; there are {', '.join(SCALARS)}, *fp32")
    return f"{'const ' if const else ''}{POINTEES[name]}*" if is_pointer else SCALARS[name]
