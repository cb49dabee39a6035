"""Reads what a CUDA source text consists of, by its tokens and brackets: no compiler is asked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from .cuda_brackets import Brackets, match_brackets
from .cuda_hidden import HiddenMacros, Occurrence, find_in_params, find_occurrences
from .cuda_item import CudaText, Item, Macro
from .cuda_lex import lex
from .cuda_macros import facts_of, read_macros
from .cuda_reader import ItemReader
from .text_edits import Edit, EditedText, apply

__all__ = ["expand", "read", "read_expanded"]


class _Text(NamedTuple):
    """A text as it is, with macros that hide something."""

    brackets: Brackets
    reader: ItemReader
    items: tuple[Item, ...]
    macros: tuple[Macro, ...]
    hidden: tuple[Occurrence, ...]


def read(text: str, *, macros: Iterable[Macro] = ()) -> CudaText:
    """Read a text: of any, also of what is no CUDA C++, something is made.

    Parameters
    ----------
    text : str
        The text, as `expand` left it.
    macros : iterable of Macro
        Those of the headers before it.
    """
    return _cuda_text(text, _read(text, tuple(macros)))


def read_expanded(text: str, *, macros: Iterable[Macro] = ()) -> tuple[EditedText, CudaText]:
    """Expand a text and read what comes out: once, where there is nothing to expand.

    Parameters
    ----------
    text, macros
        As in `expand`.
    """
    macros = tuple(macros)
    found = _read(text, macros)
    expanded = _expanded(text, found)
    if expanded.edits:
        return expanded, read(expanded.text, macros=macros)
    return expanded, _cuda_text(text, found)


def _cuda_text(text: str, found: _Text) -> CudaText:
    problems = [*found.brackets.problems, *found.reader.problems]
    if found.brackets.problems:
        problems += [
            (line, "the branches of this #if leave different brackets open")
            for line, odd in found.brackets.unlike
            if not odd <= found.reader.scopes
        ]
    problems += [(one.line, _not_expanded(one)) for one in found.hidden if one.is_needed]
    return CudaText(text, found.items, found.macros, tuple(sorted(set(problems))))


def expand(text: str, *, macros: Iterable[Macro] = ()) -> EditedText:
    """Expand the macros that hide declarations or parts of launches, each on its line.

    Those that cannot be expanded are left: they are problems of what is then `read`.

    Parameters
    ----------
    text : str
        The text.
    macros : iterable of Macro
        Those of the headers before it.
    """
    return _expanded(text, _read(text, tuple(macros)))


def _expanded(text: str, found: _Text) -> EditedText:
    edits = [
        Edit(one.start, one.end, one.expansion + "\n" * text.count("\n", one.start, one.end))
        for one in found.hidden
        if not one.why_not
    ]
    return apply(text, edits)


def _read(text: str, macros: tuple[Macro, ...]) -> _Text:
    brackets = match_brackets(lex(text))
    own = read_macros(brackets.tokens, macros)
    facts = facts_of([*macros, *own])
    reader = ItemReader(brackets.tokens, facts)
    items = reader.items(0, len(brackets.tokens.words), "")
    hidden = HiddenMacros.of([*macros, *own], facts)
    found = [*find_occurrences(brackets.tokens, macros, own, hidden, sorted(reader.bodies))]
    for one in find_in_params(brackets.tokens, macros, own, items):
        if not any(other.start < one.end and one.start < other.end for other in found):
            found.append(one)
    return _Text(brackets, reader, items, own, tuple(found))


def _not_expanded(one: Occurrence) -> str:
    why = one.why_not or "expand() was not asked for it"
    return f"the macro {one.name} stands for what has to be cut, and cannot be expanded: {why}"
