"""`MixedUnit`: mixed sources that are one text a side; `MixedParts`: what they were compiled to."""

from __future__ import annotations

from typing import NamedTuple

from .cache.entry import Entry
from .device.image import Image
from .part_files import PartFiles
from .sources.source import Source
from .split import Split

__all__ = ["MixedParts", "MixedUnit"]


class MixedUnit(NamedTuple):
    """Mixed sources that are one translation unit, with statics and an image of their own.

    Attributes
    ----------
    sources : tuple of Source
        Each sees the macros and the names of those before it.
    device : tuple of Source
        Device sources that are linked with them.
    image : str
        The name of the image.
    is_alone : bool
        Whether the module has no other such unit.
    """

    sources: tuple[Source, ...]
    device: tuple[Source, ...]
    image: str
    is_alone: bool


class MixedParts(NamedTuple):
    """What a mixed unit was compiled to.

    Attributes
    ----------
    unit : MixedUnit
        The unit.
    cut : Split
        How it was cut.
    device : Image or None
        Its image, of the device sources linked with it as well; None where it has no kernel.
    host : Entry
        The object of the host side.
    exported : tuple of str
        The functions that it exports.
    tag : str
        The end of its table's symbol, which no other unit's has.
    kernels, variables : dict of str to str
        See `mixed_table_unit`.
    lines : tuple of (str, int, int)
        See there.
    files : tuple of PartFiles
        What either side read, and what was read to cut them.
    device_texts : tuple of str
        The texts of the image.
    """

    unit: MixedUnit
    cut: Split
    device: Image | None
    host: Entry
    exported: tuple[str, ...]
    tag: str
    kernels: dict[str, str]
    variables: dict[str, str]
    lines: tuple[tuple[str, int, int], ...]
    files: tuple[PartFiles, ...]
    device_texts: tuple[str, ...]
