"""`Tokens`: a preprocessed text as words and marks, with the partner of every bracket."""

from __future__ import annotations

import re

# Each alternative begins with characters that no other takes, so that the text is read once.
_TOKEN = re.compile(
    r"""(?P<line>^[ \t]*\#[^\n]*)
    |(?P<text>(?:u8|[uUL])?R"(?P<mark>[^ ()\\\t\n]*)\((?s:.*?)\)(?P=mark)"
      |(?:u8|[uUL])?"(?:[^"\\\n]|\\.)*"|(?:u8|[uUL])?'(?:[^'\\\n]|\\.)+')
    |(?P<number>\.?\d(?:[eEpP][+-]|'?[\w.])*)
    |(?P<word>[A-Za-z_$]\w*)
    |(?P<sign><<<|::|->|\[\[|[^\s\w])""",
    re.MULTILINE | re.VERBOSE,
)
_CLOSING = {"(": ")", "[": "]", "{": "}"}


class Tokens:
    """The tokens of a text, by number.

    Attributes
    ----------
    source : str
        The text.
    texts, kinds : list of str
        What each is, and whether it is a ``"word"``, ``"text"`` (a literal), ``"number"``,
        ``"sign"`` or ``"line"`` (of the preprocessor).
    starts, ends : list of int
        Where each begins and ends in the text.
    partner : dict of int to int
        The number of the bracket that closes each ``(``, ``[``, ``[[`` and ``{``.
    opening : dict of int to int
        The reverse.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self.texts: list[str] = []
        self.kinds: list[str] = []
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.partner: dict[int, int] = {}
        self.opening: dict[int, int] = {}
        open_brackets: list[tuple[str, int]] = []
        for number, match in enumerate(_TOKEN.finditer(source)):
            text, kind = match[0], match.lastgroup or ""
            self.texts.append(text)
            self.kinds.append(kind)
            self.starts.append(match.start())
            self.ends.append(match.end())
            if text in _CLOSING:
                open_brackets.append((_CLOSING[text], number))
            elif text == "[[":
                open_brackets += [("]", number), ("]", number)]
            elif text in (")", "]", "}"):
                while open_brackets:
                    wanted, begin = open_brackets.pop()
                    self.partner[begin] = number
                    self.opening[number] = begin
                    if wanted == text:
                        break

    def __len__(self) -> int:
        return len(self.texts)

    def close(self, number: int) -> int:
        """Return the number of the bracket that closes one; the last token's where none does."""
        return self.partner.get(number, len(self.texts) - 1)

    def angle(self, number: int, end: int) -> int:
        """Return the number of the ``>`` that closes a ``<``; -1 where it is no bracket."""
        depth = 0
        while number < end:
            text = self.texts[number]
            if text == "<":
                depth += 1
            elif text == "<<<":
                depth += 3
            elif text == ">":
                depth -= 1
                if depth <= 0:
                    return number
            elif text in ("(", "[", "{", "[["):
                number = self.close(number)
            elif text in (";", "}", ")"):
                return -1
            number += 1
        return -1

    def angle_back(self, number: int, first: int) -> int:
        """Return the number of the ``<`` that a ``>`` closes; -1 where there is none."""
        depth = 0
        while number >= first:
            text = self.texts[number]
            depth += {">": 1, "<": -1}.get(text, 0)
            if depth == 0:
                return number
            number = self.opening.get(number, number) - 1
        return -1

    def words(self, first: int, end: int) -> set[str]:
        """Return the words from one token up to another."""
        kinds, texts = self.kinds, self.texts
        return {texts[i] for i in range(first, end) if kinds[i] == "word"}

    def span(self, first: int, end: int) -> str:
        """Return the text from one token up to another."""
        return self.source[self.starts[first] : self.ends[end - 1]] if end > first else ""

    def line(self, number: int) -> tuple[str, int]:
        """Return the file and the line in it where a token stands."""
        at = number
        while at > 0 and not self.texts[at].startswith("#line"):
            at -= 1
        match = re.match(r'#line (\d+) "(.*)"', self.texts[at]) if len(self) else None
        between = self.source.count("\n", self.ends[at], self.starts[number]) if match else 1
        return (match[2], int(match[1]) + between - 1) if match else ("", between)
