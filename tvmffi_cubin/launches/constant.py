"""Python constants as the bytes of a kernel parameter."""

from __future__ import annotations

import math
import struct

from ..kernels.types import CxxType

_FORMATS = {"float16": "<e", "float32": "<f", "float64": "<d"}


def encode(value: object, type_: CxxType, size: int, what: str) -> bytes:
    """Encode a constant for a parameter of `size` bytes."""
    if type_.kind == "raw":
        return _encode_raw(value, type_, size, what)
    if type_.kind == "struct":
        if not isinstance(value, bytes):
            raise _mismatch(what, value, type_, "bytes of the struct's own layout")
        if len(value) != size:
            raise ValueError(f"{what}: got {len(value)} bytes, wanted {size}, the struct's size")
        return value
    if type_.kind == "pointer":
        if value is not None:
            raise _mismatch(what, value, type_, "None (a null pointer)")
        return bytes(8)
    if type_.kind == "bool":
        if not isinstance(value, bool):
            raise _mismatch(what, value, type_, "a bool")
        return bytes([value])
    if type_.kind == "float":
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise _mismatch(what, value, type_, "a number")
        return _encode_float(value, type_, what)
    if not isinstance(value, int):
        raise _mismatch(what, value, type_, "an int")
    try:
        return value.to_bytes(size, "little", signed=type_.kind == "int")
    except OverflowError:
        raise ValueError(f"{what}: {value} is out of the range of {type_.text}") from None


def _encode_raw(value: object, type_: CxxType, size: int, what: str) -> bytes:
    """Encode what goes by its size: signed or unsigned, a float where the size says which."""
    if isinstance(value, bytes):
        if len(value) != size:
            raise ValueError(f"{what}: got {len(value)} bytes, wanted {size}")
        return value
    if value is None and size == 8:
        return bytes(8)
    if isinstance(value, float) and size == 2:
        raise TypeError(
            f"{what}: got {value!r} for 2 bytes, which may be fp16 or bf16: declare the type with "
            "params="
        )
    if isinstance(value, float) and size in (4, 8):
        return _encode_float(value, CxxType(type_.text, "float", size, f"float{8 * size}"), what)
    if isinstance(value, int) and size in (1, 2, 4, 8):
        signed = CxxType(type_.text, "int" if value < 0 else "uint", size)
        return encode(int(value), signed, size, what)
    raise _mismatch(what, value, type_, "what has that size; declare its type with params=")


def _mismatch(what: str, value: object, type_: CxxType, wanted: str) -> TypeError:
    return TypeError(f"{what}: got {value!r}, but {type_.text} takes {wanted}")


def _encode_float(value: float, type_: CxxType, what: str) -> bytes:
    try:
        number = float(value)  # struct has another error for an int that is too large
        if type_.scalar == "bfloat16":
            return _encode_bfloat16(number)
        return struct.pack(_FORMATS[type_.scalar or ""], number)
    except OverflowError:
        raise ValueError(f"{what}: {value} is out of the range of {type_.text}") from None


def _encode_bfloat16(value: float) -> bytes:
    if math.isnan(value):
        return b"\xc0\x7f"
    if math.isinf(value) or value == 0:
        return struct.pack("<f", value)[2:]
    # bf16 keeps 8 bits of mantissa (7 stored) and has fp32's exponents: round in units of the last
    # place, straight from double, where by way of fp32 the value could be rounded twice.
    exponent = max(math.frexp(value)[1], -125)
    rounded = math.ldexp(round(math.ldexp(value, 8 - exponent)), exponent - 8)
    packed = struct.pack("<f", math.copysign(rounded, value))
    if math.isinf(struct.unpack("<f", packed)[0]):
        raise OverflowError
    return packed[2:]
