"""`Code`: a CUDA text without comments, literals and directives, every character in its place."""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate

from .facts import Use

Macro = tuple[tuple[str, ...] | None, str]
"""What a ``#define`` says: the names of parameters, where it takes any, and the body."""


class Code:
    """What is left of a source.

    Branches that NVRTC never sees are blank. Where the branches of a conditional leave different
    brackets open, all but one are.

    Attributes
    ----------
    text : str
        As long as the source is.
    includes : tuple of Use
        Paths as written.
    macros : dict of str to Macro
        By their names.
    conditionals : tuple of int
        Where the directives of conditionals are whose branches are read.
    """

    def __init__(
        self, text: str, includes: list[Use], macros: dict[str, Macro], conditionals: list[int]
    ) -> None:
        self.text = text
        self.includes = tuple(includes)
        self.macros = macros
        self.conditionals = tuple(conditionals)


# Each alternative begins with a character, so that the search skips what is before it; none can
# fail behind an opening mark, so that no text is read twice.
_LINE_COMMENT = r"/(?:[^\n\\]+|\\\r?\n|\\)*"
_BLOCK_COMMENT = r"\*.*?(?:\*/|\Z)"
_STRING = r'"(?:\\(?:\r\n|.)|[^"\\\n])*"?'
_PIECE = re.compile(
    rf"/(?P<comment>{_LINE_COMMENT}|{_BLOCK_COMMENT})"
    r'|"(?P<raw>(?:(?<=\bR")|(?<=\b[uUL]R")|(?<=\bu8R"))'
    r'(?P<mark>[^()\s\\"]{0,16})\(.*?(?:\)(?P=mark)"|\Z))'
    rf'|"(?P<string>{_STRING[1:]})'
    # What is before it tells a character from the digit separators of 1'000'000.
    r"|'(?P<character>(?:(?<!\w')|(?<=\b[uUL]')|(?<=\bu8'))(?:\\.|[^'\\\n])*'?)"
    rf"|\#(?P<directive>(?:[^\n\\/\"]+|\\\r?\n|/{_LINE_COMMENT}|/{_BLOCK_COMMENT}|{_STRING}|[^\n])*)",
    re.DOTALL,
)
_COMMENT = re.compile(rf"{_STRING}|/{_LINE_COMMENT}|/{_BLOCK_COMMENT}", re.DOTALL)
_LITERAL = re.compile(rf"{_STRING}|(?<!\w)'(?:\\.|[^'\\\n])*'?", re.DOTALL)
_CONTINUED = re.compile(r"\\\r?\n")
_DIRECTIVE = re.compile(r"#\s*(\w+)\s*(.*)", re.DOTALL)
_INCLUDE = re.compile(r'[<"]([^>"]+)[>"]')
_DEFINE = re.compile(r"(\w+)(?:\(([^)]*)\))?\s*(.*)", re.DOTALL)
_CONDITION = re.compile(r"(!?)\s*defined\s*\(?\s*(\w+)\s*\)?\Z")
_VISIBLE = re.compile(r"[^\n]")
_LINKAGES = ('"C"', '"C++"')

# NVRTC defines it, so what is inside `#ifndef __CUDACC_RTC__` is no part of a device source.
_DEFINED = "__CUDACC_RTC__"

# A macro with one of these in its body changes what a declaration or a statement is.
TELLING = re.compile(
    r"__(?:global|device|host|launch_bounds|cluster_dims|block_size|maxnreg|constant|shared"
    r"|managed|grid_constant|forceinline|noinline|restrict|align)__|__restrict\b"
    r'|<<<|\bextern\s*"C|\bTVM_FFI_|\btvm\s*::\s*ffi\b'
)


def code_of(source: str) -> Code:
    """Return the code of a source."""
    return _Stripper(source).run()


def line_starts(text: str) -> list[int]:
    """Return the offsets at which the lines of a text begin."""
    return [*accumulate((len(line) + 1 for line in text.split("\n")), initial=0)]


def blank(text: str) -> str:
    """Return spaces and line ends in place of a text."""
    return _VISIBLE.sub(" ", text) if "\n" in text else " " * len(text)


class _Conditional:
    """A conditional that is open, and how each of its branches changes the brackets."""

    def __init__(self, start: int, value: bool | None, *, is_around_live: bool) -> None:
        self.start = start  # of the current branch
        self.value = value  # None: that is open
        self.is_around_live = is_around_live
        self.is_live = is_around_live and value is not False
        self.change = [0, 0, 0]
        self.branches: list[tuple[int, int, list[int]]] = []

    def end_branch(self, end: int) -> None:
        if self.is_live:
            self.branches.append((self.start, end, self.change))
        self.change = [0, 0, 0]


class _Stripper:
    """One pass over comments, literals and directives."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.lines: list[int] = []
        self.pieces: list[str] = []
        self.counted = 0  # pieces whose brackets are
        self.macros: dict[str, Macro] = {}
        self.includes: list[Use] = []
        self.conditionals: list[int] = []
        self.dropped: list[tuple[int, int]] = []
        self.open: list[_Conditional] = []

    def run(self) -> Code:
        source, pieces, place = self.source, self.pieces, 0
        for match in _PIECE.finditer(source):
            start, end = match.span()
            pieces.append(source[place:start])
            text, place = match[0], end
            if match.lastgroup == "directive":
                self._directive(text, start)
                pieces.append(blank(text))
            elif match.lastgroup == "comment":
                pieces.append(blank(text))
            else:
                pieces.append(_no_literal(text))
        pieces.append(source[place:])
        while self.open:
            self._end(len(source))
        text = self._without_dropped("".join(pieces))
        return Code(text, self.includes, self.macros, self.conditionals)

    def _without_dropped(self, text: str) -> str:
        pieces, place = [], 0
        for start, end in sorted(self.dropped):
            if end > place:
                start = max(start, place)
                pieces += [text[place:start], blank(text[start:end])]
                place = end
        return "".join([*pieces, text[place:]])

    @property
    def _is_live(self) -> bool:
        return not self.open or self.open[-1].is_live

    def _directive(self, text: str, start: int) -> None:
        match = _DIRECTIVE.match(_COMMENT.sub(_no_comment, _CONTINUED.sub(" ", text)))
        if match is None:
            return
        word, rest = match[1], match[2].strip()
        if word in ("if", "ifdef", "ifndef", "elif", "elifdef", "elifndef", "else", "endif"):
            self._conditional(word, rest, start, start + len(text))
        elif not self._is_live:
            return
        elif word == "include" and (include := _INCLUDE.match(rest)):
            self.lines = self.lines or line_starts(self.source)
            self.includes.append(Use(include[1], bisect_right(self.lines, start)))
        elif word == "define" and (define := _DEFINE.match(rest)):
            self._define(define[1], define[2], define[3])

    def _define(self, name: str, listed: str | None, body: str) -> None:
        # Of conditional variants the one with a qualifier counts, if any has one.
        if name not in self.macros or TELLING.search(body):
            names = None if listed is None else tuple(x.strip() for x in listed.split(","))
            body = _LITERAL.sub(lambda literal: _no_literal(literal[0]), body)
            self.macros[name] = () if names == ("",) else names, body

    def _conditional(self, word: str, rest: str, start: int, end: int) -> None:
        self._count()
        if word in ("if", "ifdef", "ifndef"):
            value = _evaluate(word, rest)
            self.open.append(_Conditional(end, value, is_around_live=self._is_live))
        elif self.open and word == "endif":
            self._end(start)
        elif self.open:
            this = self.open[-1]
            self._end_branch(this, start)
            value = None if word == "else" else _evaluate(word.removeprefix("el"), rest)
            is_chosen = this.value is False and (value or word == "else")
            is_dead = this.value is True or value is False
            this.value = True if is_chosen else this.value
            this.is_live = this.is_around_live and not is_dead
            this.start = end
        if self._is_live:
            self.conditionals.append(start)

    def _end_branch(self, this: _Conditional, end: int) -> None:
        if this.is_around_live and not this.is_live:
            self.dropped.append((this.start, end))
        this.end_branch(end)

    def _end(self, end: int) -> None:
        """Close the last conditional; go on with the brackets of one branch."""
        this = self.open.pop()
        self._end_branch(this, end)
        changed = next((one for one in this.branches if any(one[2])), None)
        if changed is not None:
            self.dropped += [one[:2] for one in this.branches if one is not changed]
            if self.open:
                around = self.open[-1]
                around.change = [a + b for a, b in zip(around.change, changed[2], strict=True)]

    def _count(self) -> None:
        """Count the brackets since the last directive of a conditional."""
        if self.open and self.open[-1].is_live:
            text = "".join(self.pieces[self.counted :])
            change = self.open[-1].change
            for index, pair in enumerate(("()", "[]", "{}")):
                change[index] += text.count(pair[0]) - text.count(pair[1])
        self.counted = len(self.pieces)


def _no_comment(match: re.Match[str]) -> str:
    return " " if match[0][0] == "/" else match[0]


def _no_literal(text: str) -> str:
    if text in _LINKAGES:
        return text
    is_closed = len(text) > 1 and text[0] == text[-1]
    return f"{text[0]}{blank(text[1:-1])}{text[0]}" if is_closed else blank(text)


def _evaluate(word: str, rest: str) -> bool | None:
    """Return what a preprocessor condition comes to under NVRTC, None where that is open."""
    if word != "if":
        rest = f"defined({rest})"
    if rest in ("0", "false"):
        return False
    if rest in ("1", "true"):
        return True
    match = _CONDITION.match(rest)
    if match is None or match[2] != _DEFINED:
        return None
    return (match[1] == "!") == (word == "ifndef")
