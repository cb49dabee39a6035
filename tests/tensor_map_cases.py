"""Tensor maps of the tests: what is asked for, and that asked of a driver itself."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, replace
from typing import Any

__all__ = [
    "BITS",
    "FLOATS",
    "TYPES",
    "Asked",
    "Im2col",
    "Tiled",
    "documented",
    "driver_answer",
    "edges",
]

TYPES = (
    *("uint8", "uint16", "uint32", "int32", "uint64", "int64", "float16", "float32", "float64"),
    *("bfloat16", "float32_ftz", "tfloat32", "tfloat32_ftz"),
    *("16u4_align8b", "16u4_align16b", "16u6_align16b"),
)
BITS = (8, 16, 32, 32, 64, 64, 16, 32, 64, 16, 32, 32, 32, 4, 4, 6)
FLOATS = range(6, 13)


@dataclass(frozen=True)
class Asked:
    """What any map is asked for; numbers are the driver's, dimensions the tensor's.

    Attributes
    ----------
    shape, strides : tuple of int
        In elements; in bytes, without the innermost.
    steps : tuple of int
        Element strides; empty for all 1.
    """

    type: int = 7
    address: int = 1 << 20
    shape: tuple[int, ...] = (64, 128)
    strides: tuple[int, ...] = (512,)
    steps: tuple[int, ...] = ()
    swizzle: int = 0
    interleave: int = 0
    promotion: int = 0
    fill: int = 0

    @property
    def modes(self) -> list[int]:
        """As tests/cpp/tensor_maps.cc takes them."""
        return [self.type, self.swizzle, self.interleave, self.promotion, self.fill]


@dataclass(frozen=True)
class Tiled(Asked):
    """A tiled map."""

    box: tuple[int, ...] = (16, 32)

    def make(self, wrapper: Any) -> bytes:
        """Return the map that our own code makes."""
        strides = [*self.strides, 0]
        made = wrapper.tiled_memory(
            self.address, self.shape, strides, self.box, self.modes, self.steps
        )
        return bytes(made)


@dataclass(frozen=True)
class Im2col(Asked):
    """An im2col map."""

    shape: tuple[int, ...] = (2, 14, 9, 64)
    strides: tuple[int, ...] = (14 * 9 * 256, 9 * 256, 256)
    lower: tuple[int, ...] = (-1, -1)
    upper: tuple[int, ...] = (-1, -1)
    channels: int = 32
    pixels: int = 64

    def make(self, wrapper: Any) -> bytes:
        """Return the map that our own code makes."""
        strides = [*self.strides, 0]
        made = wrapper.im2col_memory(
            self.address, self.shape, strides, self.lower, self.upper,
            [self.channels, self.pixels], self.modes, self.steps,
        )  # fmt: skip
        return bytes(made)


def documented(asked: Tiled | Im2col) -> bool:
    """Return whether CUDA's documentation allows what driver 580 takes against it (an H200).

    Our checks have it as documented: another driver may enforce it.
    """
    return asked.interleave != 2 or asked.swizzle == 1


def driver_answer(lib: Any, asked: Tiled | Im2col) -> int:
    """Ask a driver for a map, past our own code; return its result."""
    block = (ctypes.c_uint8 * 192)()
    place = ctypes.c_void_p((ctypes.addressof(block) + 63) & ~63)
    rank = len(asked.shape)
    dims = (ctypes.c_uint64 * 5)(*reversed(asked.shape))
    strides = (ctypes.c_uint64 * 5)(*reversed([stride % 2**64 for stride in asked.strides]))
    steps = (ctypes.c_uint32 * 5)(*reversed(asked.steps or (1,) * rank))
    modes = (asked.interleave, asked.swizzle, asked.promotion, asked.fill)
    head = (place, asked.type, rank, ctypes.c_void_p(asked.address), dims, strides)
    if isinstance(asked, Tiled):
        box = (ctypes.c_uint32 * 5)(*reversed(asked.box))
        return int(lib.cuTensorMapEncodeTiled(*head, box, steps, *modes))
    lower = (ctypes.c_int * 3)(*reversed(asked.lower))
    upper = (ctypes.c_int * 3)(*reversed(asked.upper))
    counts = (asked.channels, asked.pixels)
    return int(lib.cuTensorMapEncodeIm2col(*head, lower, upper, *counts, steps, *modes))


_IMAGE = {"shape": (2, 8, 64), "strides": (8 * 256, 256), "box": (1, 8, 32)}
_LINE = {"shape": (1, 9, 64), "strides": (9 * 256, 256), "lower": (0,), "upper": (0,)}
_SPACE = {
    "shape": (1, 9, 9, 9, 64),
    "strides": (9**3 * 256, 9 * 9 * 256, 9 * 256, 256),
    "lower": (0, 0, 0),
    "upper": (0, 0, 0),
}
_DEEP = {"shape": (9,) * 4 + (64,), "strides": (9**3 * 256, 81 * 256, 9 * 256, 256)}
# Beyond what the documentation says, its releases differ: 2**32 until 13.1, 2**31 in 13.5.
_TILED: list[dict[str, Any]] = [
    {},
    *({"type": number, "box": (1, 16)} for number in range(13)),
    *({"address": n} for n in (8, 16, 32, 48, 4)),
    *(
        {"shape": (n, 128)}
        for n in (0, 1, 2**31 - 1, 2**31, 2**31 + 1, 2**32 - 1, 2**32, 2**32 + 1)
    ),
    *({"shape": (64, n)} for n in (0, 1, 3, 2**31, 2**32, 2**32 + 1)),
    *({"strides": (n,)} for n in (0, 8, 16, 32, 256, 520, 2**39, 2**40 - 16, 2**40, 2**41)),
    *({"box": box} for box in ((0, 32), (1, 32), (256, 32), (257, 32), (1, 0), (1, 4), (1, 3))),
    *({"box": (1, n)} for n in (2, 6, 8, 64, 252, 256, 260)),
    {"box": (200, 32), "shape": (3, 128)},
    *({"box": box} for box in ((256, 228), (256, 232), (256, 256), (228, 256), (229, 256))),
    *({"box": (256, 256), "type": 8, "steps": (n, 1)} for n in (1, 2, 3)),
    *({"box": (256, 256), "type": number} for number in (0, 6)),
    *({**_DEEP, "box": box} for box in ((9, 9, 9, 9, 16), (8, 8, 8, 7, 16))),
    {**_DEEP, "box": (9, 9, 9, 9, 16), "steps": (2, 2, 2, 2, 1)},
    *(
        {"shape": (2, 8, 64), "strides": strides, "box": (1, 8, 32)}
        for strides in ((8 * 256 + 16, 256), (256, 8 * 256), (16, 48), (0, 256), (256, 0))
    ),
    *({"steps": steps} for steps in ((0, 1), (8, 1), (9, 1), (1, 0))),
    *(
        {"swizzle": swizzle, "box": (1, n)}
        for swizzle in (1, 2, 3)
        for n in (4, 8, 12, 16, 32, 36, 64)
    ),
    *({"promotion": n} for n in range(4)),
    *({"type": number, "fill": 1, "box": (1, 16)} for number in range(13)),
    *({"interleave": n} for n in (1, 2)),
    *({**_IMAGE, "interleave": n} for n in (1, 2)),
    *({**_IMAGE, "interleave": 2, "swizzle": n} for n in (1, 2, 3)),
    *({**_IMAGE, "interleave": 1, "swizzle": n} for n in (1, 2, 3)),
    {**_IMAGE, "interleave": 2, "swizzle": 1, "address": 16},
    {**_IMAGE, "interleave": 2, "swizzle": 1, "strides": (8 * 256, 272)},
    *({**_IMAGE, "interleave": 1, "box": (1, 8, n)} for n in (1, 3, 4, 6, 16)),
    *({**_IMAGE, "interleave": 2, "swizzle": 1, "box": (1, 8, n)} for n in (4, 8, 16)),
    {**_IMAGE, "interleave": 1, "steps": (1, 1, 2)},
    {"shape": (64,), "strides": (), "box": (32,)},
    {"shape": (2,) * 4 + (64,), "strides": (2048, 1024, 512, 256), "box": (1, 1, 1, 1, 32)},
]
_IM2COL: list[dict[str, Any]] = [
    {},
    _LINE,
    _SPACE,
    {"shape": (2, 64), "strides": (256,), "lower": (0,), "upper": (0,)},
    *({"lower": (n, 0)} for n in (-129, -128, 8, 127, 128)),
    *({"upper": (n, 0), "lower": (0, 0)} for n in (-129, -128, -14, -13, 127, 128)),
    *({"upper": (0, n), "lower": (0, 0)} for n in (-9, -8)),
    *({**_LINE, "lower": (n,)} for n in (-32769, -32768, 8, 9, 32767, 32768)),
    *({**_LINE, "upper": (n,)} for n in (-32769, -9, -8, 32767, 32768)),
    *({**_SPACE, "lower": (n, 0, 0)} for n in (-17, -16, 15, 16)),
    *({**_SPACE, "upper": (0, 0, n)} for n in (-17, -9, -8, 15, 16)),
    *({"channels": n} for n in (0, 1, 2, 4, 6, 64, 256, 257)),
    *({"channels": n, "swizzle": 3} for n in (16, 32, 64)),
    *({"pixels": n} for n in (0, 1, 3, 256, 257, 1024, 1025)),
    *({"channels": n, "pixels": 256} for n in (128, 224, 228, 232, 256)),
    {"channels": 228, "pixels": 256, "steps": (1, 8, 8, 1)},
    {"channels": 256, "pixels": 256, "steps": (1, 2, 2, 1)},
    *({"channels": n, "interleave": 1} for n in (3, 4)),
    *({"steps": (1, n, 1, 1)} for n in (0, 2, 8, 9)),
    *({"steps": (n, 1, 1, 1)} for n in (2, 8)),
    *({"interleave": n} for n in (1, 2)),
    {"interleave": 2, "swizzle": 1},
    *({"type": number, "channels": 16} for number in range(13)),
]


def edges(kind: str) -> list[Tiled | Im2col]:
    """Return requests at and beyond each limit, of ``"tiled"`` or ``"im2col"`` maps."""
    if kind == "tiled":
        return [replace(Tiled(), **change) for change in _TILED]
    return [replace(Im2col(), **change) for change in _IM2COL]
