"""Itanium C++ symbol names as readable text, through the C++ runtime's own demangler."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from .errors import ToolchainError

__all__ = ["FunctionName", "demangle", "function_name", "spelled_types", "split_list", "take_apart"]


@lru_cache(maxsize=1)
def _runtime() -> tuple[ctypes._NamedFuncPointer, ctypes._NamedFuncPointer]:
    try:
        library = ctypes.CDLL("libstdc++.so.6")
    except OSError as error:
        raise ToolchainError(
            f"the C++ runtime libstdc++.so.6 cannot be opened ({error}); "
            "install it, for example with `apt install libstdc++6`"
        ) from error
    function = library.__cxa_demangle
    # Not c_char_p: ctypes would turn it to bytes and the buffer could no longer be freed.
    function.restype = ctypes.c_void_p
    function.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    free = ctypes.CDLL(None).free
    free.restype = None
    free.argtypes = [ctypes.c_void_p]
    return function, free


def demangle(name: str) -> str:
    """Return the readable form of a symbol, the name itself where it is not a mangled one."""
    # Type names are mangled too: without this test, `f` would come back as `float`.
    if not name.startswith("_Z"):
        return name
    function, free = _runtime()
    try:
        encoded = name.encode()
    except UnicodeEncodeError:
        return name
    status = ctypes.c_int()
    buffer = function(encoded, None, None, ctypes.byref(status))
    if not buffer:
        return name
    try:
        return ctypes.string_at(buffer).decode("utf-8", "replace")
    finally:
        free(buffer)


class FunctionName(NamedTuple):
    """A demangled function, taken apart.

    Attributes
    ----------
    display : str
        Qualified name with template arguments, as code could write it: without the unnamed
        namespaces, which code cannot name.
    qualified : str
        The same without template arguments.
    params : tuple of str or None
        The parameters' types; None where the symbol does not tell (it has C linkage).
    """

    display: str
    qualified: str
    params: tuple[str, ...] | None

    @property
    def is_instance(self) -> bool:
        """Whether it is an instance of a template."""
        return self.display != self.qualified


_UNNAMED = "(anonymous namespace)"
_UNNAMED_PART = "_GLOBAL__N_"
_NESTED = re.compile(r"_ZN?")
_LENGTH = re.compile(r"[1-9][0-9]{0,5}")
# In the name of a template instance these stand for types that its arguments decide.
_DEPENDENT = re.compile(r"\bdecltype\b|>::|\bauto\b")


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
        display = display[
            max((i for i, depth in _depths(display) if not depth and display[i] == " "), default=-1)
            + 1 :
        ]
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
    start = _NESTED.match(symbol)
    position = start.end() if start else len(symbol)
    parts = []
    while match := _LENGTH.match(symbol, position):
        position = match.end() + int(match[0])
        parts.append(symbol[match.end() : position])
        if position > len(symbol) or not parts[-1].isidentifier():
            return []
    return [part for part in parts if not part.startswith(_UNNAMED_PART)]


def spelled_types(name: FunctionName) -> tuple[str, ...] | None:
    """Return the types that a mangled name spells out, None where it leaves any open."""
    if name.params is None:
        return None
    if name.is_instance and any(_DEPENDENT.search(text) for text in name.params):
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
    within = dict.fromkeys(closing.values(), 0)  # how often each is in the stack
    for index, char in enumerate(text):
        # A `>` inside parentheses is an operator, and so is that of `->`.
        is_bracket = char in ")]}" or (
            char == ">" and stack[-1:] == [">"] and text[index - 1] != "-"
        )
        if is_bracket and within[char]:
            last = ""
            while last != char:
                last = stack.pop()
                within[last] -= 1
        yield index, len(stack)
        if char in closing:
            stack.append(closing[char])
            within[closing[char]] += 1


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
