"""The `Launch` of a compiled kernel: its parameters, with the hidden ones, and its attributes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from ..kernels import nv_info
from ..kernels.cubin import Cubin
from ..kernels.types import parse_type
from ..launches.figures import plain
from ..launches.launch import Launch
from ..launches.tensor_map import DATA_TYPES, SWIZZLES, TensorMap
from ..launches.values import Scratch
from .grid import launch_grid
from .kernel import CompiledKernel
from .types import Descriptor, descriptor, kernel_type

# Triton's numbers of element types in kernels are the driver's, but for these.
_TO_DRIVER = {8: 10, 9: 8, 10: 9}


class _Slot(NamedTuple):
    """A parameter of a kernel: name, C++ type, and its value unless callers pass it."""

    name: str
    type: str
    value: Any = None


class _Parameters(NamedTuple):
    """What the function takes, and what its kernel takes."""

    params: list[str]
    slots: list[_Slot]
    strided: list[str]
    conditions: list[str]


def make_launch(
    kernel: CompiledKernel, grid: Any, padding: Mapping[str, str], rounded: Collection[str]
) -> Launch:
    """Return the launch of a kernel, which passes what Triton's own launcher passes."""
    metadata = kernel.metadata
    made = _parameters(kernel, padding, rounded)
    parsed = nv_info.parse(kernel.image)
    _check(kernel, made.slots, parsed)
    figures = None if grid is None else launch_grid(kernel, grid)
    signature = ", ".join(f"{slot.type} {slot.name}" for slot in made.slots)
    values = {slot.name: slot.value for slot in made.slots if slot.value is not None}
    return Launch(
        kernel=kernel.symbol,
        image=Cubin(kernel.image, parsed.arch, signatures={kernel.symbol: signature}),
        params=", ".join(made.params),
        args={**values, "global_scratch": _scratch(metadata), "profile_scratch": None},
        strided=tuple(made.strided),
        grid=figures,
        block=32 * int(metadata.num_warps),
        dynamic_smem_bytes=int(metadata.shared),
        multiple_of={x.name: x.multiple_of for x in kernel.arguments if x.multiple_of > 1} or None,
        equal_to={x.name: 1 for x in kernel.arguments if x.type == "one"} or None,
        when=" and ".join(made.conditions) or None,
        programmatic_dependent_launch=bool(metadata.launch_pdl),
        cooperative=bool(metadata.launch_cooperative_grid),
        **_clusters(metadata),
        **({} if figures is not None else _callers(kernel)),
    )


def _parameters(
    kernel: CompiledKernel, padding: Mapping[str, str], rounded: Collection[str]
) -> _Parameters:
    made = _Parameters([], [], [], [])
    maps = iter(kernel.metadata.tensordesc_meta or ())
    for argument in kernel.arguments:
        name, type_ = argument.name, argument.type
        kind = descriptor(type_)
        if kind is not None or type_ == "none" or type_.startswith("*"):
            made.strided.append(name)
        if kind is not None:
            made.params.append(f"{kind.pointer} {name}: ndim={kind.rank}")
            nan, tf32 = padding.get(name) == "nan", name in rounded
            if map_ := next(maps, None):
                made.slots.extend(_mapped(kernel, name, kind, map_, nan=nan, tf32=tf32))
            else:
                made.slots.extend(_decomposed(kernel, name, kind, nan=nan, tf32=tf32))
                made.conditions.append(f"{name}.stride[{kind.rank - 1}] == 1")
        elif type_ == "one":
            made.params.append(f"int64_t {name}")
        elif type_ == "none":
            made.params.append(f"const void* {name}")
            made.conditions.append(f"{name}.data_ptr == 0")
        else:
            made.params.append(f"{kernel_type(type_)} {name}")
            made.slots.append(_Slot(name, kernel_type(type_)))
    made.slots.extend(_Slot(name, "void*") for name in ("global_scratch", "profile_scratch"))
    return made


def _check(kernel: CompiledKernel, slots: list[_Slot], parsed: nv_info.ParsedImage) -> None:
    """Compare the parameters with the image's own."""
    found = {x.name: x for x in parsed.kernels}.get(kernel.symbol)
    if found is None:
        raise ValueError(f"{kernel.function}: its image has no kernel {kernel.symbol!r}")
    wanted, sizes = [parse_type(slot.type).size for slot in slots], [x.size for x in found.params]
    if wanted != sizes:
        raise ValueError(
            f"{kernel.function}: the kernel takes parameters of {sizes} bytes, its arguments and "
            f"two scratch pointers are of {wanted}: Triton {kernel.metadata.triton_version} may be "
            "newer than this package knows, or instruments kernels (gsan)"
        )
    if kernel.metadata.profile_scratch_size > 0:
        raise ValueError(
            f"{kernel.function} is compiled for a profiler, which wants memory of its own "
            "(profile_scratch_size): compile it without"
        )


def _scratch(metadata: Any) -> Scratch | None:
    size, align = int(metadata.global_scratch_size), int(metadata.global_scratch_align)
    return Scratch(bytes_per_block=size, align=align) if size > 0 else None


def _clusters(metadata: Any) -> dict[str, Any]:
    if metadata.num_ctas == 1:
        return {}
    return {"cluster": int(metadata.num_ctas), "cluster_scheduling_policy": "spread"}


def _callers(kernel: CompiledKernel) -> dict[str, Any]:
    """Return what a grid's Python function is told at each call, where callers give the grid."""
    values = {name: plain(value) for name, value in kernel.constants.items()}
    told = {x: v for x, v in values.items() if v is None or isinstance(v, bool | int | float | str)}
    return {"meta": told, "blocks_per_program": int(kernel.metadata.num_ctas)}


def _mapped(
    kernel: CompiledKernel, name: str, kind: Descriptor, meta: Any, *, nan: bool, tf32: bool
) -> Iterator[_Slot]:
    """Yield the parameters of a descriptor that is a tensor map: map, shape and strides."""
    is_padded, number = bool(meta["fp4_padded"]), int(meta["elem_type"])
    dtype = tuple(DATA_TYPES)[_TO_DRIVER.get(number, number)]
    map_ = TensorMap(
        box_dim=tuple(meta["block_size"]),
        swizzle=tuple(SWIZZLES)[meta["swizzle"]],
        l2_promotion="128B",
        oob_fill="nan" if nan else "zeros",
        dtype="tfloat32" if tf32 else dtype,
    )
    yield _Slot(name, "CUtensorMap", map_)
    # Before 3.7 the shape that a kernel got was the map's, which counts values and not bytes.
    yield from _sizes(name, kind, doubled=is_padded and kernel.version < (3, 7))


def _decomposed(
    kernel: CompiledKernel, name: str, kind: Descriptor, *, nan: bool, tf32: bool
) -> Iterator[_Slot]:
    """Yield the parameters of a descriptor for devices without tensor maps."""
    yield _Slot(name, kind.pointer)
    for i in range(kind.rank):
        yield _Slot(f"{name}_size_{i}", "int64_t", f"{name}.shape[{i}]")
    for i in range(kind.rank):
        yield _Slot(f"{name}_step_{i}", "int64_t", f"{name}.stride[{i}]")
    yield _Slot(f"{name}_nan", "bool", nan)
    if kernel.version >= (3, 7):
        yield _Slot(f"{name}_tf32", "bool", tf32)
    yield from _sizes(name, kind)


def _sizes(name: str, kind: Descriptor, *, doubled: bool = False) -> Iterator[_Slot]:
    for i in range(kind.rank):
        twice = " * 2" if doubled and i == kind.rank - 1 else ""
        yield _Slot(f"{name}_shape_{i}", "int32_t", f"{name}.shape[{i}]{twice}")
    for i in range(kind.rank):
        yield _Slot(f"{name}_stride_{i}", "int64_t", f"{name}.stride[{i}]")
