"""TVM's binary forms: a table of functions, and a whole CUDA module with one."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TypeVar

from .tvm_table import CudaModule, FunctionInfo, FunctionTable

_FUNCTION_MARKER = "__tvm_function_info_v2__"
_VERSIONS = (2, 1, 0)

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

Reading = TypeVar("Reading")


def binary_table(data: bytes) -> FunctionTable:
    """Read a table; raises ValueError with the byte where it is none."""
    return _best(data, _table)


def binary_module(data: bytes) -> CudaModule:
    """Read a module; raises ValueError with the byte where it is none."""
    return _best(data, _module)


def _best(data: bytes, read: Callable[[_Reader, int], Reading]) -> Reading:
    """Return the first reading, newest version first, that takes all bytes.

    Only the newest version is marked. Where none fits, the error is that of the one that came
    farthest.
    """
    errors: list[tuple[int, str]] = []
    for version in _VERSIONS:
        reader = _Reader(data)
        try:
            found = read(reader, version)
            if reader.at == len(data):
                return found
            errors.append((reader.at, f"{len(data) - reader.at} bytes are left"))
        except ValueError as error:
            errors.append((reader.at, str(error)))
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
        source = {reader.text(): reader.text() for _ in range(reader.count())}
    else:  # older TVMs end here, or with the source
        source = {"cuda": reader.text()} if reader.at < len(reader.data) else {}
    return CudaModule(format_, table, code, source)


def _table(reader: _Reader, version: int) -> FunctionTable:
    return FunctionTable([_function(reader, version) for _ in range(reader.count())])


def _function(reader: _Reader, version: int) -> FunctionInfo:
    key, name = reader.text(), reader.text()
    if (name == _FUNCTION_MARKER) != (version == 2):
        raise ValueError(f"function {key[:80]!r} is of another version")
    name = reader.text() if version == 2 else name
    if name not in (key, ""):  # older TVMs leave it empty
        raise ValueError(f"function {key[:80]!r} has another name in its own fields: {name[:80]!r}")
    types = tuple(reader.dtype() for _ in range(reader.count()))
    tags = reader.texts()
    extra = tuple(reader.number("<i") for _ in range(reader.count())) if version else ()
    if version < 2:
        return FunctionInfo(key, types, tags, extra)
    fields = reader.texts()
    for _ in range(reader.count()):  # how the kernel was compiled
        reader.text(), reader.number("<q")
    return FunctionInfo(key, types, tags, extra, fields)


class _Reader:
    """Numbers and texts one after the other; what does not fit is a ValueError."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, size: int) -> bytes:
        if size > len(self.data) - self.at:
            raise ValueError(f"{size} bytes are wanted, {len(self.data) - self.at} are left")
        self.at += size
        return self.data[self.at - size : self.at]

    def number(self, form: str) -> int:
        return int(struct.unpack(form, self.take(struct.calcsize(form)))[0])

    def count(self) -> int:
        count = self.number("<Q")
        if count > len(self.data):
            raise ValueError(f"a count is {count}, more than there are bytes")
        return count

    def block(self) -> bytes:
        return self.take(self.number("<Q"))

    def text(self) -> str:
        return self.block().decode()

    def texts(self) -> tuple[str, ...]:
        return tuple(self.text() for _ in range(self.count()))

    def dtype(self) -> str:
        code, bits, lanes = struct.unpack("<BBH", self.take(4))
        name = _WHOLE.get(code) or f"{_SIZED.get(code, f'type{code}_')}{bits}"
        return name if lanes == 1 else f"{name}x{lanes}"
