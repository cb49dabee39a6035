"""What may help where a compiler does not know a name that is the other side's."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from .cuda_item import Item
from .item_words import is_device_function, is_host_function
from .mixed_headers import MixedFile
from .side_members import Side
from .sides import Sides

__all__ = ["side_hints"]

# As NVRTC and as host compilers quote what they do not know.
_OPEN, _CLOSE = "[`'\u2018]", "['\u2019]"
_UNKNOWN = re.compile(
    r"\berror\b[^\n]*?(?:identifier|no member) [\"](\w+)[\"]"
    rf"|\berror\b[^\n]*?{_OPEN}(?:\w+::)*(\w+){_CLOSE} "
    "(?:was not declared|is not a member|has not been)"
    rf"|\berror\b[^\n]*?(?:no member named|undeclared identifier) {_OPEN}(\w+){_CLOSE}"
    rf"|\berror\b[^\n]*?\bcall to {_OPEN}(?:\w+::)*(\w+)[^\n]*? declared with [^\n]*__device__"
    rf"|\bundefined reference to {_OPEN}(?:\w+::)*(\w+)\("
)


def side_hints(files: Sequence[MixedFile], decided: Sides, side: Side, log: str) -> tuple[str, ...]:
    """Return what to do about the functions of the other side that errors are about.

    Parameters
    ----------
    files : sequence of MixedFile
        The files of the program.
    decided : Sides
        What each side has.
    side : "device" or "host"
        Whose compiler complained.
    log : str
        What it wrote.
    """
    names = {name for found in _UNKNOWN.findall(log) for name in found if name}
    hints: dict[str, str] = {}
    for index, node in enumerate(decided.nodes):
        is_here = index in decided.of(side)
        for item in _absent(node.item, side, names, is_here=is_here):
            place = f"{files[node.file].name}:{item.line}"
            hints.setdefault(item.names[-1], _hint(item, place, side))
    return tuple(hints.values())


def _absent(item: Item, side: Side, names: Collection[str], *, is_here: bool) -> Iterator[Item]:
    """Iterate over the functions of those names that a side cannot call."""
    is_other = is_host_function(item) if side == "device" else is_device_function(item)
    if is_other and item.names and item.names[-1] in names:
        yield item
    if is_here:
        for child in item.children:
            yield from _absent(child, side, names, is_here=True)


def _hint(item: Item, place: str, side: Side) -> str:
    name = "::".join(item.names)
    if side == "device":
        return f"{name} ({place}) is a function of the host: put __host__ __device__ before it"
    return f"{name} ({place}) is a __device__ function: put __host__ before that, too"
