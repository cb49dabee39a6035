"""`read_table`: a table of TVM's from a file, from text or bytes, or from what JSON says."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..document import parse_json
from .binary_form import RawTable, best_reading, made_functions, read_raw
from .byte_reader import ByteReader
from .function_table import FunctionTable
from .json_form import FUNCTIONS, read_mapping
from .layouts import Layout

__all__ = ["found_table", "made_table", "read_table"]


def read_table(source: str | bytes | os.PathLike[str] | Mapping[str, Any]) -> FunctionTable:
    """Read a table of TVM's, in any layout that it has had.

    Parameters
    ----------
    source : path, str, bytes or mapping
        A file (``k.tvm_meta.json``), its JSON text, the bytes of a table in the binary form, or
        what the JSON says; of the latter also the functions alone (``"func_info"``).

    Returns
    -------
    FunctionTable
        Flags that an older table lacks are off.

    Raises
    ------
    OSError
        The file cannot be read.
    TypeError, ValueError
        It is no table; the message names the function and field, or the byte.
    """
    if isinstance(source, Mapping):
        return _from_mapping(source)
    if isinstance(source, bytes | bytearray | memoryview):
        return _named("the table", bytes(source))
    if isinstance(source, str) and source.lstrip("\ufeff \t\r\n").startswith("{"):
        return _named("the table", source.removeprefix("\ufeff"))
    if not isinstance(source, str | os.PathLike):
        raise TypeError(
            "a table is a path, JSON text, bytes, or a mapping as JSON has it, got "
            f"{type(source).__name__}"
        )
    return _named(os.fsdecode(source), Path(source).read_bytes())


def found_table(name: str, content: bytes) -> FunctionTable | None:
    """Return the table of TVM's that a file is, by its name or by what it says, else None.

    Raises
    ------
    TypeError, ValueError
        It is one, and as wrong as in `read_table`.
    """
    if name.endswith(".tvm_meta.json") or _is_table(content):
        return _named(name, content)
    return None


def _is_table(content: bytes) -> bool:
    try:
        data = _parsed(content)
    except ValueError:
        return False
    rows = data.get(FUNCTIONS, data) if isinstance(data, Mapping) else {}
    if not isinstance(rows, Mapping) or not rows:
        return False
    return all(isinstance(row, Mapping) and "arg_types" in row for row in rows.values())


def _parsed(data: str | bytes) -> Any:
    """Return what JSON text says; raises ValueError."""
    if isinstance(data, str):
        data = data.encode(errors="surrogatepass")
    try:
        return parse_json(data, tagged=False)
    except ValueError as error:
        raise ValueError(f"it is no table's bytes, and {error}") from None


def _named(label: str, data: str | bytes) -> FunctionTable:
    try:
        # A count of functions, which is less than 2^56, has zeros where no text has any.
        if isinstance(data, bytes) and b"\0" in data[:8]:
            return made_table(best_reading(data, _read_whole)[0])
        parsed = _parsed(data)
        if not isinstance(parsed, Mapping):
            raise TypeError(f"wanted an object with 'func_info', got {type(parsed).__name__}")
        return _from_mapping(parsed)
    except TypeError as error:
        raise TypeError(f"{label}: {error}") from None
    except ValueError as error:
        raise ValueError(f"{label}: {error}") from None


def _read_whole(reader: ByteReader, layout: Layout) -> tuple[RawTable, None]:
    return read_raw(reader, layout), None


def _from_mapping(data: Mapping[str, Any]) -> FunctionTable:
    read = read_mapping(data)
    extra = read.extra if FUNCTIONS in data else FunctionTable().extra
    return FunctionTable(read.functions, layout=read.layout, extra=extra)  # type: ignore[arg-type]


def made_table(raw: RawTable) -> FunctionTable:
    """Return the table that bytes have; raises ValueError."""
    return FunctionTable(made_functions(raw), layout=raw.layout)  # type: ignore[arg-type]
