"""A `Launch` as JSON values, for a module's manifest: what was said of it, as it was written."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from math import isfinite
from typing import Any

from .launch import Launch

__all__ = ["launch_facts"]

# Said elsewhere of a launch that is bound: its kernel by symbol, its image by name.
_APART = ("kernel", "image")


def launch_facts(launch: Launch) -> dict[str, Any]:
    """Return the fields of a launch that are not as they are by default."""
    return _fields(launch, _APART)


def _fields(given: Any, apart: tuple[str, ...] = ()) -> dict[str, Any]:
    found = {}
    for field in dataclasses.fields(given):
        value = getattr(given, field.name)
        default = field.default
        if field.default_factory is not dataclasses.MISSING:
            default = field.default_factory()
        if field.name not in apart and value != default:
            found[field.name] = _plain(value)
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not isfinite(value):
        return repr(value)  # which JSON cannot say
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if dataclasses.is_dataclass(value):
        return {type(value).__name__: _fields(value)}
    return repr(value)
