"""TVM's binary forms: a table of functions, and a whole CUDA module with one."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TypeVar

from .tvm_table import CudaModule, FunctionInfo, FunctionTable

_FUNCTION_MARKER = "__tvm_function_info_v2__"

# By DLPack's code of a kind; those of the first are written with their bits.
_SIZED = {0: "int", 1: "uint", 2: "float", 4: "bfloat"}
_WHOLE = {
    3: "handle",
    6: "bool",
    10: "float8_e4m3fn",
    12: "float8_e5m2",
    14: "float8_e8m0fnu",
    30: "grid_constant",
}

_T = TypeVar("_T")


def binary_table(data: bytes) -> FunctionTable:
    """Read a table; raises ValueError with the byte where it is none."""
    return _best(data, _table)


def binary_module(data: bytes) -> CudaModule:
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
        except ValueError as error:
            errors.append((reader.at, str(error)))
        else:
            if not reader.left:
                return found
            errors.append((reader.at, f"{reader.left} bytes are left"))
    at, text = max(errors)
    raise ValueError(f"{text}, at byte {at}")


def _module(reader: _Reader, version: int) -> CudaModule:
    format_ = reader.text()
    is_marked = format_ == "cuda.module.v1"
    if is_marked:
        format_ = reader.text()
    if format_ not in ("cubin", "ptx", "fatbin", "cuda"):
        raise ValueError(f"the format is {format_[:80]!r}, wanted cubin, ptx, fatbin or cuda")
    table, code = _table(reader, version), reader.block()
    if is_marked:
        source = dict(reader.several(lambda: (reader.text(), reader.text())))
    else:  # older TVMs end here, or with the source
        source = {"cuda": reader.text()} if reader.left else {}
    return CudaModule(format_, table, code, source)


def _table(reader: _Reader, version: int) -> FunctionTable:
    return FunctionTable(reader.several(lambda: _function(reader, version)))


def _function(reader: _Reader, version: int) -> FunctionInfo:
    key, name = reader.text(), reader.text()
    if (name == _FUNCTION_MARKER) != (version == 2):
        raise ValueError(f"function {key[:80]!r} is of another version")
    name = reader.text() if version == 2 else name
    if name not in (key, ""):  # older TVMs leave it empty
        raise ValueError(f"function {key[:80]!r} has another name in its own fields: {name[:80]!r}")
    types, tags = reader.several(reader.dtype), reader.several(reader.text)
    extra = reader.several(lambda: reader.number("<i")) if version else ()
    fields = reader.several(reader.text) if version == 2 else ()
    if version == 2:  # how the kernel was compiled
        reader.several(lambda: (reader.text(), reader.number("<q")))
    return FunctionInfo(key, types, tags, extra, fields)


class _Reader:
    """Numbers and texts one after the other; what does not fit is an error."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    @property
    def left(self) -> int:
        return len(self.data) - self.at

    def take(self, size: int) -> bytes:
        if size > self.left:
            raise ValueError(f"{size} bytes are wanted, {self.left} are left")
        self.at += size
        return self.data[self.at - size : self.at]

    def number(self, form: str) -> int:
        return int(struct.unpack(form, self.take(struct.calcsize(form)))[0])

    def several(self, read: Callable[[], _T]) -> tuple[_T, ...]:
        return tuple(read() for _ in range(self.number("<Q")))

    def block(self) -> bytes:
        return self.take(self.number("<Q"))

    def text(self) -> str:
        return self.block().decode()

    def dtype(self) -> str:
        code, bits, lanes = struct.unpack("<BBH", self.take(4))
        name = _WHOLE.get(code) or f"{_SIZED.get(code, f'type{code}_')}{bits}"
        return name if lanes == 1 else f"{name}x{lanes}"
