"""Functions and their launches as JSON values: the form of descriptions and of manifests."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, fields
from typing import Any

from .bound import Bound
from .dispatch import Dispatch
from .figures import plain
from .launch import Launch
from .scratch import Scratch
from .tensor_map import TensorMap

__all__ = [
    "TAGGED",
    "Further",
    "Launched",
    "argument_value",
    "function_value",
    "launch_value",
    "places",
]

Launched = Launch | Sequence[Launch] | Dispatch
"""What a function is described by."""

Further = dict[str, dict[str, Any]]
"""Fields that no class here has, by the place of the object that has them."""

TAGGED: dict[str, type] = {"TensorMap": TensorMap, "Scratch": Scratch, "Bound": Bound}
"""Classes of an argument's value, by the key of the object that stands for one."""


def function_value(
    function: Launched, *, where: str = "", further: Mapping[str, Mapping[str, Any]] | None = None
) -> dict[str, Any]:
    """Return a function as JSON values.

    Parameters
    ----------
    function : Launch, sequence of Launch or Dispatch
        How it launches.
    where : str
        Its place, by which `further` has what belongs to it.
    further : mapping, optional
        See `launch_reader.read_function`.

    Raises
    ------
    TypeError
        A launch carries an image: JSON has the name of one.
    """
    further = further or {}
    own = further.get(where, {})
    if not isinstance(function, Dispatch):
        launches = [function] if isinstance(function, Launch) else function
        return {"launches": _launch_values(launches, where, further), **own}
    instances = []
    for position, launches in enumerate(function.instances):
        place = f"{where}.instances[{position}]"
        values = _launch_values(launches, place, further)
        instances.append({"launches": values, **further.get(place, {})})
    return {"instances": instances, **own}


def launch_value(
    launch: Launch, *, where: str = "", further: Mapping[str, Mapping[str, Any]] | None = None
) -> dict[str, Any]:
    """Return the fields of a launch that are not as they are by default, as JSON values.

    Raises
    ------
    TypeError
        It carries an image: JSON has the name of one.
    """
    return _fields(launch, where, further or {})


def places(function: Launched, where: str) -> Iterator[str]:
    """Yield the place of each object that a function is made of, the function's own first."""
    yield where
    if not isinstance(function, Dispatch):
        launches = (function,) if isinstance(function, Launch) else function
        yield from _launch_places(launches, where)
        return
    for position, launches in enumerate(function.instances):
        yield f"{where}.instances[{position}]"
        yield from _launch_places(launches, f"{where}.instances[{position}]")


def _launch_places(launches: Sequence[Launch], where: str) -> Iterator[str]:
    for position, launch in enumerate(launches):
        place = f"{where}.launches[{position}]"
        yield place
        for name, value in launch.args.items():
            if isinstance(value, tuple(TAGGED.values())):
                yield f"{place}.args.{name}"


def argument_value(
    value: Any, *, where: str = "argument", further: Mapping[str, Mapping[str, Any]] | None = None
) -> Any:
    """Return a value of ``Launch(args=...)`` as a JSON value.

    Raises
    ------
    TypeError
        It is none.
    """
    return _value(value, where, further or {})


def _launch_values(
    launches: Sequence[Launch], where: str, further: Mapping[str, Mapping[str, Any]]
) -> list[dict[str, Any]]:
    return [_fields(x, f"{where}.launches[{i}]", further) for i, x in enumerate(launches)]


def _fields(given: Any, where: str, further: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    found = {}
    for field in fields(given):
        value = getattr(given, field.name)
        if field.name == "image" and not isinstance(value, str | None):
            raise _nameless(f"{where}.image", value)
        if value != _default(field):
            found[field.name] = _value(value, f"{where}.{field.name}", further)
    return {**found, **further.get(where, {})}


def _default(field: Field[Any]) -> Any:
    return field.default if field.default_factory is MISSING else field.default_factory()


def _value(value: Any, where: str, further: Mapping[str, Mapping[str, Any]]) -> Any:
    value = plain(value)
    if value is None or type(value) in (bool, int, str):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"Float": repr(float(value))}
    if isinstance(value, bytes):
        return {"Bytes": value.hex()}
    if isinstance(value, Mapping):
        return {str(key): _value(x, f"{where}.{key}", further) for key, x in value.items()}
    if isinstance(value, tuple | list):
        return [_value(x, where, further) for x in value]
    tag = type(value).__name__
    if tag in TAGGED:
        return {tag: _fields(value, where, further)}
    raise TypeError(f"{where}: JSON has no word for a {tag}")


def _nameless(where: str, image: object) -> TypeError:
    return TypeError(
        f"{where}: an image has a name in JSON, got {type(image).__name__}: give it one, as in "
        'Launch(image="k") beside embed_cubin={"k": ...}'
    )
