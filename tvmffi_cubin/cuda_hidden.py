"""Finds where macros hide what has to be cut: definitions, or a launch of which they are a part."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from .cuda_brackets import Tokens
from .cuda_expansion import ExpansionError, Piece, as_text, expand_pieces
from .cuda_item import Item, Macro, Param
from .cuda_launches import find_launches
from .cuda_macros import MacroFacts, body_tokens

__all__ = ["HiddenMacros", "Occurrence", "find_in_params", "find_occurrences"]

_DEVICE = frozenset(("__global__", "__device__", "__constant__", "__managed__"))
# What no parameter ends with, unless behind an equals sign.
_NUMBER = re.compile(r"[\s(]*[-+]?\d[\w.']*[\s)]*")


class HiddenMacros(NamedTuple):
    """Names of macros that hide something."""

    definitions: frozenset[str]
    """They stand for more than a declaration's specifiers: at namespace scope, for declarations."""
    halves: frozenset[str]
    """There is a ``<<<`` in them without all that belongs to it."""
    needed: frozenset[str]
    """Of both, those without whose expansion nothing can be cut: there is device code in them."""
    functions: frozenset[str]
    """All macros that take arguments: with one of the former among these, they hide it, too."""

    @classmethod
    def of(cls, macros: Iterable[Macro], facts: Mapping[str, MacroFacts]) -> HiddenMacros:
        """Find them."""
        macros = tuple(macros)
        definitions = {macro.name for macro in macros if _defines(facts[macro.name])}
        halves = {macro.name for macro in macros if _is_half(macro)}
        changed = bool(halves)
        while changed:
            more = {macro.name for macro in macros if macro.uses & halves} - halves
            halves |= more
            changed = bool(more)
        functions = {macro.name for macro in macros if macro.params is not None}
        needed = halves | {name for name in definitions if facts[name].words & _DEVICE}
        return cls(*map(frozenset, (definitions, halves, needed, functions)))


class Occurrence(NamedTuple):
    """Where such a macro is used, by offsets, and what it stands for there."""

    name: str
    start: int
    end: int
    line: int
    expansion: str
    why_not: str
    """Why it cannot be expanded; empty: it can."""
    is_needed: bool
    """Whether nothing can be cut without that."""


def _defines(facts: MacroFacts) -> bool:
    if facts.has_end:
        return True
    return bool(facts.words & _DEVICE) and not facts.specifies and facts.is_function


def _is_half(macro: Macro) -> bool:
    if "<<<" not in macro.body:
        return False
    return bool(find_launches(body_tokens(macro.body, 0, len(macro.body))).halves)


def find_occurrences(
    tokens: Tokens,
    given: Sequence[Macro],
    own: Sequence[Macro],
    hidden: HiddenMacros,
    bodies: Sequence[tuple[int, int]],
) -> Iterator[Occurrence]:
    """Find all uses of macros that hide something.

    Parameters
    ----------
    tokens : Tokens
        The text's.
    given, own : sequence of Macro
        Macros of texts before it, and the text's own.
    hidden : HiddenMacros
        Those of them that hide something.
    bodies : sequence of tuple of int
        First and last tokens of functions' bodies: no definitions are hidden in these.
    """
    words, match = tokens.words, tokens.match
    names = hidden.definitions | hidden.halves
    if not names:
        return
    defined = _Defined(tokens, given, own)
    next_body = index = 0
    while index < len(words):
        while next_body < len(bodies) and bodies[next_body][1] < index:
            next_body += 1
        is_inside = next_body < len(bodies) and bodies[next_body][0] <= index
        word = words[index]
        end = index
        if word in hidden.functions:
            is_call = words[index + 1 : index + 2] == ["("] and match[index + 1] > index
            end = match[index + 1] if is_call else -1
        wanted: frozenset[str] = frozenset()
        if end >= 0 and (word in hidden.halves or (word in names and not is_inside)):
            wanted = names
        elif end > index and not is_inside and not names.isdisjoint(words[index:end]):
            wanted = hidden.functions | names  # which applies one to a list
        if wanted:
            found = _occurrence(tokens, index, end, defined, wanted)
            yield found._replace(is_needed=not hidden.needed.isdisjoint(words[index : end + 1]))
            index = end
        index += 1


def find_in_params(
    tokens: Tokens, given: Sequence[Macro], own: Sequence[Macro], items: Iterable[Item]
) -> Iterator[Occurrence]:
    """Find the uses of macros that may stand for several parameters of a kernel, or hide its name.

    Those are macros that take arguments, and one that a parameter ends with.

    Parameters
    ----------
    tokens, given, own
        As in `find_occurrences`.
    items : iterable of Item
        The text's declarations.
    """
    macros = {macro.name: macro for macro in (*given, *own) if macro.body.strip()}
    wanted = frozenset(name for name, macro in macros.items() if "," in macro.body)
    defined = None
    for param in _kernel_params(items) if macros else ():
        first = index = bisect_left(tokens.starts, param.span.start)
        last = bisect_left(tokens.starts, param.span.end) - 1
        while index <= last and tokens.words[index] != "=":
            macro, end = macros.get(tokens.words[index]), index
            if macro is not None and macro.params is not None:
                is_call = index < last and tokens.words[index + 1] == "("
                end = tokens.match[index + 1] if is_call else -1
            if macro is not None and index <= end <= last and (end > index or end == last):
                defined = defined or _Defined(tokens, given, own)
                found = _occurrence(tokens, index, end, defined, wanted | {macro.name})
                # One is a parameter's name where `#if` has not made a number of it.
                is_name = index > first and _NUMBER.fullmatch(found.expansion) is not None
                if not is_name and (end == last or not found.why_not):
                    yield found
            index = max(index, end) + 1


def _kernel_params(items: Iterable[Item]) -> Iterator[Param]:
    for item in items:
        if item.kind == "function" and "__global__" in item.words:
            yield from item.params or ()
        yield from _kernel_params(item.children)


def _occurrence(
    tokens: Tokens, index: int, end: int, defined: _Defined, wanted: frozenset[str]
) -> Occurrence:
    start, behind = tokens.starts[index], tokens.end(end)
    name, line = tokens.words[index], tokens.line(index)
    expansion = why_not = ""
    if any(index < directive.before <= end for directive in tokens.lexed.directives):
        why_not = "there is a directive among its arguments"
    else:
        starts = tokens.starts
        pieces = [
            Piece(tokens.words[at], at == index or starts[at] > tokens.end(at - 1))
            for at in range(index, end + 1)
        ]
        try:
            expansion = defined.expanded(pieces, start, wanted)
        except ExpansionError as error:
            why_not = str(error)
    return Occurrence(name, start, behind, line, expansion, why_not, True)


class _Defined:
    """Which macros are defined where."""

    def __init__(self, tokens: Tokens, given: Sequence[Macro], own: Sequence[Macro]) -> None:
        events: list[tuple[int, str, Macro | None]] = [(-1, one.name, one) for one in given]
        events += [(one.span.start, one.name, one) for one in own]
        undefined = [one for one in tokens.directives if one.name == "undef"]
        events += [(one.start, (one.rest.split() or [""])[0], None) for one in undefined]
        self.events = sorted(events, key=lambda event: event[0])

    def expanded(self, pieces: Sequence[Piece], offset: int, wanted: frozenset[str]) -> str:
        defined: dict[str, Macro] = {}
        several: set[str] = set()
        for start, name, macro in self.events:
            if start > offset:
                break
            if macro is None:
                defined.pop(name, None)
                several.discard(name)
                continue
            known = defined.get(name, macro)
            if (known.params, known.body) != (macro.params, macro.body):
                several.add(name)
            defined[name] = macro
        if pieces[0].word not in defined:
            raise ExpansionError("it is not defined here")
        done = expand_pieces(pieces, defined, wanted, doubtful=several)
        return as_text(done)
