"""Makes CUDA source readable for a C++ grammar, line for line: what `scan` parses.

Comments, string contents and branches that NVRTC never sees become blanks; attributes that the
grammar stumbles over become blanks; macros that hide a kernel, a launch or a qualifier are
expanded in place. Every construct stays on its line.
"""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["Include", "Prepared", "code_alone", "prepare"]


class Include(NamedTuple):
    """An ``#include``: the path as written and its line, from 1."""

    path: str
    line: int


class Prepared(NamedTuple):
    """Source text to parse, and the includes that were in it."""

    text: str
    includes: tuple[Include, ...]


class _Macro(NamedTuple):
    parameters: tuple[str, ...] | None
    body: str


_COMMENT = r"//(?:[^\n\\]+|\\\n|\\)*|/\*.*?(?:\*/|\Z)"
_STRING = r'"(?:\\.|[^"\\\n])*"'
_LEX = re.compile(
    rf"(?P<comment>{_COMMENT})"
    r'|(?P<raw>(?:u8|[uUL])?R"(?P<delimiter>[^()\s\\"]{0,16})\(.*?\)(?P=delimiter)")'
    # The look-behind tells a character from the digit separators of 1'000'000.
    rf"|(?P<string>{_STRING}|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+')"
    rf"|(?P<directive>^[ \t]*\#(?:\\\n|/\*.*?\*/|{_STRING}|[^\n])*)",
    re.DOTALL | re.MULTILINE,
)
_COMMENT_RE = re.compile(_COMMENT, re.DOTALL)
_DIRECTIVE = re.compile(r"\s*#\s*(\w+)\s*(.*)", re.DOTALL)
_INCLUDE = re.compile(r'[<"]([^>"]+)[>"]')
_DEFINE = re.compile(r"(\w+)(?:\(([^)]*)\))?\s*(.*)", re.DOTALL)
_CONDITION = re.compile(r"(!?)\s*defined\s*\(?\s*(\w+)\s*\)?\Z")
_NOT_NEWLINE = re.compile(r"[^\n]+")

# NVRTC defines it, so what is inside `#ifndef __CUDACC_RTC__` is no part of a device source.
_DEFINED = {"__CUDACC_RTC__"}
# A macro with one of these in its body changes what a declaration or a statement is.
_TELLING = re.compile(
    r"__(?:global|device|host|launch_bounds|cluster_dims|block_size|maxnreg|constant|shared"
    r"|managed|grid_constant|forceinline|noinline|restrict|align)__|__restrict\b"
    r'|<<<|\bextern\s*"C|\bTVM_FFI_|\btvm\s*::\s*ffi\b'
)
_WITH_ARGUMENTS = (
    "__launch_bounds__|__cluster_dims__|__block_size__|__maxnreg__|__align__|alignas"
    "|__attribute__|__declspec|_Pragma"
)
_ATTRIBUTE = re.compile(
    rf"\b(?:(?P<call>{_WITH_ARGUMENTS})|__restrict__|__restrict|__grid_constant__"
    r"|(?P<inline>__forceinline__|__forceinline|__inline__|__inline)|__noinline__|__inline_hint__"
    r"|__nv_pure__|__extension__)\b"
)
_OPENING = re.compile(r"\s*\(")
_PARENTHESIS = re.compile(r"[()]")
_MAX_ROUNDS = 8
_MAX_GROWTH = 1 << 20


def _blank(text: str) -> str:
    return _NOT_NEWLINE.sub(lambda match: " " * len(match[0]), text)


def prepare(source: str) -> Prepared:
    """Return the text to parse; it has as many lines as `source`."""
    source = source.replace("\r\n", "\n")
    stripper = _Stripper(source)
    text = _expand(stripper.run(), stripper.macros)
    return Prepared(_blank_attributes(text), tuple(stripper.includes))


def code_alone(source: str) -> str:
    """Return a source with all that is no code blanked; every character stays where it is."""
    stripped = _Stripper(source.replace("\r\n", "\n")).run().split("\n")
    lines = zip(source.split("\n"), stripped, strict=True)
    return "\n".join(code.ljust(len(line)) for line, code in lines)


class _Stripper:
    """One pass over comments, literals and directives."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.macros: dict[str, _Macro] = {}
        self.includes: list[Include] = []
        # One entry for each open conditional: its known value (None: unknown), whether the
        # current branch counts, and whether everything around it does.
        self.open: list[tuple[bool | None, bool, bool]] = []

    def run(self) -> str:
        pieces: list[str] = []
        position = 0
        for match in _LEX.finditer(self.source):
            pieces.append(self._code(self.source[position : match.start()]))
            position = match.end()
            text = match[0]
            if match.lastgroup == "directive":
                pieces.append(self._directive(text, match.start()))
            elif match["string"] and text not in ('"C"', '"C++"'):
                pieces.append(self._code(text[0] + _blank(text[1:-1]) + text[-1]))
            elif match["string"]:
                pieces.append(self._code(text))
            elif match["raw"]:
                pieces.append(self._code('"' + _blank(text[1:-1]) + '"'))
            else:
                pieces.append(_blank(text))
        pieces.append(self._code(self.source[position:]))
        return "".join(pieces)

    @property
    def active(self) -> bool:
        return not self.open or (self.open[-1][1] and self.open[-1][2])

    def _code(self, text: str) -> str:
        return text if self.active else _blank(text)

    def _directive(self, text: str, start: int) -> str:
        match = _DIRECTIVE.match(_COMMENT_RE.sub(" ", text.replace("\\\n", " ")))
        if match is None:
            return _blank(text)
        word, rest = match[1], match[2].strip()
        if word in ("if", "ifdef", "ifndef", "elif", "else", "endif"):
            return self._conditional(text, word, rest)
        if not self.active:
            return _blank(text)
        if word == "include" and (include := _INCLUDE.match(rest)):
            line = self.source.count("\n", 0, start) + 1
            self.includes.append(Include(include[1], line))
        elif word == "define" and (define := _DEFINE.match(rest)):
            self._define(define[1], define[2], define[3])
        return _blank(text)

    def _define(self, name: str, parameters: str | None, body: str) -> None:
        names = None
        if parameters is not None:
            names = tuple(parameter.strip() for parameter in parameters.split(","))
        # Of conditional variants the one with a qualifier counts, if any has one.
        if name not in self.macros or _TELLING.search(body):
            self.macros[name] = _Macro(names if names != ("",) else (), body)

    def _conditional(self, text: str, word: str, rest: str) -> str:
        if word in ("if", "ifdef", "ifndef"):
            around = self.active
            value = _evaluate(word, rest)
            self.open.append((value, value is not False, around))
        elif not self.open:
            return _blank(text)
        elif word == "endif":
            value, _, around = self.open.pop()
        else:
            value, _, around = self.open[-1]
            this = _evaluate("if", rest) if word == "elif" and not value else None
            if value is False and this:
                self.open[-1] = (True, True, around)
            else:
                self.open[-1] = (value, value is not True and this is not False, around)
        # A conditional whose outcome is known is no conditional any more.
        return text if value is None and around else _blank(text)


def _evaluate(word: str, rest: str) -> bool | None:
    """Return what a preprocessor condition comes to under NVRTC, None where that is open."""
    if word != "if":
        rest = f"defined({rest})"
    if rest in ("0", "false"):
        return False
    if rest in ("1", "true"):
        return True
    match = _CONDITION.match(rest)
    if match is None or match[2] not in _DEFINED:
        return None
    return (match[1] == "!") == (word == "ifndef")


def _closing(text: str, start: int) -> int:
    """Return the index behind the parenthesis that closes the one at `start`, -1 if none does."""
    depth = 0
    for match in _PARENTHESIS.finditer(text, start):
        depth += 1 if match[0] == "(" else -1
        if depth == 0:
            return match.end()
    return -1


def _blank_attributes(text: str) -> str:
    pieces: list[str] = []
    position = 0
    for match in _ATTRIBUTE.finditer(text):
        if match.start() < position:
            continue
        end = match.end()
        if match["call"]:
            opening = _OPENING.match(text, end)
            closing = _closing(text, opening.end() - 1) if opening else -1
            end = closing if closing > 0 else end
        blank = _blank(text[match.start() : end])
        # It decides who else can refer to a function.
        blank = "inline".ljust(len(blank)) if match["inline"] else blank
        pieces += [text[position : match.start()], blank]
        position = end
    return "".join([*pieces, text[position:]])


def _telling(macros: dict[str, _Macro]) -> dict[str, _Macro]:
    """Return the macros that matter: with a telling body, or using another that matters."""
    found = {name: macro for name, macro in macros.items() if _TELLING.search(macro.body)}
    words = {name: set(re.findall(r"\w+", macro.body)) for name, macro in macros.items()}
    while True:
        more = {
            name: macro
            for name, macro in macros.items()
            if name not in found and not words[name].isdisjoint(found)
        }
        if not more:
            return found
        found |= more


def _expand(text: str, macros: dict[str, _Macro]) -> str:
    telling = _telling(macros)
    if not telling:
        return text
    pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, telling))})\b")
    limit = len(text) + _MAX_GROWTH
    for _ in range(_MAX_ROUNDS):
        expanded = _expand_once(text, telling, pattern)
        if expanded == text or len(expanded) > limit:
            break
        text = expanded
    return text


def _expand_once(text: str, macros: dict[str, _Macro], pattern: re.Pattern[str]) -> str:
    pieces: list[str] = []
    position = 0
    for match in pattern.finditer(text):
        if match.start() < position:
            continue
        macro = macros[match[0]]
        end = match.end()
        body = macro.body
        if macro.parameters is not None:
            opening = _OPENING.match(text, end)
            closing = _closing(text, opening.end() - 1) if opening else -1
            if opening is None or closing < 0:
                continue
            body = _substitute(macro, text[opening.end() : closing - 1])
            end = closing
        newlines = "\n" * text.count("\n", match.start(), end)
        pieces += [text[position : match.start()], body.replace("\n", " "), newlines]
        position = end
    return "".join([*pieces, text[position:]])


def _substitute(macro: _Macro, arguments: str) -> str:
    values: list[str] = []
    depth = start = 0
    for match in re.finditer(r"[()\[\]{},]", arguments):
        if match[0] == "," and depth == 0:
            values.append(arguments[start : match.start()].strip())
            start = match.end()
        elif match[0] != ",":
            depth += 1 if match[0] in "([{" else -1
    values.append(arguments[start:].strip())
    names = macro.parameters or ()
    if names and names[-1] == "...":
        count = len(names) - 1
        values[count:] = [", ".join(values[count:])]
        names = (*names[:-1], "__VA_ARGS__")
    given = dict(zip(names, values, strict=False))
    body = re.sub(r"(?<!#)#\s*(\w+)", lambda match: f'"{match[1]}"', macro.body)
    body = re.sub(r"\w+", lambda match: given.get(match[0], match[0]), body)
    return re.sub(r"\s*##\s*", "", body)
