"""The `Launch` of a compiled kernel: its parameters, with the hidden ones, and its attributes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from ..kernels import nv_info
from ..kernels.cubin import Cubin
from ..launches.launch import Launch
from ..launches.tensor_map import DATA_TYPES, SWIZZLES, TensorMap
from ..launches.values import Scratch, plain
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


def make_launch(
    kernel: CompiledKernel, grid: Any, padding: Mapping[str, str], rounded: Collection[str]
) -> Launch:
    """Return the launch of a kernel, which passes what Triton's own launcher passes."""
    metadata, symbol, ctas = kernel.metadata, kernel.metadata.name, int(kernel.metadata.num_ctas)
    known = [x.name for x in kernel.arguments if x.type.startswith("tensordesc")]
    if unknown := {*padding, *rounded}.difference(known):
        raise ValueError(
            f"{kernel.function}: padding and round_f32_to_tf32 name {', '.join(sorted(unknown))}; "
            f"its tensor descriptors are {', '.join(known) or 'none'}"
        )
    if not {"zero", "nan"}.issuperset(padding.values()):
        raise ValueError(f"padding is 'zero' or 'nan', got {dict(padding)}")
    params, slots, strided, conditions = _parameters(kernel, padding, rounded)
    scratch = int(metadata.global_scratch_size)
    args = {slot.name: slot.value for slot in slots if slot.value is not None} | {
        "global_scratch": Scratch(bytes_per_block=scratch, align=int(metadata.global_scratch_align))
        if scratch
        else None,
        "profile_scratch": None,
    }
    special: dict[str, Any] = {}
    if ctas > 1:
        special |= {"cluster": ctas, "cluster_scheduling_policy": "spread"}
    if grid is None:  # then callers' functions are told the constants
        meta = {name: plain(x) for name, x in kernel.constants.items()}
        meta = {x: v for x, v in meta.items() if isinstance(v, bool | int | float | str | None)}
        special |= {"meta": meta, "blocks_per_program": ctas}
    else:
        special["grid"] = launch_grid(kernel, grid)
    signature = ", ".join(f"{slot.type} {slot.name}" for slot in slots)
    arch = nv_info.parse(kernel.image).arch
    return Launch(
        kernel=symbol,
        image=Cubin(kernel.image, arch, signatures={symbol: signature}),
        params=", ".join(params),
        args=args,
        strided=tuple(strided),
        block=32 * int(metadata.num_warps),
        dynamic_smem_bytes=int(metadata.shared),
        multiple_of={x.name: x.multiple_of for x in kernel.arguments if x.multiple_of > 1} or None,
        equal_to={x.name: 1 for x in kernel.arguments if x.type == "one"} or None,
        when=" and ".join(conditions) or None,
        programmatic_dependent_launch=bool(metadata.launch_pdl),
        cooperative=bool(metadata.launch_cooperative_grid),
        **special,
    )


def _parameters(
    kernel: CompiledKernel, padding: Mapping[str, str], rounded: Collection[str]
) -> tuple[list[str], list[_Slot], list[str], list[str]]:
    """Return the function's parameters, the kernel's, what may be strided, and conditions."""
    params, strided, conditions = [], [], []
    slots: list[_Slot] = []
    maps = iter(kernel.metadata.tensordesc_meta or ())
    for argument in kernel.arguments:
        name, type_ = argument.name, argument.type
        if kind := descriptor(type_):
            params.append(f"{kind.pointer} {name}: ndim={kind.rank}")
            nan, tf32 = padding.get(name) == "nan", name in rounded
            if map_ := next(maps, None):
                slots.extend(_mapped(kernel, name, kind, map_, nan=nan, tf32=tf32))
            else:
                slots.extend(_decomposed(kernel, name, kind, nan=nan, tf32=tf32))
                conditions.append(f"{name}.stride[{kind.rank - 1}] == 1")
        elif type_ == "one":
            params.append(f"int64_t {name}")
        elif type_ == "none":
            params.append(f"const void* {name}")
            conditions.append(f"{name}.data_ptr == 0")
        else:
            params.append(f"{kernel_type(type_)} {name}")
            slots.append(_Slot(name, kernel_type(type_)))
        if kind or type_ == "none" or type_.startswith("*"):
            strided.append(name)
    slots.extend(_Slot(name, "void*") for name in ("global_scratch", "profile_scratch"))
    return params, slots, strided, conditions


def _mapped(
    kernel: CompiledKernel, name: str, kind: Descriptor, meta: Any, *, nan: bool, tf32: bool
) -> Iterator[_Slot]:
    """Yield the parameters of a descriptor that is a tensor map: map, shape and strides."""
    number = int(meta["elem_type"])
    map_ = TensorMap(
        box_dim=tuple(meta["block_size"]),
        swizzle=tuple(SWIZZLES)[meta["swizzle"]],
        l2_promotion="128B",
        oob_fill="nan" if nan else "zeros",
        dtype="tfloat32" if tf32 else tuple(DATA_TYPES)[_TO_DRIVER.get(number, number)],
    )
    yield _Slot(name, "CUtensorMap", map_)
    # Before 3.7 the shape that a kernel got was the map's, which counts values and not bytes.
    doubled = bool(meta["fp4_padded"]) and kernel.version < (3, 7)
    yield from _sizes(name, kind, " * 2" if doubled else "")


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


def _sizes(name: str, kind: Descriptor, last: str = "") -> Iterator[_Slot]:
    for i in range(kind.rank):
        factor = last if i == kind.rank - 1 else ""
        yield _Slot(f"{name}_shape_{i}", "int32_t", f"{name}.shape[{i}]{factor}")
    for i in range(kind.rank):
        yield _Slot(f"{name}_stride_{i}", "int64_t", f"{name}.stride[{i}]")
