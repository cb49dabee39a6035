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


def _best(data: bytes, read: Callable[[_Reader], _T]) -> _T:
    """Return the first reading, newest version first, that takes all bytes.

    Only the newest version is marked. Where none fits, the error is that of the one that came
    farthest.
    """
    errors: list[tuple[int, str]] = []
    for version in (2, 1, 0):
        reader = _Reader(data, version)
        try:
            found = read(reader)
            reader.check(not reader.left, f"{reader.left} bytes are left")
        except ValueError as error:
            errors.append((reader.at, str(error)))
        else:
            return found
    at, text = max(errors)
    raise ValueError(f"{text}, at byte {at}")


class _Reader:
    """Numbers and texts one after the other; what does not fit is an error."""

    def __init__(self, data: bytes, version: int) -> None:
        self.data, self.version = data, version
        self.at = 0

    @property
    def left(self) -> int:
        return len(self.data) - self.at

    @staticmethod
    def check(is_so: bool, problem: str) -> None:
        if not is_so:
            raise ValueError(problem)

    def take(self, size: int) -> bytes:
        self.check(size <= self.left, f"{size} bytes are wanted, {self.left} are left")
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


def _module(reader: _Reader) -> CudaModule:
    format_ = reader.text()
    is_marked = format_ == "cuda.module.v1"
    format_ = reader.text() if is_marked else format_
    known = ("cubin", "ptx", "fatbin", "cuda")
    reader.check(format_ in known, f"the format is {format_[:80]!r}, wanted {', '.join(known)}")
    table, code = _table(reader), reader.block()
    if is_marked:
        source = dict(reader.several(lambda: (reader.text(), reader.text())))
    else:  # older TVMs end here, or with the source
        source = {"cuda": reader.text()} if reader.left else {}
    return CudaModule(format_, table, code, source)


def _table(reader: _Reader) -> FunctionTable:
    return FunctionTable(reader.several(lambda: _function(reader)))


def _function(reader: _Reader) -> FunctionInfo:
    key, name, is_newest = reader.text(), reader.text(), reader.version == 2
    is_marked = name == _FUNCTION_MARKER
    reader.check(is_marked == is_newest, f"function {key[:80]!r} is of another version")
    name = reader.text() if is_marked else name
    # Older TVMs leave it empty.
    reader.check(name in (key, ""), f"function {key[:80]!r} is {name[:80]!r} in its own fields")
    types, tags = reader.several(reader.dtype), reader.several(reader.text)
    extra = reader.several(lambda: reader.number("<i")) if reader.version else ()
    fields = reader.several(reader.text) if is_newest else ()
    if is_newest:  # how the kernel was compiled
        reader.several(lambda: (reader.text(), reader.number("<q")))
    return FunctionInfo(key, types, tags, extra, fields)
