"""`read_functions`: the functions that a caller asks for, in one form."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from .arguments import check_unicode, identifier
from .dispatch import Dispatch
from .export import Described, Export
from .launch import Launch

__all__ = ["read_functions"]

_PACKAGE = "tvmffi_cubin."


def read_functions(value: Any) -> tuple[Export, ...] | None:
    """Return the argument `functions` in one form; None where it is left out.

    Raises
    ------
    TypeError, ValueError
        It is wrong; the message names the function.
    """
    if value is None:
        return None
    if isinstance(value, str):
        value = (value,)
    if isinstance(value, Described):
        _warn_of_unknown(value)
        docs = value.docs
        return tuple(replace(_export(x, y), doc=docs.get(x, "")) for x, y in value.items())
    if isinstance(value, Mapping):
        return tuple(_export(name, spec) for name, spec in value.items())
    if isinstance(value, bytes) or not isinstance(value, Iterable):
        raise TypeError(
            f"functions is a name, a sequence of names or a mapping, got {type(value).__name__}"
        )
    names = [identifier("functions", name) for name in value]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"functions names {twice!r} twice")
    return tuple(Export(name) for name in names)


def _warn_of_unknown(described: Described) -> None:
    for place in described.unknown():
        import warnings

        warnings.warn(
            f"{place} is no field that this version of tvmffi_cubin knows: the module is made "
            "without it (fields of one's own begin with x_)",
            stacklevel=_level_of_caller(),
        )


def _level_of_caller() -> int:
    """Return how many frames above its caller the first is that is not of this package."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    return level


def _export(name: Any, spec: Any) -> Export:
    name = identifier("functions", name)
    if isinstance(spec, str):
        check_unicode(f"functions[{name!r}]", spec)
        return Export(name, doc=spec)
    if spec is None:
        return Export(name)
    if isinstance(spec, Dispatch):
        return Export(name, launches=spec.launches, dispatch=spec)
    launches = (spec,) if isinstance(spec, Launch) else spec
    if isinstance(launches, list | tuple) and all(isinstance(x, Launch) for x in launches):
        if not launches:
            raise ValueError(f"functions[{name!r}] is an empty list of launches")
        return Export(name, launches=tuple(launches))
    raise TypeError(
        f"functions[{name!r}] is a docstring, a Launch, a list of them or a Dispatch, got {spec!r}"
    )
