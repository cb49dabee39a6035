"""What may help where a unit lacks what another has: sources of a list are compiled separately."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from ..errors import CompileError
from ..kernels.demangle import demangle, take_apart
from .units import DeviceUnit

__all__ = ["other_units_hints", "own_copy_hints", "with_hints"]

_UNKNOWN = re.compile(
    r'(?:identifier|name) "(\w+)" is undefined'
    r'|"(\w+)" is not a (?:template|type name|class or namespace name)'
    r'|has no (?:\w+ )*"(\w+)"'
)
_MOST = 3
_LINKAGES = {"internal": "static", "inline": "inline", "template": "a template"}


def other_units_hints(log: str, unit: DeviceUnit, units: Sequence[DeviceUnit]) -> tuple[str, ...]:
    """Return where the names that a unit lacks are to be had.

    Parameters
    ----------
    log : str
        NVRTC's log.
    unit : DeviceUnit
        The unit that does not compile.
    units : sequence of DeviceUnit
        All units.
    """
    names = dict.fromkeys(
        filter(None, (name for m in _UNKNOWN.finditer(log) for name in m.groups()))
    )
    found: list[str] = []
    for name in names:
        found += _other_places(name, [other for other in units if other is not unit])
    return tuple(dict.fromkeys(found))[:_MOST]


def _other_places(name: str, others: Iterable[DeviceUnit]) -> Iterator[str]:
    word = re.compile(rf"\b{re.escape(name)}\b")
    for other in others:
        defined = next((d for d in other.facts.definitions if _last(d.qualified) == name), None)
        if defined is not None and defined.declaration:
            yield (
                f"{other.name} defines {name}, but sources of a list are compiled separately: "
                f"declare it here as well, {defined.declaration!r}, or join the sources with "
                '"\\n".join(...)'
            )
            return
        if word.search(other.source.text):
            yield (
                f"{other.name} has {name}, but sources of a list are compiled separately: put it "
                "into a source of its own before both (types, macros, inline functions and "
                'templates are seen by all that follow), or join the sources with "\\n".join(...)'
            )
            return


def own_copy_hints(symbol: str, units: Iterable[DeviceUnit]) -> tuple[str, ...]:
    """Return which units define an undefined symbol for themselves alone."""
    # In front of a template's instance is what it returns.
    name = take_apart(demangle(symbol)).qualified.rpartition(" ")[2]
    own = [
        (unit, found)
        for unit in units
        for found in unit.facts.definitions
        if found.linkage != "external" and _last(found.qualified) == _last(name)
    ]
    return tuple(
        f"{unit.name} defines {found.qualified} as {_LINKAGES[found.linkage]}, for itself alone"
        for unit, found in [x for x in own if x[1].qualified == name] or own
    )


def _last(qualified: str) -> str:
    return qualified.rpartition("::")[2]


def with_hints(error: CompileError, hints: Iterable[str]) -> CompileError:
    """Return an error that also says what to do about it."""
    text = "\n".join((str(error), *(f"Hint: {hint}" for hint in hints)))
    return CompileError(text, log=error.log, source=error.source, options=error.options)
