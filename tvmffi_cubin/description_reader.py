"""`read_description`: the parts of a `Description`, of JSON values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .arguments import identifier
from .bound import Bound
from .document import json_values
from .launch_json import Further, Launched
from .launch_reader import read_argument, read_function, type_name
from .schema import SCHEMA, SchemaError, check_schema, newer_hint

__all__ = ["read_description"]

_TOP = ("schema", "name", "arch", "ptx", "bound_params", "functions", "images")
# What a document has at least one of, unless it is a table of functions itself.
_LONG = ("schema", "functions", "images")
_TVM = {"tvm_version", "func_info"}


def read_description(value: Any, what: str) -> dict[str, Any]:
    """Return the fields of a `Description`.

    Parameters
    ----------
    value : mapping
        JSON values: a description, or the functions of one alone.
    what : str
        What messages call it.

    Raises
    ------
    TypeError, ValueError
        A value is wrong; the message begins with `what` and the value's place.
    """
    if not isinstance(value, Mapping):
        raise TypeError(f"{what}: wanted an object with functions, got {type_name(value)}")
    try:
        # The form of others may be any.
        if "schema" in value:
            check_schema(value["schema"], "schema")
        return _read(json_values(value, ""))
    except (TypeError, ValueError) as error:
        kinds = (TypeError, SchemaError, ValueError)
        again = next(kind for kind in kinds if isinstance(error, kind))
        hint = newer_hint(value.get("schema"))
        raise again(f"{what}: {str(error).removeprefix('.')}{hint}") from None


def _read(value: dict[str, Any]) -> dict[str, Any]:
    if value and not any(name in value for name in _LONG):
        if value.keys() >= _TVM:
            raise ValueError("it is a table of TVM's: tvmffi_cubin.tvm reads those")
        value = {"functions": value}
    further: Further = {}
    functions, docs = _functions(value.get("functions", {}), further)
    found: dict[str, Any] = {
        "schema": value.get("schema", SCHEMA),
        "functions": functions,
        "docs": docs,
        "images": value.get("images", {}),
        "bound_params": _bound_params(value.get("bound_params", []), further),
        **{name: value[name] for name in ("name", "arch", "ptx") if name in value},
    }
    rest = {name: x for name, x in value.items() if name not in _TOP}
    return {**found, "further": {**further, "": rest}}


def _functions(value: Any, further: Further) -> tuple[dict[str, Launched], dict[str, str]]:
    if not isinstance(value, Mapping):
        raise TypeError(f"functions: wanted an object, got {type_name(value)}")
    functions: dict[str, Launched] = {}
    docs: dict[str, str] = {}
    for name, given in value.items():
        where = f"functions.{identifier('functions', name)}"
        functions[name] = read_function(given, where=where, further=further)
        own = further.get(where, {})
        if "doc" in own:
            docs[name] = _doc(where, own.pop("doc"))
        if not own:
            further.pop(where, None)
    return functions, docs


def _doc(where: str, doc: Any) -> str:
    if not isinstance(doc, str):
        raise TypeError(f"{where}.doc: wanted a str, got {type_name(doc)}")
    return doc


def _bound_params(value: Any, further: Further) -> list[str | Bound]:
    if not isinstance(value, list):
        raise TypeError(f"bound_params: wanted a list, got {type_name(value)}")
    return [
        read_argument(x, where=f"bound_params[{i}]", further=further) for i, x in enumerate(value)
    ]
