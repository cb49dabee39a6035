"""C++ symbols as readable text, by the C++ runtime's own demangler, and that text taken apart."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple

_UNNAMED = "(anonymous namespace)"
_UNNAMED_PART = "_GLOBAL__N_"


@cache
def _runtime() -> tuple[Callable[..., int], Callable[..., None]]:
    # tvm-ffi is linked against it, so it is there.
    demangler = ctypes.CDLL("libstdc++.so.6").__cxa_demangle
    # Not c_char_p: ctypes would turn it to bytes and the buffer could no longer be freed.
    demangler.restype = ctypes.c_void_p
    demangler.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    free = ctypes.CDLL(None).free
    free.restype = None
    free.argtypes = [ctypes.c_void_p]
    return demangler, free


def demangle(name: str) -> str:
    """Return the readable form of a symbol, the name itself where it is not a mangled one."""
    # Type names are mangled too: without this test, `f` would come back as `float`.
    if not name.startswith("_Z"):
        return name
    demangler, free = _runtime()
    buffer = demangler(name.encode("utf-8", "replace"), None, None, None)
    if not buffer:
        return name
    try:
        return ctypes.string_at(buffer).decode("utf-8", "replace")
    finally:
        free(buffer)


class FunctionName(NamedTuple):
    """A demangled function, taken apart."""

    display: str  # as code could write it: without the unnamed namespaces, which it cannot name
    qualified: str  # the same without template arguments
    params: tuple[str, ...] | None  # types; None where the symbol does not tell, as extern "C"

    @property
    def is_instance(self) -> bool:
        """Whether it is an instance of a template."""
        return self.display != self.qualified


def take_apart(demangled: str) -> FunctionName:
    """Split the demangled form of a function into its name and its parameters' types."""
    groups = list(_groups(demangled, "("))
    name, params = demangled, None
    if groups and groups[-1][1] == len(demangled):
        start = groups[-1][0]
        name = demangled[:start]
        params = tuple(split_list(demangled[start + 1 : -1]))
        params = () if params == ("void",) else params
    display = name.strip().removeprefix("void ").replace(f"{_UNNAMED}::", "").strip()
    if params is not None and "operator" not in display:
        # Of templates the result comes first, which conditions on their arguments may make long.
        spaces = (i for i, depth in _depths(display) if not depth and display[i] == " ")
        display = display[max(spaces, default=-1) + 1 :]
    qualified = display
    templates = list(_groups(display, "<"))
    if templates and templates[-1][1] == len(display):
        qualified = display[: templates[-1][0]]
    return FunctionName(display, qualified, params)


def function_name(symbol: str) -> FunctionName:
    """Return the name of a symbol's function and its parameters' types.

    Of a symbol that breaks the rules of mangling, as nvcc makes them for some templates, that is
    the name without template arguments, and the symbol itself to tell it from others.
    """
    demangled = demangle(symbol)
    if demangled == symbol and (parts := _leading_names(symbol)):
        return FunctionName(symbol, "::".join(parts), None)
    return take_apart(demangled)


def _leading_names(symbol: str) -> list[str]:
    """Return the names that a mangled name begins with: namespaces, and the function's own."""
    start = re.match("_ZN?", symbol)
    position = start.end() if start else len(symbol)
    length = re.compile(r"[1-9][0-9]{0,5}")
    parts = []
    while match := length.match(symbol, position):
        position = match.end() + int(match[0])
        parts.append(symbol[match.end() : position])
        if position > len(symbol) or not parts[-1].isidentifier():
            return []
    return [part for part in parts if not part.startswith(_UNNAMED_PART)]


def spelled_types(name: FunctionName) -> tuple[str, ...] | None:
    """Return the types that a mangled name spells out, None where it leaves any open."""
    # In the name of a template instance these stand for types that its arguments decide.
    dependent = r"\bdecltype\b|>::|\bauto\b"
    if name.is_instance and any(re.search(dependent, text) for text in name.params or ()):
        return None
    return name.params


def split_list(text: str) -> list[str]:
    """Split a comma-separated list of types or template arguments at its outermost commas."""
    if not text.strip():
        return []
    cuts = [-1, *(index for index, depth in _depths(text) if depth == 0 and text[index] == ",")]
    ends = [*cuts[1:], len(text)]
    return [text[cut + 1 : end].strip() for cut, end in zip(cuts, ends, strict=True)]


def _depths(text: str) -> Iterator[tuple[int, int]]:
    """Yield (index, depth of brackets around it); an opening bracket lies outside of itself."""
    closing = {"(": ")", "[": "]", "{": "}", "<": ">"}
    stack: list[str] = []
    for index, char in enumerate(text):
        if char == ">":
            # Inside parentheses it is an operator, and so is that of `->`.
            if stack[-1:] == [">"] and text[index - 1] != "-":
                stack.pop()
        elif char in ")]}" and char in stack:
            while stack.pop() != char:
                pass
        yield index, len(stack)
        if char in closing:
            stack.append(closing[char])


def _groups(text: str, opening: str) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of the outermost bracket pairs of one kind."""
    closing = {"(": ")", "<": ">"}[opening]
    start = -1
    for index, depth in _depths(text):
        if depth == 0 and text[index] == opening and not text.startswith(_UNNAMED, index):
            start = index
        elif depth == 0 and text[index] == closing and start >= 0:
            yield start, index + 1
            start = -1
