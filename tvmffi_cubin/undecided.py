"""Items that a side may go without: what names alone put there."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from .cuda_item import Item
from .cut_edits import FileCut
from .host.include_scan import scan
from .item_words import is_device_function, is_device_variable, is_host_function, is_kernel
from .side_members import Side, member_cuts
from .sides import Dropped

__all__ = ["droppable", "droppable_includes"]


def droppable(cut: FileCut, side: Side, lines: Collection[int]) -> Iterator[Dropped]:
    """Iterate over the items in some lines of a file that a side may go without.

    Parameters
    ----------
    cut : FileCut
        The file, as the side has it.
    side : "device" or "host"
        The side.
    lines : collection of int
        Lines that there are errors in.
    """
    text = cut.file.cuda.text
    for node in cut.kept:
        if not _is_in(text, node.item, lines):
            continue
        members = list(_members(text, node.item, side, cut.dropped, lines))
        for item in members or [node.item]:
            if not _is_told(item, side):
                yield Dropped(side, cut.file.name, item.span.start)


def droppable_includes(
    cut: FileCut, headers: Collection[str], folders: Sequence[str]
) -> Iterator[Dropped]:
    """Iterate over the include lines of CUDA's headers by which NVRTC was given some others.

    Parameters
    ----------
    cut : FileCut
        The file, as the device has it.
    headers : collection of str
        Headers that there are errors in.
    folders : sequence of str
        Where NVRTC finds headers.
    """
    for item in cut.file.include_items():
        found = cut.file.includes[item.span.start]
        if found.owner != "device" or item.span.start in cut.dropped:
            continue
        if not set(headers).isdisjoint(scan([f"#include <{item.path}>"], folders).files):
            yield Dropped("device", cut.file.name, item.span.start)


def _is_in(text: str, item: Item, lines: Collection[int]) -> bool:
    first = text.count("\n", 0, item.span.start) + 1
    last = first + text.count("\n", item.span.start, item.span.end)
    return any(first <= line <= last for line in lines)


def _is_told(item: Item, side: Side) -> bool:
    """Whether it says by itself that it is this side's."""
    if is_kernel(item):
        return True
    if side == "device":
        return is_device_function(item) or is_device_variable(item)
    is_variable = item.kind == "variable" and not is_device_variable(item)
    return is_host_function(item) or is_variable or item.kind == "other"


def _members(
    text: str, item: Item, side: Side, dropped: Collection[int], lines: Collection[int]
) -> Iterable[Item]:
    """Iterate over the member functions in those lines that a side has and may go without."""
    if item.kind != "type":
        return
    cuts = [cut.start for cut in member_cuts(text, item, side, dropped)]
    for child in item.children:
        if child.kind == "type" and _is_in(text, child, lines):
            yield from _members(text, child, side, dropped, lines)
        elif child.kind == "function" and _is_in(text, child, lines):
            is_cut = any(child.span.start <= start < child.span.end for start in cuts)
            if not is_cut and not _is_told(child, side):
                yield child
