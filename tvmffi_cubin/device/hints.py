"""What may help where a unit lacks what another has: sources of a list are compiled separately."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ..errors import CompileError
from .units import Unit

_UNKNOWN = (
    r'(?:identifier|name) "(\w+)" is undefined'
    r'|"(\w+)" is not a (?:template|type name|class or namespace name)'
    r'|has no (?:\w+ )*"(\w+)"'
)
_MOST = 3


def other_units_hints(log: str, unit: Unit, units: Sequence[Unit]) -> list[str]:
    """Return where the names that a unit lacks, as NVRTC's log says, are to be had."""
    hints = []
    names = (name for groups in re.findall(_UNKNOWN, log) for name in groups if name)
    for name in dict.fromkeys(names):
        for other in units:
            if other is not unit and re.search(rf"\b{name}\b", other.text):
                hints.append(
                    f"{other.name} has {name}, but sources of a list are compiled separately: "
                    f"declare it here as well; or put it into a source of "
                    "its own before both (types, macros, inline functions and templates are seen "
                    'by all that follow); or join the sources with "\\n".join(...)'
                )
                break
    return hints[:_MOST]


def with_hints(error: CompileError, hints: Iterable[str]) -> CompileError:
    """Return an error that also says what to do about it."""
    text = "\n".join((str(error), *(f"Hint: {hint}" for hint in hints)))
    return CompileError(text, log=error.log, source=error.source, options=error.options)
