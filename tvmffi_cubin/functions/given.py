"""Kernel parameters that a launch gives by `args`: constants as bytes, tensor maps as rows."""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING

from ..kernels.types import CxxType, Param
from ..launches import tensor_map
from .assembly import Layout
from .plan import NO_OPTION, STEP

if TYPE_CHECKING:
    from .launch import LaunchBinder

_FLOATS = {2: "<e", 4: "<f", 8: "<d"}
_MAP_SIZE = 128
_MAP = Layout("P P i i  B b B B B B B B i" + 27 * " q")
_WORD = 8
# The words of `TensorMapOptions` in core/tensor_map.h, as many as a field has at most.
_WORDS = {
    "box_dim": 5, "element_strides": 5, "lower_corner": 3, "upper_corner": 3,
    "channels_per_pixel": 1, "pixels_per_column": 1, "global_dim": 5, "global_strides": 4,
}  # fmt: skip


def constant(value: object, type_: CxxType, what: str) -> bytes:
    """Return a constant for a parameter of a type whose size is known."""
    kind, size = type_.kind, type_.size or 0
    is_raw, is_bool = kind == "raw", isinstance(value, bool)
    if isinstance(value, bytes) and kind in ("raw", "struct") and len(value) == size:
        return value
    if value is None and (kind == "pointer" or (is_raw and size == 8)):
        return bytes(8)
    if is_bool and kind == "bool":
        return bytes([bool(value)])
    try:
        if isinstance(value, int | float) and not is_bool:
            if kind == "bfloat":
                return _bfloat16(float(value))
            if kind == "float" or (is_raw and isinstance(value, float) and size in (4, 8)):
                return struct.pack(_FLOATS[size], float(value))
        if isinstance(value, int) and (kind in ("int", "uint") or (is_raw and size <= 8)):
            signed = kind == "int" or (is_raw and value < 0)
            return int(value).to_bytes(size, "little", signed=signed)
    except OverflowError:
        raise ValueError(f"{what}: {value} is out of the range of {type_.text}") from None
    raise TypeError(f"{what}: got {value!r}, not a constant for '{type_.text}' of {size} bytes")


def _bfloat16(value: float) -> bytes:
    if math.isfinite(value):
        # It has 8 bits of mantissa and fp32's exponents. By way of fp32 it could be rounded twice.
        bits = 8 - max(math.frexp(value)[1], -125)
        value = math.copysign(math.ldexp(round(math.ldexp(value, bits)), -bits), value)
    return struct.pack("<f", value)[2:]


def map_row(binder: LaunchBinder, map_: tensor_map.TensorMap, param: Param) -> str | None:
    """Return the label of a parameter's map, and note what it asks of its tensor."""
    (name, type_, _), tensor = param, map_.tensor or param.name
    what = f"args[{name!r}]"
    if type_.kind not in ("struct", "raw") or type_.size != _MAP_SIZE:
        raise ValueError(f"{what}: a TensorMap is for a CUtensorMap, got '{type_.text} {name}'")
    if tensor not in binder.exported:
        raise ValueError(f"{what}: callers pass no tensor {tensor!r}: declare it by params=")
    exported = binder.exported[tensor].as_tensor()
    if exported.type.kind != "pointer":
        raise ValueError(f"{what}: {tensor!r} is '{exported.type.text}', not a tensor")
    if map_.global_dim is None:
        exported = exported.merged(exported._replace(ndim=map_.rank))
    # None and bare addresses have no shape, and no dtype.
    needs_tensor = map_.global_dim is None or map_.dtype is None
    binder.exported[tensor] = exported._replace(
        in_expression=exported.in_expression or needs_tensor
    )
    words, steps = list[int](), list[str]()
    for field, most in _WORDS.items():
        given = getattr(map_, field)
        figures = given if isinstance(given, tuple) else () if given is None else (given,)
        for number, x in enumerate(figures):
            code, text, word = binder.figure(f"{field}[{number}] of {what}", x, arg=name)
            if code is not None:
                steps.append(STEP.row(code, text, 0, _WORD, 0, len(words), 0, NO_OPTION))
            words.append(word)
        words += [field == "element_strides"] * (most - len(figures))
    row = _MAP.row(
        *(binder.plan.string(name), binder.plan.table(steps), len(steps), binder.number(tensor)),
        map_.is_im2col,
        -1 if map_.dtype is None else tensor_map.DATA_TYPES.index(map_.dtype),
        tensor_map.SWIZZLES.index(map_.swizzle),
        tensor_map.INTERLEAVES.index(map_.interleave),
        tensor_map.L2_PROMOTIONS.index(map_.l2_promotion),
        tensor_map.OOB_FILLS.index(map_.oob_fill),
        *(map_.global_dim is not None, map_.global_strides is not None, map_.rank),
        *words,
    )
    return binder.plan.table([row])
