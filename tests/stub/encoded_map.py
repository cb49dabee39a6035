"""What the stand-in's tensor maps hold: all that the driver was asked for."""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace

_FORMAT = "<2Q5Q4Q20s12B"
_MARK = 1 << 21


@dataclass(frozen=True)
class EncodedMap:
    """A tensor map, in the driver's own numbers and order of dimensions: innermost first."""

    mode: int  # 0 for tiled, 1 for im2col
    type: int
    interleave: int
    swizzle: int
    promotion: int
    fill: int
    address: int
    is_marked: bool  # bit 85, which is for tensors of 128 KiB and more
    dims: tuple[int, ...]
    strides: tuple[int, ...]  # in bytes, of all dimensions but the first
    element_strides: tuple[int, ...]
    box: tuple[int, ...] = ()
    lower: tuple[int, ...] = ()
    upper: tuple[int, ...] = ()
    channels: int = 0
    pixels: int = 0

    @classmethod
    def of(cls, data: bytes) -> EncodedMap:
        """Read the 128 bytes of a map."""
        address, marks, *words = struct.unpack_from(_FORMAT, data)
        dims, strides, part, small = words[:5], words[5:9], words[9], words[10:]
        mode, type_, rank, interleave, swizzle, promotion, fill, *steps = small
        made = cls(
            mode=mode,
            type=type_,
            interleave=interleave,
            swizzle=swizzle,
            promotion=promotion,
            fill=fill,
            address=address,
            is_marked=bool(marks & _MARK),
            dims=tuple(dims[:rank]),
            strides=tuple(strides[: rank - 1]),
            element_strides=tuple(steps[:rank]),
        )
        if mode == 0:
            return replace(made, box=struct.unpack("<5I", part)[:rank])
        *corners, channels, pixels = struct.unpack_from("<6h2H", part)
        lower, upper = corners[: rank - 2], corners[3 : rank + 1]
        return replace(
            made, lower=tuple(lower), upper=tuple(upper), channels=channels, pixels=pixels
        )
