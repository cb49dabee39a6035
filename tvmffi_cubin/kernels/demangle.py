"""Demangles C++ symbols with the C++ runtime's demangler, and splits the result into parts."""

from __future__ import annotations

import ctypes
import re
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

# tvm-ffi links against it, so it is always there.
_demangler = ctypes.CDLL("libstdc++.so.6").__cxa_demangle
# Not c_char_p: ctypes would convert it to bytes, and the buffer could no longer be freed.
_demangler.restype = ctypes.c_void_p


def demangle(name: str) -> str:
    """Demangle a symbol; return a name that is not mangled unchanged."""
    # Type names are mangled too: without this test, `f` would come back as `float`.
    if not name.startswith("_Z"):
        return name
    buffer = _demangler(name.encode("utf-8", "replace"), None, None, None)
    if not buffer:
        return name
    text = ctypes.string_at(buffer).decode("utf-8", "replace")
    ctypes.pythonapi.free(ctypes.c_void_p(buffer))
    return text


class FunctionName(NamedTuple):
    """The parts of a demangled function, without unnamed namespaces, which code cannot spell."""

    display: str  # its name as code would write it
    qualified: str  # the same without template arguments
    params: tuple[str, ...] | None  # types; None if the symbol does not tell, as with C linkage

    @property
    def short(self) -> str:
        """Its name without namespaces and template arguments."""
        return self.qualified.rpartition("::")[2]


@lru_cache(maxsize=4096)
def function_name(symbol: str) -> FunctionName:
    """Return the name and the parameter types of a symbol's function."""
    return take_apart(demangle(symbol))


def take_apart(demangled: str) -> FunctionName:
    """Split a demangled function into its name and its parameter types."""
    display, params = demangled.replace("(anonymous namespace)::", "").strip(), None
    if display.endswith(")") and (heads := _outermost(display, "(")):
        params = tuple(split_list(display[heads[-1] + 1 : -1]))
        # Templates start with the return type, which constraints on arguments may make long.
        display = "".join(split_list(display[: heads[-1]], " ")[-1:])
    heads = _outermost(display, "<") if display.endswith(">") else []
    return FunctionName(display, display[: heads[-1]] if heads else display, params)


def spelled_types(name: FunctionName) -> tuple[str, ...] | None:
    """Return the types that a mangled name spells out, None if it leaves any open."""
    # In the name of a template instance, these stand for types that depend on its arguments.
    dependent = r"\bdecltype\b|>::|\bauto\b"
    if name.display != name.qualified and re.search(dependent, " ".join(name.params or ())):
        return None
    return name.params


def squeeze(text: str) -> str:
    """Return text without white space, to compare names regardless of their spacing."""
    return "".join(text.split())


def split_list(text: str, at: str = ",") -> list[str]:
    """Split a list of types or template arguments at its outermost commas, or another character."""
    cuts = [-1, *_outermost(text, at), len(text)]
    return [text[a + 1 : b].strip() for a, b in pairwise(cuts)] if text.strip() else []


def _outermost(text: str, char: str) -> list[int]:
    """Return where a character is outside all brackets; an opening bracket is outside itself."""
    closing = {"(": ")", "[": "]", "{": "}", "<": ">"}
    stack: list[str] = []
    found = []
    for match in re.finditer(rf"[][(){{}}<>{char}]", text):
        index, token = match.start(), match[0]
        if token == char and not stack:
            found.append(index)
        if token in closing:
            stack.append(closing[token])
        # Inside parentheses, > is an operator; the > of -> always is.
        elif token in stack and (token != ">" or (stack[-1] == ">" and text[index - 1] != "-")):
            while stack.pop() != token:
                pass
    return found
