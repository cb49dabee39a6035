"""The edits that make the host text of a file."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from .cuda_item import Item, Launch
from .cut_edits import FileCut, item_edits, left_out_edits
from .item_words import is_device_variable, is_kernel
from .launch_text import launch_edits
from .member_names import qualified_edits
from .side_members import is_named_only, kept, without_body
from .sides import Node
from .stub_params import bound_edits
from .stub_text import stub_edits
from .text_edits import Edit, blank

__all__ = ["host_edits", "launches", "shadows"]

# Of what has no value of its own, the host has to be told what the device knows.
_NEEDS_VALUE = re.compile(r"\b(?:const|constexpr|auto)\b|\[\s*\]|&")
_VALUE = re.compile(r"=|\{")
# Of a variable's declaration: where its linkage may be said, and a member's name.
_MEMORY = re.compile(r"\b__(?:device|constant)__\b")
_MEMBER = re.compile(r"\b\w+\s*(?:<[^;=]*>\s*)?::\s*$")


def host_edits(cut: FileCut, left_out: Collection[str], bound: Sequence[str] = ()) -> list[Edit]:
    """Return the edits of all but paths: what is left is what the host compiler compiles.

    Parameters
    ----------
    cut : FileCut
        The file.
    left_out : collection of str
        Headers that the host text does without.
    bound : sequence of str
        Names of the last parameters of all kernels, which the module binds.

    Raises
    ------
    ValueError
        A kernel does not have them.
    """
    text = cut.file.cuda.text
    edits = item_edits(cut, "host")
    for node in cut.kept:
        _, item, scope = node
        edits += bound_edits(text, cut.file.name, item, bound)
        if is_kernel(item) and item.body:
            edits += stub_edits(text, item, scope, bound)
        elif is_device_variable(item):
            edits += [*_shadow_edits(text, item), *_own_edits(cut, item)]
        elif is_named_only(item):
            edits += without_body(text, item)
        else:
            edits += qualified_edits(cut.file.code, node, cut.types)
    for launch in launches(cut):
        edits += launch_edits(text, launch)
    return left_out_edits(cut, "host", left_out, edits)


def launches(cut: FileCut) -> Iterator[Launch]:
    """Iterate over the launches in a file's host text, those in macros' bodies included."""
    text = cut.file.cuda.text
    for _, item, _ in cut.kept:
        stretches = list(kept(text, item, "host", cut.dropped))
        for launch in item.launches:
            if any(start <= launch.callee.start < end for start, end in stretches):
                yield launch
    for macro in cut.file.cuda.macros:
        yield from macro.launches


def launch_texts(cut: FileCut) -> Iterator[str]:
    """Iterate over the same as messages name them."""
    text = cut.file.cuda.text
    for launch in launches(cut):
        callee = text[launch.callee.start : launch.callee.end]
        yield f"{cut.file.name}:{launch.line}: {callee}<<<...>>>"


def shadows(cut: FileCut) -> Iterator[str]:
    """Iterate over the names of the device variables that a file's host text has shadows of."""
    for node in cut.kept:
        if is_device_variable(node.item) and node.item.template is None:
            yield from _qualified(node)


def _qualified(node: Node) -> Iterator[str]:
    for name in node.item.names:
        yield "::".join((*node.scope, name))


def _shadow_edits(text: str, item: Item) -> list[Edit]:
    """Return the edits that leave a variable without the value that only the device has."""
    match = _VALUE.search(text, item.declarator_end, item.span.end)
    if match is None or len(item.names) > 1:
        return []
    if _NEEDS_VALUE.search(text, item.span.start, match.start()):
        return []
    return blank(text, match.start(), text.rindex(";", match.start(), item.span.end))


def _own_edits(cut: FileCut, item: Item) -> list[Edit]:
    """Return the edits that make a shadow the unit's own, as the variable is its image's own."""
    text = cut.file.cuda.text
    match = _MEMORY.search(text, item.span.start, item.declarator_end)
    if match is None or item.template is not None or "static" in item.words:
        return []
    if cut.outside.intersection(item.names):
        return []
    first = re.compile(rf"\b{re.escape(item.names[-1])}\b").search(text, match.end())
    if first and _MEMBER.search(text, match.end(), first.start()):
        return []
    return [Edit(match.end(), match.end(), " static")]
