"""What an item's execution space words say about it, and the identifiers in stretches of code."""

from __future__ import annotations

import re
from collections.abc import Iterable

from .cuda_item import Item

__all__ = [
    "code_alone",
    "identifiers",
    "is_constant",
    "is_device_function",
    "is_device_variable",
    "is_host_function",
    "is_kernel",
    "is_usable_anywhere",
    "value_of",
]

_NO_CODE = re.compile(
    r"""//(?:[^\n\\]|\\[\s\S])*
    |/\*[\s\S]*?(?:\*/|\Z)
    |(?<!\w)(?:u8|[uUL])?R"(?P<mark>[^ ()\\\t\v\f\n]{0,16})\([\s\S]*?\)(?P=mark)"
    |"(?:[^"\\\n]|\\[\s\S])*"
    |(?<!\w)'(?:[^'\\\n]|\\[\s\S])+'
    """,
    re.VERBOSE,
)
_VISIBLE = re.compile(r"\S+")
_WORD = re.compile(r"([A-Za-z_]\w*)(\s*\()?")
_MEMORY = frozenset(("__device__", "__constant__", "__managed__", "__shared__"))
_CONSTANT = re.compile(r"\b(?:const|constexpr|constinit|consteval)\b")


def code_alone(text: str) -> str:
    """Return a text with comments and literals blanked; every character stays where it is."""
    return _NO_CODE.sub(lambda match: _VISIBLE.sub(_spaces, match[0]), text)


def _spaces(match: re.Match[str]) -> str:
    return " " * len(match[0])


def identifiers(code: str, spans: Iterable[tuple[int, int]]) -> frozenset[str]:
    """Return the identifiers in stretches of code, from which `code_alone` took all else.

    Those that are not called are among them a second time, as `value_of` has them.
    """
    found = [match for start, end in spans for match in _WORD.finditer(code, start, end)]
    words = {match[1] for match in found}
    return frozenset(words | {value_of(match[1]) for match in found if not match[2]})


def value_of(name: str) -> str:
    """Return how a name is told that is used as a value, and not called."""
    return f"&{name}"


def is_kernel(item: Item) -> bool:
    """Whether it is a kernel, defined or only declared."""
    return "__global__" in item.words and item.kind in ("function", "instantiation")


def is_device_function(item: Item) -> bool:
    """Whether it is a function that the host cannot call, and no kernel."""
    if item.kind not in ("function", "instantiation") or is_kernel(item):
        return False
    return "__device__" in item.words and "__host__" not in item.words


def is_usable_anywhere(item: Item) -> bool:
    """Whether it is a function that both sides may call: so it says, or it is ``constexpr``."""
    if item.kind not in ("function", "instantiation") or is_kernel(item):
        return False
    if {"__host__", "__device__"} & item.words:
        return {"__host__", "__device__"} <= item.words
    return bool({"constexpr", "consteval"} & item.words)


def is_host_function(item: Item) -> bool:
    """Whether it is a function that device code cannot call."""
    if item.kind not in ("function", "instantiation") or is_kernel(item):
        return False
    return not is_device_function(item) and not is_usable_anywhere(item)


def is_device_variable(item: Item) -> bool:
    """Whether it is a variable in a device's memory."""
    return item.kind == "variable" and bool(_MEMORY & item.words)


def is_constant(text: str, item: Item) -> bool:
    """Whether it is a variable that device code may read, though it is not in a device's memory."""
    return item.kind == "variable" and bool(
        "constexpr" in item.words or _CONSTANT.search(text, item.span.start, item.span.end)
    )
