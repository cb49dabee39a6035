"""What a side's text has in common with the other's: items and includes that it goes without."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from .cuda_item import Item
from .member_names import TypeNames
from .mixed_headers import MixedFile
from .side_members import Side, member_cuts
from .sides import Dropped, Node, Sides
from .text_edits import Edit, blank

__all__ = ["FileCut", "item_edits", "left_out_edits", "path_edits"]

_VISIBLE = re.compile(r"\S+")
_PATH = re.compile(r"<[^>\n]*>|\"[^\"\n]*\"")


class FileCut(NamedTuple):
    """One file, and what one side goes without in it.

    Attributes
    ----------
    file : MixedFile
        The file.
    kept, others : tuple of Node
        Its items at namespace scope that the side has, and those that it has not.
    dropped : frozenset of int
        Where items begin that it has to go without: members of classes and includes, too.
    outside : frozenset of str
        What the program's files declare as extern.
    types : TypeNames
        The program's types.
    """

    file: MixedFile
    kept: tuple[Node, ...]
    others: tuple[Node, ...]
    dropped: frozenset[int]
    outside: frozenset[str] = frozenset()
    types: TypeNames = TypeNames()

    @classmethod
    def each(
        cls,
        files: Sequence[MixedFile],
        decided: Sides,
        side: Side,
        dropped: Collection[Dropped],
    ) -> Iterator[FileCut]:
        """Iterate over the files of a program."""
        has = decided.of(side)
        extern = (node.item.names for node in decided.nodes if "extern" in node.item.words)
        outside = frozenset(name for names in extern for name in names)
        types = TypeNames.of(decided.nodes)
        for number, file in enumerate(files):
            own = [(at, node) for at, node in enumerate(decided.nodes) if node.file == number]
            yield cls(
                file,
                tuple(node for at, node in own if at in has),
                tuple(node for at, node in own if at not in has),
                frozenset(d.start for d in dropped if (d.side, d.file) == (side, file.name)),
                outside,
                types,
            )


def item_edits(cut: FileCut, side: Side) -> list[Edit]:
    """Return the edits that blank items and members of classes that a side goes without."""
    text = cut.file.cuda.text
    edits = [edit for node in cut.others for edit in blank(text, *node.item.span)]
    for node in cut.kept:
        for member in member_cuts(text, node.item, side, cut.dropped):
            edits += member.edits(text)
    return edits


def left_out_edits(
    cut: FileCut,
    side: Side,
    left_out: Collection[str],
    edits: Sequence[Edit],
    missed: Collection[str] = (),
) -> list[Edit]:
    """Return some edits and those that blank include lines which a side goes without.

    Parameters
    ----------
    cut : FileCut
        The file.
    side : "device" or "host"
        The side.
    left_out : collection of str
        Headers that it does without; the device has not all of the host's either.
    edits : sequence of Edit
        Those of all else.
    missed : collection of str
        Headers that the device needs though they are nowhere: their absence is to be told.
    """
    text = cut.file.cuda.text
    edits = list(edits)
    for item in _outside(edits, cut.file):
        is_host = side == "device" and cut.file.includes[item.span.start].owner == "host"
        if (
            (is_host and item.path not in missed)
            or item.path in left_out
            or item.span.start in cut.dropped
        ):
            start, end = item.span
            edits.append(Edit(start, end, _VISIBLE.sub(_spaces, text[start:end])))
    return edits


def path_edits(file: MixedFile, written: Mapping[str, str], edits: Sequence[Edit]) -> list[Edit]:
    """Return some edits and those of include lines by which a copy elsewhere finds its headers.

    Parameters
    ----------
    file : MixedFile
        The file.
    written : mapping of str to str
        Paths of headers that change, and what they are written as.
    edits : sequence of Edit
        Those of all else.
    """
    edits = list(edits)
    for item in _outside(edits, file):
        found = file.includes[item.span.start]
        if found.owner == "user" and (found.path in written or found.is_beside):
            match = _PATH.search(file.cuda.text, item.span.start, item.span.end)
            assert match is not None
            edits.append(Edit(*match.span(), f'"{written.get(found.path, found.path)}"'))
    return edits


def _outside(edits: Sequence[Edit], file: MixedFile) -> list[Item]:
    """Return the include lines of a file that are left after some edits."""
    gone = [edit for edit in edits if edit.start < edit.end]
    return [
        item
        for item in file.include_items()
        if not any(edit.start <= item.span.start < edit.end for edit in gone)
    ]


def _spaces(match: re.Match[str]) -> str:
    return " " * len(match[0])
