"""Members of classes that one side goes without, and stretches of items that it keeps."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from typing import Literal, NamedTuple

from .cuda_item import Item, Param
from .cuda_lex import KEYWORDS
from .item_words import (
    code_alone,
    identifiers,
    is_device_function,
    is_host_function,
    is_kernel,
    value_of,
)
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
    if item.kind == "type":
        yield from _cuts(text, item, side, dropped, frozenset())


def _cuts(
    text: str, item: Item, side: Side, dropped: Collection[int], around: frozenset[str]
) -> Iterator[MemberCut]:
    """Iterate over those of a class in others, which are templates of some parameters."""
    parameters = around | _named(item.template)
    known = parameters.union(item.names, *(child.names for child in item.children))
    for child in item.children:
        if child.kind == "type":
            yield from _cuts(text, child, side, dropped, parameters)
        elif child.kind == "function" and (cut := _cut(text, child, side, dropped)):
            is_whole = (cut.start, cut.end) == child.span and child.span.start not in dropped
            if side == "host" or not (is_whole and parameters and _is_plain(text, child, known)):
                yield cut


def _named(parameters: Iterable[Param] | None) -> frozenset[str]:
    return frozenset(parameter.name for parameter in parameters or ())


def _is_plain(text: str, member: Item, known: frozenset[str]) -> bool:
    """Whether it is all of what it gets, and of calls: device code may call such a one.

    As a template's, it is compiled where it is called alone. nvcc only warns of such calls in
    functions for both sides.
    """
    code = code_alone(text[slice(*member.span)])
    if member.body is None or "::" in code:
        return False
    known |= _named(member.template) | _named(member.params) | KEYWORDS
    values = {word for word in identifiers(code, [(0, len(code))]) if word.startswith("&")}
    return values <= {value_of(name) for name in known}


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
