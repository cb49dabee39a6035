"""`read_function`: functions and their launches from JSON values, see `launch_json`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import Field, dataclass, fields
from typing import Any

from .dispatch import Dispatch
from .launch import Launch
from .launch_json import TAGGED, Further, Launched

__all__ = ["read_argument", "read_function", "type_name"]

_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_TAGS = ("Bytes", "Float", *TAGGED)
# Longer ones are no number of an attribute, whatever they are.
_NUMBER = re.compile(r"0|[1-9][0-9]{0,8}")
_MAPPED = re.compile(r"Mapping\[(\w+)")
_TYPES = {
    dict: "an object", list: "a list", str: "a str", bool: "a bool", int: "an int",
    float: "a float", type(None): "null",
}  # fmt: skip


@dataclass(frozen=True)
class _Place:
    """A place in a document, as messages show it, and as it is in the canonical form."""

    shown: str
    canonical: str

    def then(self, text: str) -> _Place:
        return _Place(self.shown + text, self.canonical + text)


def type_name(value: object) -> str:
    """Return what messages call a JSON value's type."""
    return _TYPES.get(type(value), type(value).__name__)


def read_function(
    value: Any, *, where: str = "function", further: Further | None = None
) -> Launched:
    """Return a function of JSON values.

    Parameters
    ----------
    value : mapping or sequence
        ``{"launches": [...]}``, ``{"instances": [{"launches": [...]}, ...]}``, a launch alone, or a
        list of launches.
    where : str
        What messages call its place.
    further : dict, optional
        Where fields go that no class here has, by the place of their object: of an object with
        launches what else it has, ``doc`` with it. Default: they are an error.

    Raises
    ------
    TypeError, ValueError
        A value is wrong; the message begins with its place.
    """
    place = _Place(where, where)
    if isinstance(value, Mapping) and "instances" in value:
        own = {"instances"}
        if "launches" in value:
            raise ValueError(f"{where}: a function has launches or instances, got both")
        given = value["instances"]
        if not isinstance(given, list | tuple):
            raise TypeError(f"{where}.instances: wanted a list, got {type_name(given)}")
        instances = [
            _launches(place.then(f".instances[{position}]"), instance, further)
            for position, instance in enumerate(given)
        ]
        _keep(place, value, own, further, "a function has launches or instances, and doc")
        made: Dispatch = _made(place.then(".instances"), Dispatch, {"instances": instances})
        return made
    launches = _launches(place, value, further)
    return launches[0] if len(launches) == 1 else launches


def read_argument(value: Any, *, where: str = "argument", further: Further | None = None) -> Any:
    """Return a value of ``Launch(args=...)`` of a JSON value; `further` is that of `read_function`.

    Raises
    ------
    TypeError, ValueError
        It is none; the message begins with `where`.
    """
    return _read(_Place(where, where), value, further)


def _launches(place: _Place, value: Any, further: Further | None) -> tuple[Launch, ...]:
    if isinstance(value, Mapping) and "launches" not in value:
        # A launch alone: its docstring is the function's.
        own = {name: x for name, x in value.items() if name != "doc"}
        _keep(place, value, own.keys(), further, "a launch alone has no docstring here")
        first = _Place(place.shown, f"{place.canonical}.launches[0]")
        return (_launch(first, own, further),)
    if isinstance(value, Mapping):
        _keep(place, value, {"launches"}, further, "there are launches, and doc")
        value, place = value["launches"], place.then(".launches")
    else:
        place = _Place(place.shown, f"{place.canonical}.launches")
    if not isinstance(value, list | tuple):
        raise TypeError(
            f"{place.shown}: wanted a list of launches, or an object with launches or with a "
            f"launch's fields, got {type_name(value)}"
        )
    if not value:
        raise ValueError(f"{place.shown}: the list of launches is empty")
    return tuple(_launch(place.then(f"[{i}]"), x, further) for i, x in enumerate(value))


def _launch(place: _Place, value: Any, further: Further | None) -> Launch:
    image = value.get("image") if isinstance(value, Mapping) else None
    if not isinstance(image, str | None):
        raise TypeError(f"{place.shown}.image: wanted an image's name, got {type_name(image)}")
    if image is not None and not image.isidentifier():
        raise ValueError(
            f"{place.shown}.image: wanted an image's name, got {image!r}; where it is, a "
            'description says by its name: "images": {"k": {"path": "k.cubin"}}'
        )
    launch: Launch = _object(place, Launch, value, further)
    return launch


def _object(place: _Place, kind: type, value: Any, further: Further | None) -> Any:
    if not isinstance(value, Mapping):
        raise TypeError(
            f"{place.shown}: wanted an object of a {kind.__name__}'s fields, got {type_name(value)}"
        )
    known = {field.name: field for field in fields(kind)}
    found = {
        name: _field(place.then(f".{name}"), known[name], x, further)
        for name, x in value.items()
        if name in known
    }
    _keep(place, value, known.keys(), further, f"a {kind.__name__} has {', '.join(known)}")
    return _made(place, kind, found)


def _made(place: _Place, kind: type, values: Mapping[str, Any]) -> Any:
    try:
        return kind(**values)
    except (TypeError, ValueError) as error:
        again = TypeError if isinstance(error, TypeError) else ValueError
        raise again(f"{place.shown}: {error}") from None


def _field(place: _Place, field: Field[Any], value: Any, further: Further | None) -> Any:
    # Elsewhere an object with one key says what JSON has no word for; here it may be a name.
    mapped = _MAPPED.match(str(field.type))
    if mapped is None or not isinstance(value, Mapping):
        return _read(place, value, further)
    return {
        _number(place, key) if mapped[1] == "int" else key: _read(place.then(f".{key}"), x, further)
        for key, x in value.items()
    }


def _read(place: _Place, value: Any, further: Further | None) -> Any:
    if isinstance(value, list | tuple):
        return [_read(place.then(f"[{i}]"), x, further) for i, x in enumerate(value)]
    if not isinstance(value, Mapping):
        return value
    tag, inner = next(iter(value.items())) if len(value) == 1 else (None, None)
    if tag in TAGGED:
        return _object(place, TAGGED[tag], inner, further)
    if tag == "Bytes" or tag == "Float":
        if not isinstance(inner, str):
            raise TypeError(f"{place.shown}.{tag}: wanted a str, got {type_name(inner)}")
        return _bytes(place, inner) if tag == "Bytes" else _float(place, inner)
    got = repr(tag) if isinstance(tag, str) else ", ".join(map(repr, value)) or "none"
    raise ValueError(
        f"{place.shown}: wanted a constant, an expression, or an object with one of the keys "
        f"{', '.join(_TAGS)}, got an object with the key {got}"
    )


def _bytes(place: _Place, text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError as error:
        raise ValueError(f"{place.shown}.Bytes: wanted bytes in hexadecimal: {error}") from None


def _float(place: _Place, text: str) -> float:
    if text not in _FLOATS:
        raise ValueError(f"{place.shown}.Float: wanted {', '.join(_FLOATS)}, got {text!r}")
    return _FLOATS[text]


def _number(place: _Place, key: Any) -> int:
    if not isinstance(key, str) or not _NUMBER.fullmatch(key):
        raise ValueError(f"{place.shown}: wanted an attribute's number as a key, got {key!r}")
    return int(key)


def _keep(
    place: _Place, value: Mapping[str, Any], known: Any, further: Further | None, has: str
) -> None:
    """Keep the fields of an object that are not `known`."""
    rest: dict[str, Any] = dict(_rest(value, known))
    if rest and further is None:
        raise ValueError(f"{place.shown}: got the field {next(iter(rest))!r}; {has}")
    if rest and further is not None:
        further.setdefault(place.canonical, {}).update(rest)


def _rest(value: Mapping[str, Any], known: Any) -> Iterator[tuple[str, Any]]:
    return ((name, x) for name, x in value.items() if name not in known)
