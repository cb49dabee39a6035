"""The `Launch` of a compiled kernel: parameters, hidden ones too, and attributes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..kernels.cubin import Cubin
from ..kernels.image import read_image
from ..launches.launch import Launch
from ..launches.tensor_map import DATA_TYPES, SWIZZLES, TensorMap
from ..launches.values import Scratch, plain
from .kernel import CompiledKernel, Descriptor, descriptor, kernel_type, unwrapped

# Triton's numbers of element types in kernels are the driver's, but for these.
_TO_DRIVER = {8: 10, 9: 8, 10: 9}


def make_launch(
    kernel: CompiledKernel, grid: Any, descriptors: Mapping[str, tuple[bool, bool]]
) -> Launch:
    """Return a launch that passes what Triton's own launcher passes.

    Tensor descriptors are padded with NaN, and read as tf32, where `descriptors` says so.
    """
    metadata, symbol, ctas = kernel.metadata, kernel.metadata.name, int(kernel.metadata.num_ctas)
    params, strided, conditions = [], [], []  # of the function
    slots: list[tuple[str, str, Any]] = []  # of the kernel: name, C++ type, value if it has one
    maps = iter(metadata.tensordesc_meta or ())
    for argument in kernel.passed:
        name, type_ = argument.name, argument.type
        if kind := descriptor(type_):
            params.append(f"{kind.pointer} {name}: ndim={kind.rank}")
            meta, how = next(maps, None), descriptors.get(name, (False, False))
            if meta is None:
                raise ValueError(f"{name}: a tensor descriptor of the host's needs sm_90 or newer")
            slots += _of_descriptor(kernel.version, name, kind, meta, *how)
        elif type_ == "one":
            params.append(f"int64_t {name}")
        elif type_ == "none":
            params.append(f"const void* {name}")
            conditions.append(f"{name}.data_ptr == 0")
        else:
            params.append(f"{kernel_type(type_)} {name}")
            slots.append((name, kernel_type(type_), None))
        if kind or type_ == "none" or type_.startswith("*"):
            strided.append(name)
    args = {name: value for name, _, value in slots if value is not None}
    args |= {"global_scratch": None, "profile_scratch": None}
    if scratch := int(metadata.global_scratch_size):
        align = int(metadata.global_scratch_align)
        args["global_scratch"] = Scratch(bytes_per_block=scratch, align=align)
    slots += [("global_scratch", "void*", None), ("profile_scratch", "void*", None)]
    special: dict[str, Any] = {}
    if ctas > 1:
        special |= {"cluster": ctas, "cluster_scheduling_policy": "spread"}
    if grid is None and ctas > 1:
        raise ValueError("with num_ctas a program is several blocks: give grid=")
    if grid is None:  # then callers' functions are told the constants
        constants = {name: plain(x) for name, x in kernel.constants.items()}
        plain_types = bool | int | float | str | None
        special["meta"] = {x: y for x, y in constants.items() if isinstance(y, plain_types)}
    else:
        special["grid"] = launch_grid(kernel, grid)
    signature = ", ".join(f"{type_} {name}" for name, type_, _ in slots)
    image = Cubin(kernel.image, "", signatures={symbol: signature}, name=symbol)
    return Launch(
        kernel=symbol,
        image=read_image(image),
        params=", ".join(params),
        args=args,
        strided=tuple(strided),
        block=32 * int(metadata.num_warps),
        dynamic_smem_bytes=int(metadata.shared),
        multiple_of={x.name: x.multiple_of for x in kernel.passed if x.multiple_of > 1} or None,
        equal_to={x.name: 1 for x in kernel.passed if x.type == "one"} or None,
        when=" and ".join(conditions) or None,
        programmatic_dependent_launch=bool(metadata.launch_pdl),
        cooperative=bool(metadata.launch_cooperative_grid),
        **special,
    )


def launch_grid(kernel: CompiledKernel, grid: Any) -> Any:
    """Return a grid in blocks, as `Launch` takes it; constexprs in it are their values."""
    grid = unwrapped(grid)
    if callable(grid):
        raise TypeError(
            "grid is a function: write it as an expression, grid='ceil_div(n, BLOCK)', or leave it "
            "to callers: without grid=, mod.k[grid](...) takes any Python function"
        )

    def value(name: re.Match[str]) -> str:
        found = plain(kernel.constants.get(name[0]))
        return str(int(found)) if isinstance(found, int) else name[0]

    items = grid if isinstance(grid, tuple | list) else (grid,)
    # What follows a dot is no name of its own: x.shape.
    figures = [
        re.sub(r"(?<![\w.])[^\W\d]\w*", value, x) if isinstance(x, str) else unwrapped(x)
        for x in items
    ]
    ctas = int(kernel.metadata.num_ctas)
    if ctas > 1 and figures:
        x = figures[0]
        figures[0] = x * ctas if isinstance(x, int) else f"({x}) * {ctas}"
    return figures


def _of_descriptor(
    version: tuple[int, int], name: str, kind: Descriptor, meta: Any, nan: bool, tf32: bool
) -> Iterator[tuple[str, str, Any]]:
    """Yield the parameters of a descriptor: its map, shape and strides."""
    shape = [f"{name}.shape[{i}]" for i in range(kind.rank)]
    strides = [f"{name}.stride[{i}]" for i in range(kind.rank)]
    number = int(meta["elem_type"])
    map_ = TensorMap(
        box_dim=tuple(meta["block_size"]),
        swizzle=tuple(SWIZZLES)[meta["swizzle"]],
        l2_promotion="128B",
        oob_fill="nan" if nan else "zeros",
        dtype="tfloat32" if tf32 else tuple(DATA_TYPES)[_TO_DRIVER.get(number, number)],
    )
    yield name, "CUtensorMap", map_
    # Before 3.7 the shape that a kernel got was the map's, which counts values and not bytes.
    shape[-1] += " * 2" if meta["fp4_padded"] and version < (3, 7) else ""
    yield from ((f"{name}_shape_{i}", "int32_t", x) for i, x in enumerate(shape))
    yield from ((f"{name}_stride_{i}", "int64_t", x) for i, x in enumerate(strides))
