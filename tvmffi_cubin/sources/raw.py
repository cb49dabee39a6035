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
_BRACKETS = {"(": 1, "[": 1, "[[": 2, "{": 1, ")": -1, "]": -1, "}": -1}

# NVRTC defines it, so what is inside `#ifndef __CUDACC_RTC__` is not part of a device source.
_DEFINED = "__CUDACC_RTC__"

# A macro with one of these in its body changes what a declaration or a statement is.
_TELLING = (
    r"__(?:global|device|host|launch_bounds|cluster_dims|block_size|maxnreg|constant|shared"
    r"|managed|grid_constant|forceinline|noinline|restrict|align)__|__restrict\b"
    r'|<<<|\bextern\s*"C|\bTVM_FFI_|\btvm\s*::\s*ffi\b'
)
_IN_BODY = r'"(?:[^"\\]|\\.)*"|(?P<quoted>(?<!#)#(?!#)\s*\w+)|\s*##\s*|[A-Za-z_]\w*'


class _Macro(NamedTuple):
    names: tuple[str, ...] | None  # of parameters, where it takes any
    body: str


class _Conditional:
    """A conditional that is open, and the branch of it that is read."""

    def __init__(self, depth: int, *, is_around_live: bool) -> None:
        self.is_around_live = is_around_live
        self.is_chosen = False  # no further branch is compiled
        self.is_live = False
        self.first = 0  # token of the branch
        self.before = depth  # brackets that are open before it
        self.after = depth  # and behind it, as the first branch says that changes it


def read_raw(source: str) -> tuple[Tokens, list[str]]:
    """Return the tokens of a text, and the paths that it includes as written.

    Of the branches of a conditional that leave brackets open, the first counts. Directives of
    conditionals are tokens, too.
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
        reader.end_branch()
        reader.open.pop()
    expander = _Expander(_telling(reader.macros))
    tokens = expander.run(reader.tokens, frozenset()) if expander.macros else reader.tokens
    return Tokens(source, tokens), reader.includes


class _Reader:
    def __init__(self) -> None:
        self.tokens: list[Token] = []
        self.macros: dict[str, _Macro] = {}
        self.includes: list[str] = []
        self.open: list[_Conditional] = []
        self.depth = 0  # of brackets

    @property
    def is_live(self) -> bool:
        """Whether what comes is read."""
        return not self.open or self.open[-1].is_live

    def add(self, tokens: Sequence[Token]) -> None:
        """Add tokens without a directive."""
        if self.is_live:
            self.tokens += tokens
            if self.open:
                self.depth += sum(_BRACKETS.get(text, 0) for _, text, *_ in tokens)

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
        elif not self.is_live:
            return
        elif word == "include" and (include := re.match(_INCLUDE, rest)):
            self.includes.append(include[1])
        elif word == "define" and (define := re.match(_DEFINE, rest)):
            name, listed, body = define.groups()
            # Of conditional variants the one with a qualifier counts, if any has one.
            if name not in self.macros or re.search(_TELLING, body):
                names = None if listed is None else tuple(x.strip() for x in listed.split(","))
                self.macros[name] = _Macro(() if names == ("",) else names, body)

    def _conditional(self, word: str, rest: str) -> None:
        if word in ("if", "ifdef", "ifndef"):
            self.open.append(_Conditional(self.depth, is_around_live=self.is_live))
        elif not self.open:
            return
        else:
            self.end_branch()
        this = self.open[-1]
        if word == "endif":
            self.depth = self.open.pop().after
            return
        value = True if word == "else" else _evaluate(word.removeprefix("el"), rest)
        this.is_live = this.is_around_live and not this.is_chosen and value is not False
        this.is_chosen = this.is_chosen or value is True
        this.first = len(self.tokens)

    def end_branch(self) -> None:
        """Leave out the last branch where another before it has opened or closed brackets."""
        this = self.open[-1]
        if this.is_live and self.depth != this.before:
            if this.after != this.before:
                del self.tokens[this.first :]
            else:
                this.after = self.depth
        self.depth = this.before


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
    users: dict[str, list[str]] = {}
    for name, macro in macros.items() if found else ():
        for word in re.findall(r"[A-Za-z_]\w*", macro.body):
            users.setdefault(word, []).append(name)
    work = [*found]
    while work:
        new = [name for name in users.get(work.pop(), ()) if name not in found]
        found.update((name, macros[name]) for name in new)
        work += new
    return found


class _Expander:
    def __init__(self, macros: Mapping[str, _Macro]) -> None:
        self.macros = macros
        self.left = _MOST

    def run(self, tokens: Sequence[Token], hidden: frozenset[str]) -> list[Token]:
        """Return tokens with macros expanded, but for those that are `hidden`."""
        made: list[Token] = []
        at = 0
        while at < len(tokens):
            _, name, place, _ = token = tokens[at]
            at += 1
            macro = None if name in hidden or len(hidden) > _DEEPEST else self.macros.get(name)
            found = None
            if macro is not None and self.left >= 0:
                found = ([], at) if macro.names is None else self._arguments(tokens, at)
            if macro is None or found is None:
                made.append(token)
                continue
            values, at = found
            inner = lex(_substitute(macro, values))
            self.left -= len(inner) + 1
            made += self.run([(*x[:2], place, place) for x in inner], hidden | {name})
        return made

    def _arguments(self, tokens: Sequence[Token], at: int) -> tuple[list[str], int] | None:
        """Return the arguments in parentheses, and the number of what follows."""
        values: list[list[str]] = [[]]
        depth = 0
        for number in range(at, len(tokens)):
            text = tokens[number][1]
            if number == at and text != "(":
                return None
            depth += _BRACKETS.get(text, 0)
            if depth == 0:
                return [" ".join(value) for value in values], number + 1
            if text == "," and depth == 1:
                values.append([])
            elif number > at:
                values[-1].append(text)
        self.left -= len(tokens) - at
        return None


def _substitute(macro: _Macro, values: list[str]) -> str:
    names = macro.names or ()
    if names and names[-1] == "...":
        count = len(names) - 1
        values = [*values[:count], ", ".join(values[count:])]
        names = (*names[:-1], "__VA_ARGS__")
    given = dict(zip(names, values, strict=False))

    def replaced(match: re.Match[str]) -> str:
        if match["quoted"]:
            return '""'
        return "" if match[0].strip() == "##" else given.get(match[0], match[0])

    return re.sub(_IN_BODY, replaced, macro.body)
