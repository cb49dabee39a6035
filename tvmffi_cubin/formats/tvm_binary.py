"""TVM's binary forms: a table of functions, and a whole CUDA module with one."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, TypeVar

from .tvm_table import FunctionInfo

_MODULE_MARKER, _FUNCTION_MARKER = "cuda.module.v1", "__tvm_function_info_v2__"

# Layouts are texts, `struct`'s formats, tuples of layouts, and lists: a count and as many of one.
_DTYPE, _SIZE = "<BBH", "<Q"
_FUNCTIONS: dict[int, tuple[Any, ...]] = {
    # name, its name again, types, tags; then tags of types, fields, how it was compiled
    0: ("text", "text", [_DTYPE], ["text"]),
    1: ("text", "text", [_DTYPE], ["text"], ["<i"]),
    2: ("text", "text", "text", [_DTYPE], ["text"], ["<i"], ["text"], [("text", "<q")]),
}

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

_T = TypeVar("_T")


CodeAndRows = tuple[str, bytes, list[FunctionInfo]]
"""A format (``"cubin"``, ``"ptx"``, ``"fatbin"`` or ``"cuda"``), the code, and its table."""


def binary_rows(data: bytes) -> list[FunctionInfo]:
    """Read a table; raises ValueError with the byte where it is none."""
    return _best(data, _rows)


def binary_module(data: bytes) -> CodeAndRows:
    """Read a module; raises ValueError with the byte where it is none."""
    return _best(data, _module)


def _best(data: bytes, read: Callable[[_Reader, int], _T]) -> _T:
    """Return the first reading, newest version first, that takes all bytes.

    Only the newest version is marked. Where none fits, the error is that of the one that came
    farthest.
    """
    errors: list[tuple[int, str]] = []
    for version in (2, 1, 0):
        reader = _Reader(data)
        try:
            found = read(reader, version)
            if not reader.left:
                return found
            errors.append((reader.at, f"{reader.left} bytes are left"))
        except ValueError as error:
            errors.append((reader.at, str(error)))
    at, text = max(errors)
    raise ValueError(f"{text}, at byte {at}")


class _Reader:
    """Reads one layout after the other; what does not fit is an error."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    @property
    def left(self) -> int:
        return len(self.data) - self.at

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
        if size > self.left:
            raise ValueError(f"{size} bytes are wanted, {self.left} are left")
        self.at += size
        return self.data[self.at - size : self.at]


def _module(reader: _Reader, version: int) -> CodeAndRows:
    format_ = reader.read("text")
    is_marked = format_ == _MODULE_MARKER
    if is_marked:
        format_ = reader.read("text")
    if format_ not in ("cubin", "ptx", "fatbin", "cuda"):
        raise ValueError(f"the format is {format_[:80]!r}, wanted cubin, ptx, fatbin or cuda")
    rows, code = _rows(reader, version), reader.read("bytes")
    # What the code was made from; older TVMs end here, or with its text.
    if is_marked:
        reader.read([("text", "text")])
    elif reader.left:
        reader.read("text")
    return format_, code, rows


def _rows(reader: _Reader, version: int) -> list[FunctionInfo]:
    layout = _FUNCTIONS[version]
    return [_function(reader.read(layout)) for _ in range(reader.read(_SIZE))]


def _function(row: tuple[Any, ...]) -> FunctionInfo:
    key, name, *rest = row
    is_newest = isinstance(rest[0], str)
    if (name == _FUNCTION_MARKER) != is_newest:
        raise ValueError(f"function {key[:80]!r} is of another version")
    name = rest.pop(0) if is_newest else name
    if name not in (key, ""):  # older TVMs leave it empty
        raise ValueError(f"function {key[:80]!r} has another name in its own fields: {name[:80]!r}")
    types, tags, extra, fields, *_ = (*rest, (), ())
    return FunctionInfo(key, tuple(map(_type_name, types)), tags, extra, fields)


def _type_name(dtype: tuple[int, int, int]) -> str:
    code, bits, lanes = dtype
    name = _WHOLE.get(code) or f"{_SIZED.get(code, f'type{code}_')}{bits}"
    return name if lanes == 1 else f"{name}x{lanes}"
