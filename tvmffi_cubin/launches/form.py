"""Functions and their launches as JSON values: in keys, in manifests and in descriptions.

A function is ``{"launches": [...]}`` or ``{"instances": [{"launches": [...]}, ...]}``; a launch has
the fields of `Launch` that are not as by default. What JSON has no word for is an object with one
key: ``{"TensorMap": {...}}``, ``{"Scratch": {...}}``, ``{"Bound": {...}}``, ``{"Bytes": "00ff"}``,
``{"Float": "nan"}``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Any

from .dispatch import Dispatch
from .figures import plain
from .launch import Launch
from .tensor_map import TensorMap
from .values import Bound, Scratch

Launched = Launch | Sequence[Launch] | Dispatch
"""What a function is described by."""

_TAGGED: dict[str, type] = {"TensorMap": TensorMap, "Scratch": Scratch, "Bound": Bound}
"""Classes of an argument's value, by the key of the object that stands for one."""

# One NaN, so that a launch equals the one that is read back.
_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_TAGS = ("Bytes", "Float", *_TAGGED)
# Fields whose objects have names of the user's for keys; of one they are numbers.
_MAPPINGS = ("args", "attributes", "multiple_of", "equal_to", "meta")
_TYPES = {
    dict: "an object", list: "a list", str: "a str", bool: "a bool", int: "an int",
    float: "a float", type(None): "null",
}  # fmt: skip


def type_name(value: object) -> str:
    """Return what messages call a JSON value's type."""
    return _TYPES.get(type(value), type(value).__name__)


# Writing


def function_value(function: Launched, *, where: str = "function") -> dict[str, Any]:
    """Return a function as JSON values; `where` is what messages call its place."""
    if not isinstance(function, Dispatch):
        launches = [function] if isinstance(function, Launch) else function
        return {"launches": _launch_values(launches, where)}
    return {
        "instances": [
            {"launches": _launch_values(launches, f"{where}.instances[{position}]")}
            for position, launches in enumerate(function.instances)
        ]
    }


def launch_value(launch: Launch) -> dict[str, Any]:
    """Return the fields of a launch that are not as they are by default, as JSON values."""
    return _fields(launch, "launch")


def argument_value(value: Any, *, where: str = "argument") -> Any:
    """Return a value of ``Launch(args=...)`` as a JSON value."""
    return _value(value, where)


def _launch_values(launches: Sequence[Launch], where: str) -> list[dict[str, Any]]:
    return [_fields(x, f"{where}.launches[{i}]") for i, x in enumerate(launches)]


def _fields(given: Any, where: str) -> dict[str, Any]:
    found = {}
    for field in fields(given):
        value = getattr(given, field.name)
        if field.name == "image" and not isinstance(value, str | None):
            raise TypeError(
                f"{where}.image: an image has a name in JSON, got {type(value).__name__}: give it "
                'one, as in Launch(image="k") beside embed_cubin={"k": ...}'
            )
        default = field.default if field.default_factory is MISSING else field.default_factory()
        if value != default:
            found[field.name] = _value(value, f"{where}.{field.name}")
    return found


def _value(value: Any, where: str) -> Any:
    value = plain(value)
    if value is None or type(value) in (bool, int, str):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"Float": repr(float(value))}
    if isinstance(value, bytes):
        return {"Bytes": value.hex()}
    if isinstance(value, Mapping):
        return {str(key): _value(x, f"{where}.{key}") for key, x in value.items()}
    if isinstance(value, tuple | list):
        return [_value(x, where) for x in value]
    tag = type(value).__name__
    if tag in _TAGGED:
        return {tag: _fields(value, where)}
    raise TypeError(f"{where}: JSON has no word for a {tag}")


# Reading


def read_function(value: Any, *, where: str = "function") -> Launched:
    """Return a function of JSON values."""
    if isinstance(value, Mapping) and "instances" in value:
        if "launches" in value:
            raise ValueError(f"{where}: a function has launches or instances, got both")
        _refuse_others(where, value, ("instances",), "a function has launches or instances")
        given = value["instances"]
        if not isinstance(given, list | tuple):
            raise TypeError(f"{where}.instances: wanted a list, got {type_name(given)}")
        instances = [_launches(x, f"{where}.instances[{i}]") for i, x in enumerate(given)]
        made: Dispatch = _made(Dispatch, {"instances": instances}, f"{where}.instances")
        return made
    launches = _launches(value, where)
    return launches[0] if len(launches) == 1 else launches


def read_argument(value: Any, *, where: str = "argument") -> Any:
    """Return a value of ``Launch(args=...)`` of a JSON value."""
    if isinstance(value, list | tuple):
        return [read_argument(x, where=f"{where}[{i}]") for i, x in enumerate(value)]
    if not isinstance(value, Mapping):
        return value
    tag, inner = next(iter(value.items())) if len(value) == 1 else (None, None)
    if tag in _TAGGED:
        return _object(_TAGGED[tag], inner, where)
    if tag == "Float" and str(inner) in _FLOATS:
        return _FLOATS[str(inner)]
    if tag == "Bytes" and isinstance(inner, str):
        try:
            return bytes.fromhex(inner)
        except ValueError as error:
            raise ValueError(f"{where}.Bytes: {error}") from None
    raise ValueError(
        f"{where}: wanted a constant, an expression, or an object with one of the keys "
        f"{', '.join(_TAGS)}, got an object with the key "
        f"{', '.join(map(repr, value)) or 'none'}"
    )


def _launches(value: Any, where: str) -> tuple[Launch, ...]:
    if isinstance(value, Mapping) and "launches" not in value:
        return (_launch(value, where),)
    if isinstance(value, Mapping):
        _refuse_others(where, value, ("launches",), "there are launches")
        value, where = value["launches"], f"{where}.launches"
    if not isinstance(value, list | tuple):
        raise TypeError(
            f"{where}: wanted a list of launches, or an object with launches or with a launch's "
            f"fields, got {type_name(value)}"
        )
    if not value:
        raise ValueError(f"{where}: the list of launches is empty")
    return tuple(_launch(x, f"{where}[{i}]") for i, x in enumerate(value))


def _launch(value: Any, where: str) -> Launch:
    image = value.get("image") if isinstance(value, Mapping) else None
    if not isinstance(image, str | None):
        raise TypeError(f"{where}.image: wanted an image's name, got {type_name(image)}")
    if image is not None and not image.isidentifier():
        raise ValueError(
            f"{where}.image: wanted an image's name, got {image!r}; where it is, a description "
            'says by its name: "images": {"k": {"path": "k.cubin"}}'
        )
    launch: Launch = _object(Launch, value, where)
    return launch


def _object(kind: type, value: Any, where: str) -> Any:
    if not isinstance(value, Mapping):
        raise TypeError(
            f"{where}: wanted an object of a {kind.__name__}'s fields, got {type_name(value)}"
        )
    known = [field.name for field in fields(kind)]
    _refuse_others(where, value, known, f"a {kind.__name__} has {', '.join(known)}")
    found = {}
    for name, x in value.items():
        inner = f"{where}.{name}"
        if name in _MAPPINGS and isinstance(x, Mapping):
            found[name] = {
                _key(name, key, inner): read_argument(item, where=f"{inner}.{key}")
                for key, item in x.items()
            }
        else:
            found[name] = read_argument(x, where=inner)
    return _made(kind, found, where)


def _key(field: str, key: Any, where: str) -> Any:
    if field != "attributes":
        return key
    if not isinstance(key, str) or not key.isdecimal():
        raise ValueError(f"{where}: wanted an attribute's number as a key, got {key!r}")
    return int(key)


def _made(kind: type, values: Mapping[str, Any], where: str) -> Any:
    try:
        return kind(**values)
    except (TypeError, ValueError) as error:
        again = TypeError if isinstance(error, TypeError) else ValueError
        raise again(f"{where}: {error}") from None


def _refuse_others(where: str, value: Mapping[str, Any], known: Sequence[str], has: str) -> None:
    other = next((name for name in value if name not in known), None)
    if other is not None:
        raise ValueError(f"{where}: got the field {other!r}; {has}")
