"""`Tokens`: the tokens of a CUDA text, with the partner of every bracket."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate

# Each matches everything that it begins, closed or not, so that a text is read once.
_COMMENT = r"//(?:[^\n\\]+|\\\r?\n|\\)*|/\*(?s:.*?)(?:\*/|\Z)"
_DIRECTIVE = rf'\#(?:[^\n\\/"]+|\\\r?\n|{_COMMENT}|"(?:[^"\\\n]|\\.)*"?|[/\\])*'
_LITERAL = (
    r'(?:u8|[uUL])?R"(?P<mark>[^ ()\\\t\n"]{0,16})\((?s:.*?)(?:\)(?P=mark)"|\Z)'
    r'|(?:u8|[uUL])?"(?:[^"\\\n]|\\(?s:.))*"?'
    r"|(?:u8|[uUL])?'(?:[^'\\\n]|\\(?s:.))*'?"
)
_PIECE = re.compile(
    rf"(^[ \t]*{_DIRECTIVE}|[^\S\n]+|\n+|\\\r?\n|{_COMMENT}|{_LITERAL}"
    r"|(?:[^\W\d]|\$)[\w$]*|\.?\d(?:[eEpP][+-]|'?[\w.])*|<<\s*<|::|->|\[\[|[^\s\w])",
    re.MULTILINE,
)
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_OPENING = ("(", "[", "[[", "{")
_BRACKETS = frozenset(("(", ")", "[", "]", "{", "}", "[[", "<", "<<<", ">", ";"))

Token = tuple[str, str, int, int]
"""Kind, text, and start and end in the source."""


def _kind(text: str) -> str:
    """Return the kind of a piece of text; empty if it is not a token."""
    first = text[0]
    if first.isspace():
        return "line" if text.lstrip(" \t")[:1] == "#" else ""
    if text[:2] in ("//", "/*", "\\\n", "\\\r"):
        return ""
    if first in "\"'" or (text[-1] in "\"'" and first.isalpha()) or text[:2] == 'R"':
        return "text"
    if first.isalpha() or first in "_$":
        return "word"
    if first.isdigit() or text[1:2].isdigit():
        return "number"
    return "line" if first == "#" and len(text) > 1 else "sign"


def lex(source: str) -> list[Token]:
    """Return the tokens of a text."""
    texts = [text for text, _ in _PIECE.findall(source)]
    kinds = {text: _kind(text) for text in {*texts}}
    # CUDA's compilers allow "<< <", as Visual Studio formats it.
    names = {text: "<<<" if text.startswith("<<") else text for text in kinds}
    places = [*accumulate(map(len, texts), initial=0)]
    return [
        (kinds[text], names[text], start, end)
        for text, start, end in zip(texts, places, places[1:], strict=False)
        if kinds[text]
    ]


class Tokens:
    """The tokens of a text, by number.

    A token that a macro expands to has no width, and the position of the macro.
    """

    def __init__(self, found: Sequence[Token]) -> None:
        # "word", "text" (a literal), "number" or "sign"
        self.kinds = [token[0] for token in found]
        self.texts = [token[1] for token in found]
        self.starts = [token[2] for token in found]
        self.ends = [token[3] for token in found]
        # Partners of brackets, including `<` and `>` where they are brackets.
        self.partner: dict[int, int] = {}
        self._match()

    def _match(self) -> None:
        opened: list[tuple[str, int]] = []
        waiting = {")": 0, "]": 0, "}": 0}
        angles: list[list[int]] = [[]]  # the open ones, within each open bracket
        brackets = [pair for pair in enumerate(self.texts) if pair[1] in _BRACKETS]
        for number, text in brackets:
            if text in ("<", "<<<"):
                angles[-1] += [number] * len(text)
            elif text == ">":
                if angles[-1]:
                    begin = angles[-1].pop()
                    self.partner[begin], self.partner[number] = number, begin
            elif text == ";":
                angles[-1].clear()
            elif text not in waiting:
                for sign in text:
                    opened.append((_CLOSING[sign], number))
                    waiting[_CLOSING[sign]] += 1
                    angles.append([])
            else:
                wanted = ""
                while waiting[text] and wanted != text:
                    wanted, begin = opened.pop()
                    angles.pop()
                    waiting[wanted] -= 1
                    self.partner[begin], self.partner[number] = number, begin

    def close(self, number: int) -> int:
        """Return the number of the bracket that closes one; the last token's if none does."""
        return self.partner.get(number, len(self.texts) - 1)

    def last(self, number: int) -> int:
        """Return the last token of what one begins: an opening bracket's partner, else itself."""
        text = self.texts[number]
        if text == "<" and self.kinds[number - 1] == "word":
            return max(self.partner.get(number, -1), number)
        return self.close(number) if text in _OPENING else number

    def launched(self, number: int) -> int:
        """Return the number of the name that a ``<<<`` launches; -1 if there is none."""
        last = number - 1
        return self.partner.get(last, 0) - 1 if self.texts[last] == ">" else last

    def outside(self, first: int, end: int) -> Iterator[int]:
        """Iterate over the tokens outside of brackets, including those that open one."""
        while first < end:
            yield first
            first = self.last(first) + 1

    def words(self, first: int, end: int) -> set[str]:
        """Return the words from one token up to another."""
        kinds, texts = self.kinds, self.texts
        return {texts[i] for i in range(first, end) if kinds[i] == "word"}

    def joined(self, numbers: Sequence[int]) -> str:
        """Return the text of some tokens, with one space for each gap."""
        pieces = []
        for before, number in zip([-1, *numbers], numbers, strict=False):
            is_gap = self.starts[number] > self.ends[number - 1]
            if before >= 0 and (is_gap or "sign" not in (self.kinds[before], self.kinds[number])):
                pieces.append(" ")
            pieces.append(self.texts[number])
        return "".join(pieces)

    def span(self, first: int, end: int) -> str:
        """Return the text from one token up to another, with one space for each gap."""
        return self.joined(range(first, end))
