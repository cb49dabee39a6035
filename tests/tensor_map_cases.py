"""Tensor maps of the tests: what is asked for, and that asked of a driver itself."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

TYPES = (
    *("uint8", "uint16", "uint32", "int32", "uint64", "int64", "float16", "float32", "float64"),
    *("bfloat16", "float32_ftz", "tfloat32", "tfloat32_ftz"),
    *("16u4_align8b", "16u4_align16b", "16u6_align16b"),
)


@dataclass(frozen=True)
class Asked:
    """What any map is asked for; numbers are the driver's, dimensions the tensor's."""

    type: int = 7
    address: int = 1 << 20
    shape: tuple[int, ...] = (64, 128)
    strides: tuple[int, ...] = (512,)  # in bytes, without the innermost
    steps: tuple[int, ...] = ()  # empty for all 1
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
