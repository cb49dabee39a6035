"""Members of classes that one side goes without, and stretches of items that it keeps."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Literal, NamedTuple

from .cuda_item import Item
from .item_words import is_device_function, is_host_function, is_kernel
from .text_edits import Edit, blank

__all__ = ["MemberCut", "Side", "is_named_only", "kept", "member_cuts", "without_body"]

Side = Literal["device", "host"]

_DEFAULTED = re.compile(r"=\s*(?:default|delete)\s*;?\s*\Z")
_VIRTUAL = re.compile(r"\b(?:virtual|override|final)\b")
_DEVICE = re.compile(r"\b__device__\b(?!\s*\[\[)")
# See tvmffi_cubin/mixed/device_only.h.
_DEVICE_ONLY = "TVMFFI_CUBIN_DEVICE_ONLY"
_THROWS = "{ ::tvmffi_cubin::ThrowDeviceOnly(__func__); }"


class MemberCut(NamedTuple):
    """A stretch of a class that is left out, and what stands there instead."""

    start: int
    end: int
    text: str = ""

    def edits(self, text: str) -> list[Edit]:
        """Return the edits that do so."""
        put = [Edit(self.start, self.start, self.text)] if self.text else []
        return [*put, *blank(text, self.start, self.end)]


def is_named_only(item: Item) -> bool:
    """Whether it is a function that host code may name, but not call.

    What is ``constexpr`` may be asked for while host code is compiled.
    """
    return is_device_function(item) and not {"constexpr", "consteval"} & item.words


def without_body(text: str, item: Item) -> list[Edit]:
    """Return the edits that leave a device function with a body of no use, for its address."""
    if item.body is None:
        return []
    start, end = item.body
    edits = [Edit(start, start, _THROWS), *blank(text, start, end)]
    if match := _DEVICE.search(text, item.span.start, item.declarator_end):
        edits.append(Edit(*match.span(), _DEVICE_ONLY))
    return edits


def member_cuts(
    text: str, item: Item, side: Side, dropped: Collection[int] = ()
) -> Iterator[MemberCut]:
    """Iterate over the members of a class that a side goes without, or whose bodies it does.

    Parameters
    ----------
    text : str
        The text that it is in.
    item : Item
        A class; of anything else there are none.
    side : "device" or "host"
        The side.
    dropped : collection of int
        Where members begin that this side has to go without.
    """
    if item.kind != "type":
        return
    for child in item.children:
        if child.kind == "type":
            yield from member_cuts(text, child, side, dropped)
        elif child.kind == "function" and (cut := _cut(text, child, side, dropped)):
            yield cut


def _cut(text: str, member: Item, side: Side, dropped: Collection[int]) -> MemberCut | None:
    if member.span.start in dropped:
        return _without_body(text, member, side) if side == "host" else MemberCut(*member.span)
    if _DEFAULTED.search(text, member.declarator_end, member.span.end):
        return None
    if side == "host":
        return _without_body(text, member, side) if is_named_only(member) and member.body else None
    if not is_host_function(member):
        return None
    # Virtual functions are part of the layout.
    if _VIRTUAL.search(text, member.span.start, member.declarator_end):
        return _without_body(text, member, side) if member.body else None
    return MemberCut(*member.span)


def _without_body(text: str, member: Item, side: Side) -> MemberCut:
    if member.body is None:
        return MemberCut(*member.span)
    stands = ";"
    if side == "host":
        # The table of virtual functions needs something to point to.
        is_virtual = _VIRTUAL.search(text, member.span.start, member.declarator_end)
        stands = f" {_THROWS}" if is_virtual else f" {_DEVICE_ONLY};"
    return MemberCut(member.declarator_end, member.body.end, stands)


def kept(
    text: str, item: Item, side: Side, dropped: Collection[int] = ()
) -> Iterator[tuple[int, int]]:
    """Iterate over the stretches of an item that a side has, if it has the item at all."""
    if side == "host" and item.body and (is_kernel(item) or is_named_only(item)):
        yield item.span.start, item.declarator_end
        return
    start = item.span.start
    for cut in member_cuts(text, item, side, dropped):
        yield start, cut.start
        start = cut.end
    yield start, item.span.end
