"""`read_launches`: functions and how they launch, from a TOML or JSON file."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .launch import Launch

__all__ = ["make_launch", "read_launches"]

_FIELDS = tuple(field.name for field in dataclasses.fields(Launch))


def read_launches(path: Path) -> dict[str, list[Launch]]:
    """Return the functions of a file: for each, the kernels that it launches, in order.

    Each table is a function; its keys are the fields of a `Launch`. Several launches are a list.

    Raises
    ------
    OSError
        The file cannot be read.
    TypeError, ValueError
        It is neither TOML nor JSON, or what it says is no launch; the message names the function.
    """
    data = path.read_bytes()
    try:
        text = data.decode()
        tables = json.loads(text) if path.suffix == ".json" else _toml(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: {error}") from None
    if not isinstance(tables, Mapping) or not tables:
        raise ValueError(f"{path} names no function: write a table for each, such as [saxpy]")
    return {name: _launches(path, name, table) for name, table in tables.items()}


def make_launch(what: str, fields: Mapping[str, Any]) -> Launch:
    """Return a launch of plain values; messages call it `what`.

    Raises
    ------
    TypeError, ValueError
        A field is unknown or wrong.
    """
    unknown = fields.keys() - set(_FIELDS)
    if unknown:
        raise ValueError(f"{what}: a launch has no {min(unknown)!r}; it has {', '.join(_FIELDS)}")
    try:
        return Launch(**fields)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{what}: {error}") from None


def _launches(path: Path, name: str, table: Any) -> list[Launch]:
    rows = table if isinstance(table, list) else [table]
    if not rows or not all(isinstance(row, Mapping) for row in rows):
        raise ValueError(f"{path}: {name} is a table of a launch's fields, or a list of those")
    return [make_launch(f"{path}: {name}", row) for row in rows]


def _toml(text: str) -> Any:
    try:
        import tomllib
    except ImportError:
        raise ValueError("TOML is read from Python 3.11 on: write JSON, as x.json") from None
    return tomllib.loads(text)
