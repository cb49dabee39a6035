"""`read_raw`: the tokens of a text that no preprocessor has seen.

Only a compiler could preprocess it, so branches are left out where their condition is plain, and
macros are expanded that the text defines itself and that make a kernel, a launch or a qualifier.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .tokens import Token, Tokens, lex

# How many tokens expansions may add, and how far one may lead into another.
_MOST = 1 << 18
_DEEPEST = 20

# Compiled where they are used, which is by few sources.
_CONTINUED = r"\\\r?\n"
_COMMENT = r'(?s)"(?:[^"\\]|\\.)*"|//.*|/\*.*?(?:\*/|\Z)'
_DIRECTIVE = r"(?s)\s*#\s*(\w+)\s*(.*)"
_INCLUDE = r'[<"]([^>"]+)[>"]'
_DEFINE = r"(?s)(\w+)(?:\(([^)]*)\))?\s*(.*)"
_CONDITION = r"(!?)\s*defined\s*\(?\s*(\w+)\s*\)?\Z"
_CONDITIONALS = ("if", "ifdef", "ifndef", "elif", "elifdef", "elifndef", "else", "endif")
_BRACKETS = {"(": (0, 1), ")": (0, -1), "[": (1, 1), "]": (1, -1), "{": (2, 1), "}": (2, -1)}

# NVRTC defines it, so what is inside `#ifndef __CUDACC_RTC__` is no part of a device source.
_DEFINED = "__CUDACC_RTC__"

# A macro with one of these in its body changes what a declaration or a statement is.
_TELLING = (
    r"__(?:global|device|host|launch_bounds|cluster_dims|block_size|maxnreg|constant|shared"
    r"|managed|grid_constant|forceinline|noinline|restrict|align)__|__restrict\b"
    r'|<<<|\bextern\s*"C|\bTVM_FFI_|\btvm\s*::\s*ffi\b'
)
_IN_BODY = r'"(?:[^"\\]|\\.)*"|(?P<quoted>(?<!#)#(?!#)\s*\w+)|\s*##\s*|[A-Za-z_]\w*'
_NAME = r"[A-Za-z_]\w*"


class _Macro(NamedTuple):
    names: tuple[str, ...] | None  # of parameters, where it takes any
    body: str


class _Conditional:
    """A conditional that is open, and the branch of it that is read."""

    def __init__(self, *, is_around_live: bool) -> None:
        self.is_around_live = is_around_live
        self.is_chosen = False  # no further branch is compiled
        self.is_live = False
        self.first = 0  # token of the branch
        self.before: tuple[int, ...] = (0, 0, 0)  # brackets that are open before it
        self.branches: list[tuple[int, int, tuple[int, ...]]] = []


def read_raw(source: str) -> tuple[Tokens, list[str]]:
    """Return the tokens of a text, and the paths that it includes as written.

    Where the branches of a conditional leave different brackets open, one branch counts. Directives
    of conditionals are tokens, too.
    """
    reader = _Reader()
    found, place = lex(source), 0
    for number, token in enumerate(found):
        if token[0] == "line":
            reader.add(found[place:number])
            reader.directive(token)
            place = number + 1
    reader.add(found[place:])
    while reader.open:
        reader.end()
    tokens = reader.tokens
    telling = _telling(reader.macros)
    if telling:
        tokens = _Expander(telling).run(tokens, frozenset())
    return Tokens(source, tokens), reader.includes


class _Reader:
    def __init__(self) -> None:
        self.tokens: list[Token] = []
        self.macros: dict[str, _Macro] = {}
        self.includes: list[str] = []
        self.open: list[_Conditional] = []
        self.brackets = [0, 0, 0]

    def add(self, tokens: Sequence[Token]) -> None:
        """Add tokens without a directive."""
        if self.open and not self.open[-1].is_live:
            return
        self.tokens += tokens
        for _, text, *_ in tokens if self.open else ():
            if text in _BRACKETS:
                index, change = _BRACKETS[text]
                self.brackets[index] += change

    def directive(self, token: Token) -> None:
        """Follow a directive."""
        text = re.sub(_COMMENT, _no_comment, re.sub(_CONTINUED, " ", token[1]))
        match = re.match(_DIRECTIVE, text)
        if match is None:
            return
        word, rest = match[1], match[2].strip()
        if word in _CONDITIONALS:
            self._conditional(word, rest)
            if not self.open or self.open[-1].is_around_live:
                self.tokens.append(token)
        elif self.open and not self.open[-1].is_live:
            return
        elif word == "include" and (include := re.match(_INCLUDE, rest)):
            self.includes.append(include[1])
        elif word == "define" and (define := re.match(_DEFINE, rest)):
            self._define(*define.groups())

    def _define(self, name: str, listed: str | None, body: str) -> None:
        # Of conditional variants the one with a qualifier counts, if any has one.
        if name not in self.macros or re.search(_TELLING, body):
            names = None if listed is None else tuple(x.strip() for x in listed.split(","))
            self.macros[name] = _Macro(() if names == ("",) else names, body)

    def _conditional(self, word: str, rest: str) -> None:
        if word in ("if", "ifdef", "ifndef"):
            is_live = not self.open or self.open[-1].is_live
            self.open.append(_Conditional(is_around_live=is_live))
        elif not self.open:
            return
        elif word == "endif":
            self.end()
            return
        else:
            self._end_branch()
        this = self.open[-1]
        value = True if word == "else" else _evaluate(word.removeprefix("el"), rest)
        this.is_live = this.is_around_live and not this.is_chosen and value is not False
        this.is_chosen = this.is_chosen or value is True
        this.first, this.before = len(self.tokens), tuple(self.brackets)

    def _end_branch(self) -> None:
        this = self.open[-1]
        if this.is_live:
            change = tuple(b - a for a, b in zip(this.before, self.brackets, strict=True))
            this.branches.append((this.first, len(self.tokens), change))
            self.brackets = [*this.before]

    def end(self) -> None:
        """Close the last conditional; go on with the brackets of one branch."""
        self._end_branch()
        branches = self.open.pop().branches
        changed = next((branch for branch in branches if any(branch[2])), None)
        if changed is not None:
            for branch in reversed(branches):
                if branch is not changed:
                    del self.tokens[branch[0] : branch[1]]
            self.brackets = [a + b for a, b in zip(self.brackets, changed[2], strict=True)]


def _no_comment(match: re.Match[str]) -> str:
    return " " if match[0][0] == "/" else match[0]


def _evaluate(word: str, rest: str) -> bool | None:
    """Return what a preprocessor condition comes to under NVRTC, None where that is not known."""
    if word != "if":
        rest = f"defined({rest})"
    if rest in ("0", "false", "1", "true"):
        return rest in ("1", "true")
    match = re.match(_CONDITION, rest)
    if match is None or match[2] != _DEFINED:
        return None
    return (match[1] == "!") == (word == "ifndef")


def _telling(macros: Mapping[str, _Macro]) -> dict[str, _Macro]:
    """Return the macros that matter: with a telling body, or using another that matters."""
    found = {name: macro for name, macro in macros.items() if re.search(_TELLING, macro.body)}
    if not found:
        return found
    users: dict[str, list[str]] = {}
    for name, macro in macros.items():
        for word in re.findall(_NAME, macro.body):
            users.setdefault(word, []).append(name)
    work = [*found]
    while work:
        for name in users.get(work.pop(), ()):
            if name not in found:
                found[name] = macros[name]
                work.append(name)
    return found


class _Expander:
    def __init__(self, macros: Mapping[str, _Macro]) -> None:
        self.macros = macros
        self.left = _MOST

    def run(self, tokens: Sequence[Token], hidden: frozenset[str]) -> list[Token]:
        made: list[Token] = []
        at = 0
        while at < len(tokens):
            token = tokens[at]
            at += 1
            name = token[1]
            if name not in self.macros or name in hidden or self.left < 0 or len(hidden) > _DEEPEST:
                made.append(token)
                continue
            names, body = self.macros[name]
            given: list[str] = []
            if names is not None:
                found = self._arguments(tokens, at)
                if found is None:
                    made.append(token)
                    continue
                given, at = found
            place = token[2]
            inner = lex(_substitute(names or (), body, given))
            self.left -= len(inner) + 1
            made += self.run([(*x[:2], place, place) for x in inner], hidden | {name})
        return made

    def _arguments(self, tokens: Sequence[Token], at: int) -> tuple[list[str], int] | None:
        """Return the arguments in the bracket that opens here, and the number of what follows."""
        values: list[list[str]] = [[]]
        depth = 0
        for number in range(at, len(tokens)):
            text = tokens[number][1]
            change = _BRACKETS.get(text, (0, 0))[1]
            if number == at and text != "(":
                return None
            depth += change
            if depth == 0:
                return [" ".join(value) for value in values], number + 1
            if text == "," and depth == 1:
                values.append([])
            elif number > at:
                values[-1].append(text)
        self.left -= len(tokens) - at
        return None


def _substitute(names: tuple[str, ...], body: str, values: list[str]) -> str:
    if names and names[-1] == "...":
        count = len(names) - 1
        values = [*values[:count], ", ".join(values[count:])]
        names = (*names[:-1], "__VA_ARGS__")
    given = dict(zip(names, values, strict=False))

    def replaced(match: re.Match[str]) -> str:
        if match["quoted"]:
            return '""'
        return "" if match[0].strip() == "##" else given.get(match[0], match[0])

    return re.sub(_IN_BODY, replaced, body)
