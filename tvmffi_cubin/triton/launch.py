"""A compiled Triton kernel as a `Launch`: parameters, including hidden ones, and attributes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Set
from typing import Any, Final

from ..errors import ToolchainError
from ..kernels.cubin import Cubin, read_image
from ..launches.launch import Launch
from ..launches.tensor_map import MODES, TensorMap
from ..launches.values import Scratch, plain


def make_launch(kernel: Any, grid: Any, fixed: Set[str], descriptors: Mapping[str, Any]) -> Launch:
    """Return a launch that passes what Triton's own launcher passes, without touching a GPU.

    `fixed` names the constants that the caller set; others come from Triton. `descriptors` gives,
    by name, each tensor descriptor's padding and whether it is read as tf32.
    """
    metadata, symbol, ctas = kernel.metadata, kernel.metadata.name, int(kernel.metadata.num_ctas)
    version = supported_version(str(metadata.triton_version))
    types, multiples, constants = _arguments(kernel.src, fixed)
    params, slots = list[str](), list[str]()  # of the function, and of the kernel
    args: dict[str, Any] = {"global_scratch": None, "profile_scratch": None}
    maps = iter(metadata.tensordesc_meta or ())
    for name, type_ in types.items():
        if described := descriptor(type_):
            pointer, rank = described
            params.append(f"{pointer} {name}: ndim={rank}")
            if (meta := next(maps, None)) is None:
                raise ValueError(f"{name}: a host tensor descriptor requires sm_90 or newer")
            example = descriptors.get(name)
            for slot, c_type, value in _of_descriptor(version, name, rank, meta, example):
                slots.append(f"{c_type} {slot}")
                args[slot] = value
        elif type_ == "one":
            params.append(f"int64_t {name}")
        elif type_ == "none":
            params.append(f"const void* {name}")
        else:
            params.append(f"{kernel_type(type_)} {name}")
            slots.append(params[-1])
    if scratch := int(metadata.global_scratch_size):
        align = int(metadata.global_scratch_align)
        args["global_scratch"] = Scratch(bytes_per_block=scratch, align=align)
    if grid is None and ctas > 1:
        raise ValueError("with num_ctas, a program is several blocks: pass grid=")
    # The constants that a grid function receives.
    told = {x: y for x, y in constants.items() if isinstance(y, bool | int | float | str | None)}
    signature = ", ".join([*slots, "void* global_scratch", "void* profile_scratch"])
    image = Cubin(bytes(kernel.asm["cubin"]), "", signatures={symbol: signature}, name=symbol)
    return Launch(
        kernel=symbol,
        image=read_image(image),
        params=", ".join(params),
        args=args,
        strided=tuple(x for x, y in types.items() if y.startswith(("*", "none", "tensordesc"))),
        grid=None if grid is None else _blocks(grid, constants, ctas),
        block=32 * int(metadata.num_warps),
        dynamic_smem_bytes=int(metadata.shared),
        multiple_of=multiples or None,
        equal_to={x: 1 for x, y in types.items() if y == "one"} or None,
        when=" and ".join(f"{x}.data_ptr == 0" for x, y in types.items() if y == "none") or None,
        meta=told if grid is None else None,
        cluster=ctas if ctas > 1 else None,
        cluster_scheduling_policy="spread" if ctas > 1 else None,
        programmatic_dependent_launch=bool(metadata.launch_pdl),
        cooperative=bool(metadata.launch_cooperative_grid),
    )


def supported_version(text: str) -> tuple[int, int]:
    """Return Triton's major and minor version; raise ToolchainError if it is too old."""
    major, minor = map(int, text.split(".")[:2])
    if (major, minor) < (3, 6):
        raise ToolchainError(f"Triton {text} is too old; run: pip install --upgrade 'triton>=3.6'")
    return major, minor


def _arguments(
    source: Any, fixed: Set[str]
) -> tuple[dict[str, str], dict[str, int], dict[str, Any]]:
    """Return what callers pass, and the constexprs, which they do not.

    By name: Triton's types in order, or "one" and "none" for what is always 1 or None; what values,
    or their addresses, are multiples of; constants. Items of a tuple `t` are t_0, t_1.
    """
    fixed = fixed | {param.name for param in source.fn.params if param.is_constexpr}
    types: dict[str, str] = {}
    multiples: dict[str, int] = {}
    constants: dict[str, Any] = {}

    def read(path: tuple[int, ...], name: str, type_: Any) -> None:
        if isinstance(type_, tuple):
            for index, inner in enumerate(type_):
                read((*path, index), f"{name}_{index}", inner)
            return
        if type_ == "constexpr":
            value = plain(unwrapped(source.constants.get(path)))
            if name in fixed or not (value is None or (type(value) is int and value == 1)):
                constants[name] = value
                return
            type_ = "none" if value is None else "one"
        types[name] = type_
        if told := source.attrs.get(path):  # the only one Triton uses on NVIDIA devices
            multiples[name] = int(dict(told)["tt.divisibility"])

    for index, (name, type_) in enumerate(source.signature.items()):
        read((index,), name, type_)
    return types, multiples, constants


def unwrapped(value: Any) -> Any:
    """Return the value of a ``tl.constexpr``."""
    while type(value).__name__ == "constexpr":
        value = value.value
    return value


def _blocks(grid: Any, constants: Mapping[str, Any], ctas: int) -> Any:
    """Return a grid in blocks, as `Launch` takes it, with constexprs replaced by their values."""
    grid = unwrapped(grid)
    if callable(grid):
        raise TypeError(
            "grid is a function: pass an expression, grid='ceil_div(n, BLOCK)', or omit it and "
            "pass the function in mod.k[grid](...)"
        )

    def value(name: re.Match[str]) -> str:
        found = constants.get(name[0])
        return str(int(found)) if isinstance(found, int) else name[0]

    items = grid if isinstance(grid, tuple | list) else (grid,)
    # A word after a dot is not a variable: x.shape.
    figures = [
        re.sub(r"(?<![\w.])[^\W\d]\w*", value, x) if isinstance(x, str) else unwrapped(x)
        for x in items
    ]
    if ctas > 1 and figures:
        x = figures[0]
        figures[0] = x * ctas if isinstance(x, int) else f"({x}) * {ctas}"
    return figures


def _of_descriptor(
    version: tuple[int, int], name: str, rank: int, meta: Any, example: Any
) -> Iterator[tuple[str, str, Any]]:
    """Yield the parameters of a descriptor: its map, shape and strides."""
    number = int(meta["elem_type"])
    dtype = MODES["dtype"][_TO_DRIVER.get(number, number)]
    map_ = TensorMap(
        box_dim=tuple(meta["block_size"]),
        swizzle=MODES["swizzle"][meta["swizzle"]],
        l2_promotion="128B",
        oob_fill="nan" if getattr(example, "padding", "") == "nan" else "zeros",
        dtype="tfloat32" if getattr(example, "round_f32_to_tf32", False) else dtype,
    )
    yield name, "CUtensorMap", map_
    shape = [f"{name}.shape[{i}]" for i in range(rank)]
    # Before Triton 3.7, a kernel got the map's shape, which counts values, not bytes.
    shape[-1] += " * 2" if meta["fp4_padded"] and version < (3, 7) else ""
    yield from ((f"{name}_shape_{i}", "int32_t", x) for i, x in enumerate(shape))
    yield from ((f"{name}_stride_{i}", "int64_t", f"{name}.stride[{i}]") for i in range(rank))


# In kernels, Triton numbers element types as the driver does, except for these.
_TO_DRIVER = {8: 10, 9: 8, 10: 9}
# An i1 is a byte that is 0 or 1, whatever its signedness in Triton.
SCALARS: Final = {
    **dict.fromkeys(("i1", "u1"), "bool"),
    **{f"i{bits}": f"int{bits}_t" for bits in (8, 16, 32, 64)},
    **{f"u{bits}": f"uint{bits}_t" for bits in (8, 16, 32, 64)},
    "fp16": "__half",
    "bf16": "__nv_bfloat16",
    **dict.fromkeys(("fp32", "f32"), "float"),
    "fp64": "double",
}
# Those mapped to void have no C++ type, or none with a dtype that tensors have.
POINTEES: Final = {
    **SCALARS,
    "fp8e4nv": "__nv_fp8_e4m3",
    "fp8e5": "__nv_fp8_e5m2",
    **dict.fromkeys(("fp8e4b15", "fp8e4b8", "fp8e5b16", "void"), "void"),
}


def descriptor(type_: str) -> tuple[str, int] | None:
    """Return pointer type and rank of the tensor that ``tensordesc<fp16[64,64]>`` describes."""
    if not type_.startswith("tensordesc"):
        return None
    match = re.match(r"tensordesc<\s*(\w+)\s*\[(\s*\d+\s*(?:,\s*\d+\s*){0,4})\]", type_)
    # Triton's passes abort the process for others.
    if match is None or match[1] in ("i1", "u1", "void") or match[1] not in POINTEES:
        raise ValueError(f"{type_!r} is not a tensor descriptor such as tensordesc<fp16[64,64]>")
    return f"{POINTEES[match[1]]}*", match[2].count(",") + 1


def kernel_type(type_: str) -> str:
    """Return the C++ type of a pointer or a scalar."""
    is_pointer, const = type_.startswith("*"), type_.startswith("*k")
    name = type_.removeprefix("*k" if const else "*")
    if name not in (POINTEES if is_pointer else SCALARS):
        known = ", ".join(SCALARS)
        raise ValueError(f"unknown Triton type {type_!r}; available: {known}, *fp32")
    return f"{'const ' if const else ''}{POINTEES[name]}*" if is_pointer else SCALARS[name]
