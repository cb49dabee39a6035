"""What the TMA should bring, computed by torch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["box_of", "bytes_of", "pixels_of", "swizzled"]

# Of an address's bits, those from 7 on are added to those from `to` on, as many as `mask` has.
_SWIZZLES = {
    "none": (0, 4),
    "32B": (0b1, 4),
    "64B": (0b11, 4),
    "128B": (0b111, 4),
    "128B_atom_32B": (0b11, 5),
    "128B_atom_64B": (0b1, 6),
}


def box_of(
    x: Any,
    at: Sequence[int],
    box: Sequence[int],
    steps: Sequence[int] | None = None,
    fill: float = 0,
) -> Any:
    """Return a box of a tensor, of every `steps`-th element; `fill` where it leaves the tensor."""
    import torch

    steps = steps or (1,) * len(box)
    each = [
        start + step * torch.arange(-(-size // step), device=x.device)
        for start, size, step in zip(at, box, steps, strict=True)
    ]
    places = torch.meshgrid(*each, indexing="ij")
    inside = torch.ones_like(places[0], dtype=torch.bool)
    for place, length in zip(places, x.shape, strict=True):
        inside &= (place >= 0) & (place < length)
    clamped = tuple(p.clamp(0, n - 1) for p, n in zip(places, x.shape, strict=True))
    return torch.where(inside, x[clamped], torch.full((), fill, dtype=x.dtype, device=x.device))


def pixels_of(
    x: Any,
    *,
    lower: Sequence[int],
    upper: Sequence[int],
    steps: Sequence[int],
    offsets: Sequence[int],
    first: int,
    count: int,
    channels: slice,
) -> Any:
    """Return `count` pixels of an image (N, ..., C), from the `first` place of a filter on.

    A filter's places run from `lower` to the dimension's end plus `upper`, by `steps`; each is
    moved by `offsets`. What lies outside is zero.
    """
    import torch

    each = [torch.arange(x.shape[0], device=x.device)]
    for length, low, high, step in zip(x.shape[1:-1], lower, upper, steps, strict=True):
        each.append(torch.arange(low, length + high, step, device=x.device))
    places = [
        place.flatten()[first : first + count] for place in torch.meshgrid(*each, indexing="ij")
    ]
    for i, offset in enumerate(offsets):
        places[1 + i] = places[1 + i] + offset
    inside = torch.ones_like(places[0], dtype=torch.bool)
    for place, length in zip(places, x.shape[:-1], strict=True):
        inside &= (place >= 0) & (place < length)
    clamped = tuple(p.clamp(0, n - 1) for p, n in zip(places, x.shape[:-1], strict=True))
    return torch.where(
        inside[:, None], x[clamped], torch.zeros((), dtype=x.dtype, device=x.device)
    )[:, channels]


def bytes_of(x: Any) -> Any:
    """Return a tensor's elements as a flat tensor of bytes."""
    import torch

    return x.contiguous().flatten().view(torch.uint8)


def swizzled(data: Any, swizzle: str) -> Any:
    """Return bytes in the order in which a swizzle leaves them in shared memory."""
    import torch

    mask, to = _SWIZZLES[swizzle]
    place = torch.arange(data.numel(), device=data.device)
    place = place ^ (((place >> 7) & mask) << to)
    out = torch.empty_like(data)
    out[place] = data
    return out
