"""Python constants as the bytes of a kernel parameter."""

from __future__ import annotations

import math
import struct

from ..kernels.types import CxxType

_FLOATS = {2: "<e", 4: "<f", 8: "<d"}
_WANTED = {
    "bool": "a bool", "float": "a number", "bfloat": "a number", "pointer": "None",
    "struct": "bytes of its own layout",
    "raw": "what has that size; declare its type with params=",
}  # fmt: skip


def encode(value: object, type_: CxxType, what: str) -> bytes:
    """Encode a constant for a parameter of a type whose size is known."""
    kind, size = type_.kind, type_.size or 0
    is_raw = kind == "raw"
    if isinstance(value, bytes) and (is_raw or kind == "struct"):
        if len(value) != size:
            raise ValueError(f"{what}: got {len(value)} bytes, wanted {size}")
        return value
    if value is None and (kind == "pointer" or (is_raw and size == 8)):
        return bytes(8)
    try:
        if isinstance(value, bool) and kind == "bool":
            return bytes([value])
        if isinstance(value, int | float) and not isinstance(value, bool):
            if kind == "bfloat":
                return _bfloat16(float(value))
            if kind == "float":
                return struct.pack(_FLOATS[size], float(value))
        if is_raw and isinstance(value, float) and size in (4, 8):
            return struct.pack(_FLOATS[size], value)
        if isinstance(value, int) and (kind in ("int", "uint") or (is_raw and size <= 8)):
            signed = kind == "int" or (is_raw and value < 0)
            return int(value).to_bytes(size, "little", signed=signed)
    except OverflowError:
        raise ValueError(f"{what}: {value} is out of the range of {type_.text}") from None
    wanted = _WANTED.get(kind, "an int")
    raise TypeError(f"{what}: got {value!r}, but {type_.text} takes {wanted}")


def _bfloat16(value: float) -> bytes:
    if math.isfinite(value):
        # It has 8 bits of mantissa and fp32's exponents. By way of fp32 it could be rounded twice.
        bits = 8 - max(math.frexp(value)[1], -125)
        value = math.copysign(math.ldexp(round(math.ldexp(value, bits)), -bits), value)
    return struct.pack("<f", value)[2:]
