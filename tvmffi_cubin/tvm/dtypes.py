"""The types of kernel arguments as TVM writes them: ``"handle"``, ``"int32"``, ``"bfloat16"``."""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["Dtype", "dtype_of", "parse_dtype"]

_CODES = {"int": 0, "uint": 1, "float": 2, "handle": 3, "bfloat": 4, "bool": 6}
_BITS = {"int": 32, "uint": 32, "float": 32, "handle": 64, "bfloat": 16, "bool": 8}
_NARROW = {
    "float8_e3m4": (7, 8),
    "float8_e4m3": (8, 8),
    "float8_e4m3b11fnuz": (9, 8),
    "float8_e4m3fn": (10, 8),
    "float8_e4m3fnuz": (11, 8),
    "float8_e5m2": (12, 8),
    "float8_e5m2fnuz": (13, 8),
    "float8_e8m0fnu": (14, 8),
    "float6_e2m3fn": (15, 6),
    "float6_e3m2fn": (16, 6),
    "float4_e2m1fn": (17, 4),
    # No type of TVM's: TileLang marks a tensor map with it, in the binary form alone.
    "grid_constant": (30, 64),
}
_FULL = re.compile(r"(int|uint|float|handle|bfloat|bool)(\d{1,3})?(?:x(\d{1,5}))?\Z", re.ASCII)
_PART = re.compile(r"(float[864]_\w+?|grid_constant)(?:x(\d{1,5}))?\Z", re.ASCII)
_WORDS = {code: word for word, code in _CODES.items()}
_NARROW_WORDS = {pair: word for word, pair in _NARROW.items()}
_DEFAULTS = {"handle": 64, "bool": 8}

_C_TYPES = {
    **{f"int{bits}": f"int{bits}_t" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": f"uint{bits}_t" for bits in (8, 16, 32, 64)},
    "handle": "void*",
    "bool": "bool",
    "float16": "__half",
    "bfloat16": "__nv_bfloat16",
    "float32": "float",
    "float64": "double",
    "float8_e4m3fn": "__nv_fp8_e4m3",
    "float8_e5m2": "__nv_fp8_e5m2",
    "float8_e8m0fnu": "__nv_fp8_e8m0",
    "grid_constant": "CUtensorMap",
}


class Dtype(NamedTuple):
    """A type as DLPack has it: the code of its kind, the bits of a lane, lanes."""

    code: int
    bits: int
    lanes: int = 1

    def __str__(self) -> str:
        """Return it as TVM writes it."""
        lanes = "" if self.lanes == 1 else f"x{self.lanes}"
        narrow = _NARROW_WORDS.get((self.code, self.bits))
        if narrow:
            return narrow + lanes
        word = _WORDS[self.code]
        return word + ("" if _DEFAULTS.get(word) == self.bits else str(self.bits)) + lanes

    @property
    def c_type(self) -> str | None:
        """The type of a kernel parameter, None where a launch has no such parameter."""
        return _C_TYPES.get(str(self))


def parse_dtype(text: str) -> Dtype:
    """Read a type as TVM writes it.

    Raises
    ------
    ValueError
        It is none.
    """
    if match := _FULL.match(text):
        bits = int(match[2] or _BITS[match[1]])
        return dtype_of(_CODES[match[1]], bits, int(match[3] or 1))
    match = _PART.match(text)
    if match and match[1] in _NARROW:
        return dtype_of(*_NARROW[match[1]], int(match[2] or 1))
    raise ValueError(
        f"{text[:60]!r} is no type of TVM's, such as 'handle', 'int32', 'uint32', 'int64', "
        "'float32', 'float64'"
    )


def dtype_of(code: int, bits: int, lanes: int) -> Dtype:
    """Return the type of these numbers.

    Raises
    ------
    ValueError
        There is none.
    """
    known = code in _WORDS or (code, bits) in _NARROW_WORDS
    if not known or not 0 < bits < 256 or not 0 < lanes < 2**15:
        raise ValueError(f"no type of TVM's has code {code}, {bits} bits and {lanes} lanes")
    return Dtype(code, bits, lanes)
