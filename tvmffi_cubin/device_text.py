"""The edits that make the device text of a file."""

from __future__ import annotations

from .cut_edits import FileCut, item_edits, left_out_edits
from .text_edits import Edit

__all__ = ["device_edits"]


def device_edits(cut: FileCut) -> list[Edit]:
    """Return the edits of all but paths: what is left is what NVRTC compiles.

    Functions without an execution space are device functions to NVRTC as it is run here, so what
    is ``constexpr`` needs no more.
    """
    return left_out_edits(cut, "device", (), item_edits(cut, "device"))
