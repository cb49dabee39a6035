"""The brackets of a CUDA source text, through all branches of its conditionals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .cuda_condition import known
from .cuda_lex import Directive, Lexed

__all__ = ["Brackets", "Tokens", "match_brackets"]

_CLOSERS = {")": "(", "]": "[", "}": "{"}
_BRACKETS = frozenset("()[]{}")
_BEGIN = ("if", "ifdef", "ifndef")
_NEXT = ("elif", "else", "elifdef", "elifndef")
_CONDITIONAL = (*_BEGIN, *_NEXT, "endif")

# An open bracket, and those of other branches that the same one closes.
_Stack = tuple[tuple[int, ...], ...]


class Tokens(NamedTuple):
    """The tokens that a compiler may see, and where their brackets are matched."""

    lexed: Lexed
    words: list[str]
    starts: list[int]
    match: list[int]
    """Of a bracket the index of its counterpart; else, and where it has none, -1."""
    directives: tuple[Directive, ...]
    """Those that a compiler may see, but for the next."""
    conditionals: tuple[Directive, ...]
    """All that begin, divide or end conditionals."""
    angles: dict[int, int]
    """Of each ``<`` that was asked for, or stood in the way, what `angle` found."""

    def end(self, index: int) -> int:
        """Return the offset behind a token."""
        return self.starts[index] + len(self.words[index])

    def line(self, index: int) -> int:
        """Return a token's line."""
        return self.lexed.line(self.starts[index])

    def angle(self, index: int, limit: int) -> int:
        """Return the index of the ``>`` that closes the ``<`` at an index; -1: it is another."""
        if index >= limit or self.words[index] != "<":
            return -1
        if index not in self.angles:
            self._match_angles(index)
        closer = self.angles[index]
        return closer if closer < limit else -1

    def _match_angles(self, index: int) -> None:
        """Match the ``<`` at an index and all those in its way, so that each is read once."""
        words, match, angles = self.words, self.match, self.angles
        opened: list[int] = []
        while index < len(words):
            word = words[index]
            if word == "<":
                known = angles.get(index)
                if known is None:
                    opened.append(index)
                elif known < 0:
                    break
                else:
                    index = known
            elif word == ">":
                angles[opened.pop()] = index
                if not opened:
                    return
            elif word in "([{":
                if match[index] < index:
                    break
                index = match[index]
            elif word in ")]};":
                break
            index += 1
        angles.update(dict.fromkeys(opened, -1))


class Brackets(NamedTuple):
    """Tokens with their brackets, and what is wrong with those."""

    tokens: Tokens
    unlike: tuple[tuple[int, frozenset[int]], ...]
    """Lines of conditionals whose branches leave other brackets open, and which these are."""
    problems: tuple[tuple[int, str], ...]


class _Branches:
    """A conditional: how its branches leave the brackets."""

    def __init__(self, directive: Directive, stack: _Stack) -> None:
        self.directive = directive
        self.before = stack
        self.ends: list[_Stack] = []
        self.had_else = False
        self.was_true = False
        self.is_dead = False

    def begin(self, name: str, rest: str) -> None:
        value = True if name == "else" else known(name, rest)
        self.had_else |= name == "else"
        self.is_dead = self.was_true or value is False
        self.was_true |= value is True

    def end(self, stack: _Stack) -> None:
        if not self.is_dead:
            self.ends.append(stack)


class _Matcher:
    def __init__(self, lexed: Lexed) -> None:
        self.lexed = lexed
        self.match = [-1] * len(lexed.words)
        self.stack: _Stack = ()
        self.open: list[_Branches] = []
        self.dead: list[tuple[int, int]] = []
        self.dead_from = -1
        self.directives: list[Directive] = []
        self.conditionals: list[Directive] = []
        self.unlike: list[tuple[int, frozenset[int]]] = []
        self.problems: list[tuple[int, str]] = []

    def run(self) -> Brackets:
        words = self.lexed.words
        at = [index for index, word in enumerate(words) if word in _BRACKETS]
        next_one = 0
        for directive in (*self.lexed.directives, None):
            limit = len(words) if directive is None else directive.before
            first = next_one
            while next_one < len(at) and at[next_one] < limit:
                next_one += 1
            if self.dead_from < 0:
                self._brackets(at[first:next_one])
            if directive is not None:
                self._directive(directive)
        if self.dead_from >= 0:
            self.dead.append((self.dead_from, len(words)))
        for alike in self.stack:
            self._problem(alike[0], f"'{words[alike[0]]}' is never closed")
        return Brackets(self._tokens(), tuple(self.unlike), tuple(sorted(self.problems)))

    def _brackets(self, indices: Sequence[int]) -> None:
        words, match = self.lexed.words, self.match
        stack = list(self.stack)
        for index in indices:
            word = words[index]
            opener = _CLOSERS.get(word)
            if opener is None:
                stack.append((index,))
            elif stack and words[stack[-1][0]] == opener:
                alike = stack.pop()
                match[index] = alike[0]
                for each in alike:
                    match[each] = index
            else:
                self._problem(index, f"'{word}' closes nothing")
        self.stack = tuple(stack)

    def _directive(self, directive: Directive) -> None:
        name = directive.name
        if name not in _CONDITIONAL:
            if self.dead_from < 0:
                self.directives.append(directive)
            return
        self.conditionals.append(directive)
        if name in _BEGIN:
            branches = _Branches(directive, self.stack)
            self.open.append(branches)
            branches.begin(name, directive.rest)
        elif not self.open:
            self._wrong(directive, f"#{name} without #if")
            return
        else:
            branches = self.open[-1]
            branches.end(self.stack)
            self.stack = branches.before
            if name == "endif":
                self.open.pop()
                self._join(branches)
            else:
                branches.begin(name, directive.rest)
        self._live(directive)

    def _live(self, directive: Directive) -> None:
        is_dead = any(branches.is_dead for branches in self.open)
        if is_dead and self.dead_from < 0:
            self.dead_from = directive.before
        elif not is_dead and self.dead_from >= 0:
            self.dead.append((self.dead_from, directive.before))
            self.dead_from = -1

    def _join(self, branches: _Branches) -> None:
        """Go on with one branch's brackets; those of the others are closed with them."""
        ends = branches.ends
        if not branches.was_true:
            ends = [*ends, branches.before]
        changed = [stack for stack in ends if stack != branches.before]
        if not changed or any(outer.is_dead for outer in self.open):
            return
        chosen = changed[0]
        shapes = {self._shape(stack) for stack in ends}
        if len(shapes) > 1:
            common = frozenset(branches.before)
            odd = {one for stack in ends for one in frozenset(stack) ^ common}
            line = self.lexed.line(branches.directive.start)
            self.unlike.append((line, frozenset(index for alike in odd for index in alike)))
        else:
            chosen = tuple(
                tuple(dict.fromkeys(index for alike in level for index in alike))
                for level in zip(*ends, strict=True)
            )
        self.stack = chosen

    def _shape(self, stack: _Stack) -> str:
        return "".join(self.lexed.words[alike[0]] for alike in stack)

    def _problem(self, index: int, words: str) -> None:
        self.problems.append((self.lexed.line(self.lexed.starts[index]), words))

    def _wrong(self, directive: Directive, words: str) -> None:
        self.problems.append((self.lexed.line(directive.start), words))

    def _tokens(self) -> Tokens:
        lexed = self.lexed
        if not self.dead:
            found = (tuple(self.directives), tuple(self.conditionals))
            return Tokens(lexed, lexed.words, lexed.starts, self.match, *found, {})
        places: list[int] = []
        words: list[str] = []
        starts: list[int] = []
        kept: list[int] = []
        done = 0
        for start, end in [*self.dead, (len(lexed.words), len(lexed.words))]:
            places += range(len(kept), len(kept) + start - done)
            places += [len(kept) + start - done] * (end - start)
            kept += range(done, start)
            words += lexed.words[done:start]
            starts += lexed.starts[done:start]
            done = end
        places.append(len(kept))
        match = [places[self.match[index]] if self.match[index] >= 0 else -1 for index in kept]
        directives, conditionals = (
            tuple(one._replace(before=places[one.before]) for one in some)
            for some in (self.directives, self.conditionals)
        )
        self.unlike = [
            (line, frozenset(places[index] for index in odd)) for line, odd in self.unlike
        ]
        return Tokens(lexed, words, starts, match, directives, conditionals, {})


def match_brackets(lexed: Lexed) -> Brackets:
    """Match the brackets of a text's tokens; all branches that may be taken are read.

    Parameters
    ----------
    lexed : Lexed
        The tokens.
    """
    return _Matcher(lexed).run()
