"""`read_raw`: the tokens of a text that is not preprocessed.

Only a compiler could preprocess it fully. This drops only branches whose condition is plain, and
expands only the text's own macros that make a kernel, a launch or a qualifier.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .tokens import Token, Tokens, lex

# Compiled on use: few sources need them.
_CONTINUED = r"\\\r?\n"
_COMMENT = r'(?s)"(?:[^"\\]|\\.)*"|//.*|/\*.*?(?:\*/|\Z)'
_DIRECTIVE = r"(?s)#\s*(\w*)\s*(.*)"
_INCLUDE = r'[<"]([^>"]+)[>"]'
_DEFINE = r"(?s)(\w+)(?:\(([^)]*)\))?\s*(.*)"
# NVRTC defines it, so code inside `#ifndef __CUDACC_RTC__` is not part of a device source.
_CONDITION = r"(!?)\s*defined\s*\(?\s*__CUDACC_RTC__\s*\)?\Z"
_BRACKETS = {"(": 1, "[": 1, "[[": 2, "{": 1, ")": -1, "]": -1, "}": -1}

# A macro with one of these in its body changes the meaning of a declaration or statement.
_TELLING = (
    r"__(?:global|device|host|launch_bounds|cluster_dims|block_size|maxnreg|constant|shared"
    r"|managed|grid_constant|forceinline|noinline|restrict|align)__|__restrict\b"
    r'|<<\s*<|\bextern\s*"C|\bTVM_FFI_|\btvm\s*::\s*ffi\b'
)
_IN_BODY = r'"(?:[^"\\]|\\.)*"|\s*##\s*|[A-Za-z_]\w*'


class _Macro(NamedTuple):
    names: tuple[str, ...] | None  # of parameters, if it takes any
    body: str


class _Conditional:
    """An open conditional, and its current branch."""

    def __init__(self, *, is_around_live: bool) -> None:
        self.is_around_live = is_around_live
        self.is_chosen = False  # no further branch is compiled
        self.is_live = False
        self.first = 0  # the branch's first token
        self.has_brackets = False  # a branch left some unbalanced


def read_raw(source: str) -> tuple[Tokens, list[str]]:
    """Return the tokens of a text without directives, and its include paths as written.

    Of the branches of a conditional that leave brackets unbalanced, only the first counts.
    """
    reader, is_live = _Reader(), True
    for token in lex(source):
        if token[0] == "line":
            reader.directive(token[1])
            is_live = reader.is_live
        elif is_live:
            reader.tokens.append(token)
    macros = _telling(reader.macros)
    tokens = _expanded(reader.tokens, macros) if macros else reader.tokens
    return Tokens(tokens), reader.includes


class _Reader:
    def __init__(self) -> None:
        self.tokens: list[Token] = []
        self.macros: dict[str, _Macro] = {}
        self.includes: list[str] = []
        self.open: list[_Conditional] = []

    @property
    def is_live(self) -> bool:
        return not self.open or self.open[-1].is_live

    def directive(self, text: str) -> None:
        text = re.sub(_CONTINUED, " ", text)
        text = re.sub(_COMMENT, lambda match: " " if match[0][0] == "/" else match[0], text)
        word, rest = re.findall(_DIRECTIVE, text.rstrip())[0]
        if word in ("if", "ifdef", "ifndef"):
            self.open.append(_Conditional(is_around_live=self.is_live))
            self._branch(_evaluate(word, rest))
        elif self.open and word == "endif":
            self.end_branch(self.open.pop())
        elif self.open and word in ("elif", "elifdef", "elifndef", "else"):
            self.end_branch(self.open[-1])
            self._branch(word == "else" or _evaluate(word[2:], rest))
        elif self.is_live and word == "include" and (include := re.match(_INCLUDE, rest)):
            self.includes.append(include[1])
        elif self.is_live and word == "define" and (define := re.match(_DEFINE, rest)):
            name, listed, body = define.groups()
            # Of conditional variants, the one with a qualifier counts, if there is one.
            if name not in self.macros or re.search(_TELLING, body):
                names = None if listed is None else tuple(re.findall(r"[\w.]+", listed))
                self.macros[name] = _Macro(names, body)

    def _branch(self, value: bool | None) -> None:
        this = self.open[-1]
        this.is_live = this.is_around_live and not this.is_chosen and value is not False
        this.is_chosen = this.is_chosen or value is True
        this.first = len(self.tokens)

    def end_branch(self, this: _Conditional) -> None:
        """Drop the last branch if it and an earlier one leave brackets unbalanced."""
        if sum(_BRACKETS.get(text, 0) for _, text, *_ in self.tokens[this.first :]):
            if this.has_brackets:
                del self.tokens[this.first :]
            this.has_brackets = True


def _evaluate(word: str, rest: str) -> bool | None:
    """Return the value of a preprocessor condition under NVRTC, None if it is unknown."""
    if rest in ("0", "false", "1", "true"):
        return rest in ("1", "true")
    match = re.match(_CONDITION, rest if word == "if" else f"defined({rest})")
    return None if match is None else (match[1] == "!") == (word == "ifndef")


def _telling(macros: Mapping[str, _Macro]) -> dict[str, _Macro]:
    """Return the macros that matter: those with a telling body, or that use one that matters."""
    found: dict[str, _Macro] = {}
    pattern = _TELLING
    while new := {x: y for x, y in macros.items() if x not in found and re.search(pattern, y.body)}:
        found |= new
        pattern = rf"\b(?:{'|'.join(new)})\b"
    return found


def _expanded(tokens: Sequence[Token], macros: Mapping[str, _Macro]) -> list[Token]:
    made: list[Token] = []
    at = 0
    while at < len(tokens):
        _, name, place, _ = token = tokens[at]
        at += 1
        macro, values, end = macros.get(name), [""], at
        if macro is not None and macro.names is not None:
            values, end = _arguments(tokens, at)
            macro = macro if end > at else None
        if macro is None:
            made.append(token)
            continue
        inner = [(*x[:2], place, place) for x in lex(_substitute(macro, values))]
        made += _expanded(inner, {x: y for x, y in macros.items() if x != name})
        at = end
    return made


def _arguments(tokens: Sequence[Token], at: int) -> tuple[list[str], int]:
    """Return the arguments in parentheses, and the next token's number; `at` if there are none."""
    values, depth = [""], 0
    for number in range(at, len(tokens)):
        text = tokens[number][1]
        depth += _BRACKETS.get(text, 0)
        if number == at and text != "(":
            break
        if depth == 0:
            return values, number + 1
        if text == "," and depth == 1:
            values.append("")
        elif number > at:
            values[-1] += f" {text}"
    return [], at


def _substitute(macro: _Macro, values: list[str]) -> str:
    names = [x.replace("...", "__VA_ARGS__") for x in macro.names or ()]
    rest = max(len(names) - 1, 0)  # the last parameter takes the rest
    values = [*map(str.strip, values[:rest]), ",".join(values[rest:]).strip()]
    given = dict(zip(names, values, strict=False))
    return re.sub(
        _IN_BODY,
        lambda match: "" if match[0].strip() == "##" else given.get(match[0], match[0]),
        macro.body,
    )
