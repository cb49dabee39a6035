"""A document of JSON values: read from text strictly, checked to hold nothing else."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import partial
from typing import Any, NoReturn

from .figures import plain

__all__ = ["json_values", "parse_json", "parse_toml"]

# More than any launch has, and far less than Python's stack takes.
_MOST_NESTED = 64
_MOST_DIGITS = 300
_MOST_BITS = 1000


def parse_json(data: bytes, *, tagged: bool = True) -> Any:
    """Return the values of a JSON text in UTF-8.

    Parameters
    ----------
    data : bytes
        The text.
    tagged : bool
        Whether the form has ``{"Float": "nan"}``, for a remedy.

    Raises
    ------
    ValueError
        It is none; or says what other readers may take otherwise: a key twice, ``NaN``, a number
        that no float64 can be.
    """
    try:
        return json.loads(
            data.decode("utf-8-sig"),
            object_pairs_hook=_object,
            parse_constant=partial(_refuse_constant, tagged=tagged),
            parse_float=partial(_float, tagged=tagged),
            parse_int=_int,
        )
    except RecursionError:
        raise ValueError(f"it is nested more than {_MOST_NESTED} deep") from None
    except ValueError as error:
        raise ValueError(f"it is no JSON: {error}") from None


def parse_toml(data: bytes) -> Any:
    """Return the values of a TOML text.

    Raises
    ------
    ValueError
        It is none, or this Python reads none.
    """
    try:
        import tomllib
    except ImportError:
        raise ValueError("TOML is read from Python 3.11 on: write JSON, as x.json") from None
    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except RecursionError:
        raise ValueError(f"it is nested more than {_MOST_NESTED} deep") from None
    except ValueError as error:
        raise ValueError(f"it is no TOML: {error}") from None


def json_values(value: Any, where: str, most_nested: int = _MOST_NESTED) -> Any:
    """Return a value as JSON values alone: tuples as lists, numbers of NumPy's as Python's own.

    Raises
    ------
    TypeError, ValueError
        It holds something else, or is nested too deep; the message begins with its place, which is
        `where` for the value itself.
    """
    return _plain(value, where, (), most_nested)


def _plain(value: Any, where: str, above: tuple[int, ...], most: int) -> Any:
    if len(above) > most or id(value) in above:
        raise ValueError(f"{where[:80]}: it is nested more than {most} deep")
    inside = (*above, id(value))
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"{where}: a key is a str, got {type(key).__name__}")
        return {str(key): _plain(x, f"{where}.{key}", inside, most) for key, x in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(x, f"{where}[{i}]", inside, most) for i, x in enumerate(value)]
    value = plain(value)
    if value is None or type(value) in (bool, str):
        return value
    if type(value) is int:
        if value.bit_length() > _MOST_BITS:
            raise ValueError(f"{where}: an int of {value.bit_length()} bits is no launch's")
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f'{where}: JSON has no {value}: write {{"Float": "{value}"}}')
        return float(value)
    hint = ': write {"Bytes": "hexadecimal"}' if isinstance(value, bytes) else ""
    raise TypeError(f"{where}: wanted JSON values, got {type(value).__name__}{hint}")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"an object has the key {key!r} twice")
        found[key] = value
    return found


def _refuse_constant(text: str, *, tagged: bool) -> NoReturn:
    word = {"NaN": "nan", "Infinity": "inf"}.get(text, "-inf")
    remedy = f': write {{"Float": "{word}"}}' if tagged else ""
    raise ValueError(f"{text} is no JSON{remedy}")


def _float(text: str, *, tagged: bool) -> float:
    value = float(text)
    if math.isinf(value):
        remedy = ': write {"Float": "inf"} for infinity' if tagged else ""
        raise ValueError(f"{text[:40]} is beyond a float64{remedy}")
    return value


def _int(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise ValueError(f"{text[:40]}... is an int of {len(text)} digits")
    return int(text)
