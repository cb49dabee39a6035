"""Parses one C++ declaration at a time; an error points at the character that it is about."""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["Declaration", "Parser"]


class Declaration(NamedTuple):
    """A parsed declaration.

    Attributes
    ----------
    base : str
        The type's name, without qualifiers.
    qualifiers : tuple of str
        Those of the base type, sorted.
    pointers : tuple of tuple of str
        Every pointer's qualifiers, from the inside out.
    compound : bool
        Whether the innermost pointee is an array or a function.
    name : str
        The declared name, empty where there is none.
    start, name_at : int
        Indices of the tokens where the declaration begins and where its name is or should be.
    """

    base: str
    qualifiers: tuple[str, ...]
    pointers: tuple[tuple[str, ...], ...]
    compound: bool
    name: str
    start: int
    name_at: int


_TOKEN = re.compile(
    r"\s*(\(anonymous namespace\)|\{lambda\([^{}]*\)#\d+\}|\{unnamed type#\d+\}"
    r"|(?:[^\W\d]|\$)[\w$]*|\d[\w.']*|::|\.\.\.|\S)"
)
_IDENTIFIER = re.compile(r"(?:[^\W\d]|\$)[\w$]*\Z")
_NAME_START = re.compile(r"(?:(?:[^\W\d]|\$)[\w$]*|\(anonymous namespace\)|\{.*\})\Z")
_BUILTIN = {
    *("signed", "unsigned", "__signed__", "char", "short", "int", "long", "__int128"),
    *("float", "double", "bool", "void"),
}
_CV = ("const", "volatile")
_IGNORED = {
    *("__restrict__", "__restrict", "restrict", "__grid_constant__", "typename", "constexpr"),
    *("struct", "class", "enum", "union", "register"),
}
_MAX_DEPTH = 32


class Parser:
    """A recursive-descent parser over the tokens of a text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[tuple[str, int]] = []
        self.index = 0
        self.name_at = 0
        end = len(text.rstrip())
        position = 0
        while position < end:
            match = _TOKEN.match(text, position)
            assert match is not None
            self.tokens.append((match[1], match.start(1)))
            position = match.end()
        self.tokens.append(("", end))

    @property
    def token(self) -> str:
        """The current token, empty at the end."""
        return self.tokens[self.index][0]

    def take(self) -> str:
        """Consume a token."""
        token = self.token
        self.index += 1
        return token

    def accept(self, token: str) -> bool:
        """Consume the current token if it is this one."""
        if self.token != token:
            return False
        self.index += 1
        return True

    def error(self, message: str, at: int | None = None) -> ValueError:
        """Return the error that points at a token, the current one by default."""
        at = self.index if at is None else at
        position = self.tokens[min(at, len(self.tokens) - 1)][1]
        line_start = self.text.rfind("\n", 0, position) + 1
        line = self.text[line_start:].split("\n", 1)[0]
        caret = " " * (position - line_start) + "^"
        return ValueError(f"{message}, at character {position + 1}:\n  {line}\n  {caret}")

    def balanced(self) -> None:
        """Skip from an opening bracket to behind the one that closes it."""
        pairs = {"(": ")", "[": "]", "<": ">"}
        start = self.index
        stack = [pairs[self.take()]]
        while stack:
            token = self.token
            if not token:
                raise self.error(f"'{self.tokens[start][0]}' is not closed", start)
            self.index += 1
            if token == stack[-1]:
                stack.pop()
            elif token in "([" or (token == "<" and stack[-1] == ">"):
                stack.append(pairs[token])

    def qualifiers(self) -> list[str]:
        """Consume qualifiers; return those that belong to the type."""
        found = []
        while self.token in _CV or self.token in _IGNORED:
            token = self.take()
            if token in _CV and token not in found:
                found.append(token)
        return found

    def base(self) -> tuple[str, list[str]]:
        """Parse the type specifiers; return the type's name and its qualifiers."""
        qualifiers = self.qualifiers()
        start = self.index
        words: list[str] = []
        name = ""
        while True:
            if self.token in _BUILTIN and not name:
                words.append(self.take())
            elif (_NAME_START.match(self.token) or self.token == "::") and not (words or name):
                name = self.name()
            else:
                break
            qualifiers += self.qualifiers()
        if words:
            name = _builtin_name(words)
        if not name:
            wanted = "expected a type such as 'const float*' or 'int64_t'"
            raise self.error(wanted, start)
        return name, sorted(set(qualifiers))

    def name(self) -> str:
        """Parse a qualified name with its template arguments."""
        start = self.index
        self.accept("::")
        while True:
            if not _NAME_START.match(self.token):
                raise self.error("expected a name after '::'")
            self.take()
            if self.token == "<":
                self.balanced()
            if not self.accept("::"):
                return self.spell(start, self.index)

    def spell(self, start: int, end: int) -> str:
        """Return tokens as text, spaced the same however they were written."""
        text = ""
        for token, _ in self.tokens[start:end]:
            if text and (text[-1].isalnum() or text[-1] in "_$") and _IDENTIFIER.match(token):
                text += " "
            text += ", " if token == "," else token
        return text

    def declarator(self, depth: int = 0) -> tuple[list[list[str]], bool, str]:
        """Parse what follows the specifiers.

        Returns the pointers' qualifiers from the inside out, whether the innermost pointee is an
        array or a function, and the declared name ("" where there is none).
        """
        pointers: list[list[str]] = []
        while self.token in ("*", "&"):
            if self.token == "&":
                message = "a __global__ function takes no references: pass a pointer or a value"
                raise self.error(message)
            self.take()
            pointers.append(self.qualifiers())
        compound = False
        name = ""
        if self.token == "(" and self.tokens[self.index + 1][0] in ("*", "&"):
            self.take()
            if depth == _MAX_DEPTH:
                raise self.error("too deeply nested")
            inner, _, name = self.declarator(depth + 1)
            if not self.accept(")"):
                raise self.error("expected ')'")
            pointers += inner
            compound = self.token in ("[", "(")
        elif _IDENTIFIER.match(self.token):
            self.name_at = self.index
            name = self.take()
        extents = 0
        while self.token in ("[", "(") and (compound or name or self.token == "["):
            if self.token == "(" and not compound:
                raise self.error("a function cannot be a parameter")
            extents += 1
            self.balanced()
        if extents and not compound:
            # An array parameter is a pointer to its element.
            pointers.append([])
            compound = extents > 1
        return pointers, compound, name

    def declaration(self) -> Declaration:
        """Parse one declaration; the name may be missing."""
        start = self.index
        base, qualifiers = self.base()
        pointers, compound, name = self.declarator()
        name_at = self.name_at if name else self.index
        if base == "void" and not pointers:
            raise self.error("a parameter cannot be void", start)
        frozen = tuple(tuple(inner) for inner in pointers)
        return Declaration(base, tuple(qualifiers), frozen, compound, name, start, name_at)


def _builtin_name(words: list[str]) -> str:
    unsigned = "unsigned " if "unsigned" in words else ""
    for word in ("float", "bool", "void"):
        if word in words:
            return word
    if "double" in words:
        return "long double" if "long" in words else "double"
    if "char" in words:
        return "signed char" if {"signed", "__signed__"} & set(words) else unsigned + "char"
    for word in ("short", "__int128"):
        if word in words:
            return unsigned + word
    return unsigned + (" ".join(["long"] * words.count("long")) or "int")
