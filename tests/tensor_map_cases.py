"""Tensor maps of the tests: what is asked for, and that asked of a driver itself."""

from __future__ import annotations

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
