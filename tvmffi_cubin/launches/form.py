"""Functions and their launches as JSON values, for keys, manifests and descriptions.

A function is ``{"launches": [...]}`` or ``{"instances": [{"launches": [...]}, ...]}``; a launch has
the fields of `Launch` that differ from their defaults. A value that JSON lacks is an object with
one key: ``{"TensorMap": {...}}``, ``{"Scratch": {...}}``, ``{"Bound": {...}}``,
``{"Bytes": "00ff"}``, ``{"Float": "nan"}``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from .launch import Dispatch, Instances, Launch, instances_of
from .values import Bound, Record, Scratch, told


def to_json(value: Any) -> Any:
    """Return one launch or several, or a value of ``Launch(args=...)``, as JSON values."""
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, Record):
        fields = to_json(value.changed())
        return fields if isinstance(value, Launch) else {type(value).__name__: fields}
    if isinstance(value, dict):
        return {str(name): to_json(x) for name, x in value.items()}
    if isinstance(value, tuple | list):
        return [to_json(x) for x in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"Float": repr(float(value))}
    if isinstance(value, bytes):
        return {"Bytes": value.hex()}
    raise TypeError(f"cannot represent a {type(value).__name__} in JSON")


def read_function(value: Any, *, where: str) -> Dispatch:
    """Read a function from JSON values; `where` is its place in messages."""
    if isinstance(value, Mapping) and [*value] == ["instances"]:
        given = enumerate(value["instances"])
        return Dispatch([_launches(x, f"{where}.instances[{i}]") for i, x in given])
    return Dispatch([_launches(value, where)])


def _argument(value: Any, where: str) -> Any:
    """Read a value of ``Launch(args=...)`` from a JSON value."""
    if not isinstance(value, Mapping):
        return value
    from .tensor_map import TensorMap

    kinds: dict[Any, Any] = {x.__name__: x for x in (TensorMap, Scratch, Bound)}
    with told(where):
        match [*value.items()]:
            case [(word, Mapping() as fields)] if word in kinds:
                return kinds[word](**fields)
            case [("Bytes", str(text))]:
                return bytes.fromhex(text)
            case [("Float", str(text))]:
                return float(text)
        raise ValueError(f"expected one of TensorMap, Scratch, Bound, Bytes, Float, got {value}")


def _launches(value: Any, where: str) -> tuple[Launch, ...]:
    if isinstance(value, Mapping) and [*value] == ["launches"]:
        value, where = value["launches"], f"{where}.launches"
    if isinstance(value, Mapping):
        return (_launch(value, where),)
    if not isinstance(value, list | tuple) or not value:
        raise TypeError(f"{where}: expected a launch's fields or a list of launches, got {value!r}")
    return tuple(_launch(x, f"{where}[{i}]") for i, x in enumerate(value))


def _launch(value: Any, where: str) -> Launch:
    if not isinstance(value, Mapping):
        raise TypeError(f"{where}: expected an object with a Launch's fields, got {value!r}")
    fields = dict(value)
    for name, x in value.items():
        if isinstance(x, Mapping):  # keyed by the user's names
            fields[name] = {key: _argument(y, f"{where}.{name}.{key}") for key, y in x.items()}
    with told(where):
        return Launch(**fields)


class Export(NamedTuple):
    """A function to export; `instances` as in a `Dispatch`, None if the sources decide."""

    name: str
    doc: str = ""
    instances: Instances | None = None

    @property
    def launches(self) -> tuple[Launch, ...]:
        """The launches of all instances, in order."""
        return tuple(launch for launches in self.instances or () for launch in launches)


def key_text(exports: Sequence[Export]) -> str:
    """Return exports in full, as one text for a key."""
    # Many functions share one launch.
    launches = {id(launch): launch for x in exports for launch in x.launches}
    values = {key: to_json(launch) for key, launch in launches.items()}
    return json.dumps(exports, sort_keys=True, default=lambda launch: values[id(launch)])


def read_exports(values: Iterable[Any]) -> tuple[Export, ...]:
    """Read exports from the parsed JSON of a `key_text`."""
    return tuple(
        Export(name, doc, ways and tuple(_launches(way, f"functions.{name}") for way in ways))
        for name, doc, ways in values
    )


def read_functions(value: Any) -> tuple[Export, ...] | None:
    """Return the argument `functions` in one form; None if it is omitted."""
    if value is None:
        return None
    if not isinstance(value, Iterable):
        raise TypeError(f"functions must be a name, names or a mapping, got {type(value).__name__}")
    if not isinstance(value, Mapping):
        names = (value,) if isinstance(value, str) else value
        value = {identifier("functions", name): None for name in names}
    docs = getattr(value, "docs", {})  # from a description
    exports = []
    for name, given in value.items():
        doc, instances = docs.get(identifier("functions", name), ""), None
        if isinstance(given, str):
            doc = given
        elif given is not None:
            instances = instances_of(f"functions[{name!r}]", given)
        exports.append(Export(name, doc, instances))
    return tuple(exports)


def identifier(what: str, name: object) -> str:
    """Return a name that is a C identifier; raise TypeError or ValueError for others."""
    if not isinstance(name, str):
        raise TypeError(f"{what}: a name must be a str, got {type(name).__name__}")
    if not (name.isascii() and name.isidentifier()):
        remedy = f"; for a kernel: {{'k': Launch(kernel={name!r})}}" if "<" in name else ""
        raise ValueError(f"{what}: {name!r} is not a valid C identifier{remedy}")
    return name
