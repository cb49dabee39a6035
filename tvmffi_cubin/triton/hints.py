"""Types with hints as Triton's ahead-of-time tool writes them: ``*fp32:16, 1024, i32:1``."""

from __future__ import annotations

import ast
import re
from typing import Any, NamedTuple

from .element_types import descriptor, kernel_type

__all__ = ["Hinted", "parse_hinted", "split"]

_VALUE = re.compile(r"[+-]?\d|True\Z|False\Z|None\Z|['\"]")


class Hinted(NamedTuple):
    """One argument of a function: its type, or the value that it always has.

    Attributes
    ----------
    type : str
        Triton's name of its type; ``"constexpr"`` where it has a value.
    divisible : bool
        Whether it, or the address that it is, is a multiple of 16.
    is_one : bool
        Whether it is always 1.
    value : object
        What it always is.
    """

    type: str
    divisible: bool = False
    is_one: bool = False
    value: Any = None


def split(text: str) -> list[str]:
    """Return the entries of a list that is separated by commas, which brackets may have, too."""
    entries, depth = [""], 0
    for character in text:
        depth += (character in "<[(") - (character in ">])")
        if character == "," and depth == 0:
            entries.append("")
        else:
            entries[-1] += character
    return [entry.strip() for entry in entries]


def parse_hinted(what: str, text: str) -> Hinted:
    """Parse a type with its hint, or a value.

    Raises
    ------
    ValueError
        It is neither; the message begins with `what`.
    """
    text = text.strip()
    if _VALUE.match(text):
        try:
            return Hinted("constexpr", value=ast.literal_eval(text))
        except (ValueError, SyntaxError):
            raise ValueError(f"{what}: {text!r} is no type and no value") from None
    type_, colon, hint = text.partition(":")
    type_, hint = type_.strip(), hint.strip()
    if colon and hint not in ("1", "16"):
        raise ValueError(f"{what}: {text!r}: the hint after the colon is 1 or 16, got {hint!r}")
    try:
        is_descriptor = descriptor(type_) is not None
        if type_ != "constexpr" and not is_descriptor:
            kernel_type(type_)
    except ValueError as error:
        raise ValueError(f"{what}: {error}") from None
    if colon and (is_descriptor or type_[0] not in "*iu" or (hint == "1" and type_[0] == "*")):
        raise ValueError(f"{what}: {text!r}: an argument of this type has no such hint")
    return Hinted(type_, divisible=hint == "16", is_one=hint == "1")
