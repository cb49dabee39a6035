"""C++ symbols as readable text, by the C++ runtime's own demangler, and that text taken apart."""

from __future__ import annotations

import ctypes
import re
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

# tvm-ffi is linked against it, so it is there.
_demangler = ctypes.CDLL("libstdc++.so.6").__cxa_demangle
# Not c_char_p: ctypes would turn it to bytes and the buffer could no longer be freed.
_demangler.restype = ctypes.c_void_p


def demangle(name: str) -> str:
    """Return the readable form of a symbol, the name itself where it is not a mangled one."""
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
    """A demangled function, taken apart; unnamed namespaces are left out, as code has to."""

    display: str  # its name as code could write it
    qualified: str  # the same without template arguments
    params: tuple[str, ...] | None  # types; None where the symbol does not tell, as with C linkage

    @property
    def short(self) -> str:
        """Its name without namespaces and template arguments."""
        return self.qualified.rpartition("::")[2]


@lru_cache(maxsize=4096)
def function_name(symbol: str) -> FunctionName:
    """Return the name of a symbol's function and its parameters' types."""
    return take_apart(demangle(symbol))


def take_apart(demangled: str) -> FunctionName:
    """Split the demangled form of a function into its name and its parameters' types."""
    display, params = demangled.replace("(anonymous namespace)::", "").strip(), None
    if display.endswith(")") and (heads := _outermost(display, "(")):
        params = tuple(split_list(display[heads[-1] + 1 : -1]))
        # Of templates the result comes first; conditions on arguments may make it long.
        display = "".join(split_list(display[: heads[-1]], " ")[-1:])
    heads = _outermost(display, "<") if display.endswith(">") else []
    return FunctionName(display, display[: heads[-1]] if heads else display, params)


def spelled_types(name: FunctionName) -> tuple[str, ...] | None:
    """Return the types that a mangled name spells out, None where it leaves any open."""
    # In the name of a template instance these stand for types that its arguments decide.
    dependent = r"\bdecltype\b|>::|\bauto\b"
    if name.display != name.qualified and re.search(dependent, " ".join(name.params or ())):
        return None
    return name.params


def squeeze(text: str) -> str:
    """Return text without spaces, for comparing names however they were written."""
    return "".join(text.split())


def split_list(text: str, at: str = ",") -> list[str]:
    """Split a list of types or template arguments at its outermost commas, or another character."""
    cuts = [-1, *_outermost(text, at), len(text)]
    return [text[a + 1 : b].strip() for a, b in pairwise(cuts)] if text.strip() else []


def _outermost(text: str, char: str) -> list[int]:
    """Return where a character is outside of all brackets; an opening one is outside of itself."""
    closing = {"(": ")", "[": "]", "{": "}", "<": ">"}
    stack: list[str] = []
    found = []
    for match in re.finditer(rf"[][(){{}}<>{char}]", text):
        index, token = match.start(), match[0]
        if token == char and not stack:
            found.append(index)
        if token in closing:
            stack.append(closing[token])
        # Inside parentheses > is an operator, and so is that of ->.
        elif token in stack and (token != ">" or (stack[-1] == ">" and text[index - 1] != "-")):
            while stack.pop() != token:
                pass
    return found
