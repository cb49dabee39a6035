"""TVM's binary forms: a table of functions, and a whole CUDA module with one."""

from __future__ import annotations

import struct
from typing import Any

from .tvm_table import FunctionInfo

# Layouts are texts, `struct`'s formats, tuples of layouts, and lists: a count and as many of one.
_DTYPE, _SIZE = "<BBH", "<Q"
# A function in the newest tables and in older ones. Only the newest is marked.
_MARKER = "__tvm_function_info_v2__"
_FUNCTIONS: tuple[tuple[Any, ...], ...] = (
    # name, marker, name, types, tags, tags of types, fields, how it was compiled
    ("text", "text", "text", [_DTYPE], ["text"], ["<i"], ["text"], [("text", "<q")]),
    ("text", "text", [_DTYPE], ["text"], ["<i"]),
    ("text", "text", [_DTYPE], ["text"]),
)
# What is before a table and behind it: a module has a format, then the code.
_TABLE: tuple[tuple[Any, Any], ...] = (((), ()),)
_MODULES: tuple[tuple[Any, Any], ...] = (
    (("text", "text"), ("bytes", [("text", "text")])),  # marked, with what it was made from
    (("text",), ("bytes", "text")),
    (("text",), ("bytes",)),
)

# By DLPack's code of a kind; those of the first are written with their bits.
_SIZED = {0: "int", 1: "uint", 2: "float", 4: "bfloat"}
_WHOLE = {
    3: "handle",
    6: "bool",
    30: "grid_constant",
    10: "float8_e4m3fn",
    12: "float8_e5m2",
    14: "float8_e8m0fnu",
}


def binary_rows(data: bytes) -> list[FunctionInfo]:
    """Read a table; raises ValueError where it is none."""
    _, rows, _ = _read(data, _TABLE)
    return rows


def binary_module(data: bytes) -> tuple[str, bytes, list[FunctionInfo]]:
    """Read a module; raises ValueError where it is none.

    Returns a format (``"cubin"``, ``"ptx"``, ``"fatbin"`` or ``"cuda"``), the code, and its table.
    """
    (*_, format_), rows, (code, *_) = _read(data, _MODULES)
    if format_ not in ("cubin", "ptx", "fatbin", "cuda"):
        raise ValueError(f"the format is {format_[:80]!r}, wanted cubin, ptx, fatbin or cuda")
    return format_, code, rows


def _read(data: bytes, wholes: tuple[tuple[Any, Any], ...]) -> tuple[Any, list[FunctionInfo], Any]:
    """Return what is before a table, its rows, and what is behind, by the layout that fits."""
    for function in _FUNCTIONS:
        for before, after in wholes:
            reader = _Reader(data)
            try:
                head = reader.read(before)
                found = head, [_row(x) for x in reader.read([function])], reader.read(after)
            except ValueError:
                continue
            if reader.at == len(data):
                return found
    raise ValueError("it is damaged, or in none of TVM's binary forms, versions 0 to 2")


class _Reader:
    """Reads one layout after the other; raises ValueError where the data ends or is no text."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def read(self, layout: Any) -> Any:
        if isinstance(layout, list):
            return tuple(self.read(layout[0]) for _ in range(self.read(_SIZE)))
        if isinstance(layout, tuple):
            return tuple(map(self.read, layout))
        if layout in ("text", "bytes"):
            data = self._take(self.read(_SIZE))
            return data if layout == "bytes" else data.decode()
        found = struct.unpack(layout, self._take(struct.calcsize(layout)))
        return found if layout == _DTYPE else found[0]

    def _take(self, size: int) -> bytes:
        data = self.data[self.at : self.at + size]
        if len(data) < size:
            raise ValueError("the data ends")
        self.at += size
        return data


def _row(values: tuple[Any, ...]) -> FunctionInfo:
    key, name, *rest = values
    is_newest = isinstance(rest[0], str)
    inner = rest.pop(0) if is_newest else name
    if (name == _MARKER) != is_newest or inner not in (key, ""):  # older TVMs leave it empty
        raise ValueError(f"function {key!r} is of another version")
    types, tags, extra, fields, *_ = (*rest, (), ())
    return FunctionInfo(key, tuple(map(_type_name, types)), tags, extra, fields)


def _type_name(dtype: tuple[int, int, int]) -> str:
    code, bits, lanes = dtype
    name = _WHOLE.get(code) or f"{_SIZED.get(code, f'type{code}_')}{bits}"
    return name if lanes == 1 else f"{name}x{lanes}"
