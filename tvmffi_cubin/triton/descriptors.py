"""Tensor descriptors, which callers pass as tensors: what a kernel gets of each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ..tensor_map import TensorMap
from ..tensor_map_modes import DATA_TYPES, SWIZZLES
from .element_types import Descriptor, descriptor
from .facts import Argument

__all__ = ["Piece", "decomposed", "mapped"]

# Triton's numbers of element types in kernels are the driver's, but for these.
_TO_DRIVER = {8: 10, 9: 8, 10: 9}
_INT32, _INT64 = "int32_t", "int64_t"


class Piece(NamedTuple):
    """One parameter of a kernel: name, C++ type, and what it is given unless callers pass it."""

    name: str
    type: str
    value: Any = None


def mapped(argument: Argument, meta: dict[str, Any], version: tuple[int, int]) -> list[Piece]:
    """Return the parameters of a descriptor that is a tensor map, its shape and its strides.

    Raises
    ------
    ValueError
        The map is one that is not known here.
    """
    kind = _kind(argument)
    if meta.get("is_im2col"):
        raise ValueError(
            f"argument {argument.name!r} is an im2col descriptor, and none is made here"
        )
    name, is_padded = argument.name, bool(meta["fp4_padded"])
    dtype = _data_type(argument, int(meta["elem_type"]), is_padded=is_padded)
    is_nan = argument.options.padding == "nan"
    if is_nan and "float" not in dtype:
        raise ValueError(
            f"padding[{name!r}] is 'nan', and maps of {argument.type} have none: their elements "
            f"are {dtype} to the driver"
        )
    map_ = TensorMap(
        box_dim=tuple(meta["block_size"]),
        swizzle=_word(SWIZZLES, meta["swizzle"]),
        l2_promotion="128B",
        oob_fill="nan" if is_nan else "zeros",
        dtype=dtype,
    )
    # Before 3.7 the shape that a kernel got was the map's, which counts values and not bytes.
    doubled = is_padded and version < (3, 7)
    return [Piece(name, "CUtensorMap", map_), *_shape_and_strides(name, kind, doubled=doubled)]


def decomposed(argument: Argument, version: tuple[int, int]) -> list[Piece]:
    """Return the parameters of a descriptor for devices without tensor maps.

    Raises
    ------
    ValueError
        It is to be read in a way that the kernel knows nothing of.
    """
    kind, name, options = _kind(argument), argument.name, argument.options
    if options.padding == "nan" and not kind.element.startswith(("fp", "bf")):
        raise ValueError(
            f"padding[{name!r}] is 'nan', and {argument.type} has none: it is no float"
        )
    if options.tf32 and version < (3, 7):
        raise ValueError(
            f"round_f32_to_tf32: {name!r} cannot be rounded by a kernel without tensor maps that a "
            "Triton before 3.7 has compiled"
        )
    flags = [Piece(f"{name}_nan", "bool", options.padding == "nan")]
    if version >= (3, 7):
        flags.append(Piece(f"{name}_tf32", "bool", options.tf32))
    return [
        Piece(name, kind.tensor_type),
        *(Piece(f"{name}_size_{i}", _INT64, f"{name}.shape[{i}]") for i in range(kind.rank)),
        *(Piece(f"{name}_step_{i}", _INT64, f"{name}.stride[{i}]") for i in range(kind.rank)),
        *flags,
        *_shape_and_strides(name, kind, doubled=False),
    ]


def _shape_and_strides(name: str, kind: Descriptor, *, doubled: bool) -> Iterator[Piece]:
    for i in range(kind.rank):
        twice = " * 2" if doubled and i == kind.rank - 1 else ""
        yield Piece(f"{name}_shape_{i}", _INT32, f"{name}.shape[{i}]{twice}")
    for i in range(kind.rank):
        yield Piece(f"{name}_stride_{i}", _INT64, f"{name}.stride[{i}]")


def _kind(argument: Argument) -> Descriptor:
    kind = descriptor(argument.type)
    assert kind is not None
    return kind


def _word(words: Any, number: int) -> str:
    names = list(words)
    if not 0 <= number < len(names):
        raise ValueError(f"Triton asks for a tensor map's mode {number}, there are {len(names)}")
    return str(names[number])


def _data_type(argument: Argument, number: int, *, is_padded: bool) -> str:
    if argument.options.tf32:
        return "tfloat32"
    name = _word(DATA_TYPES, _TO_DRIVER.get(number, number))
    if is_padded and not name.startswith("16u4"):
        raise ValueError(
            f"argument {argument.name!r} is padded fp4, of which Triton makes maps of {name}"
        )
    return name
