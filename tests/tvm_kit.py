"""Tables and modules as TVM's serializer writes them: little-endian, lengths of 8 bytes."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any, NamedTuple


class FunctionInfo(NamedTuple):
    """A row of a table, as `make_launch` takes it."""

    name: str
    arg_types: tuple[str, ...]
    launch_param_tags: tuple[str, ...] = ()
    arg_extra_tags: tuple[int, ...] = ()
    cuda_launch_fields: tuple[str, ...] = ()


TYPES = {
    "handle": b"\3\x40\1\0", "int32": b"\0\x20\1\0", "int64": b"\0\x40\1\0",
    "uint32": b"\1\x20\1\0",
    "float32": b"\2\x20\1\0", "float64": b"\2\x40\1\0", "bool": b"\6\x08\1\0",
    "float32x4": b"\2\x20\4\0", "grid_constant": b"\x1e\x40\1\0",
}  # fmt: skip


def number(value: int) -> bytes:
    return struct.pack("<Q", value)


def text(value: str | bytes) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return number(len(data)) + data


def several(*items: bytes) -> bytes:
    return number(len(items)) + b"".join(items)


def table_bytes(functions: Iterable[FunctionInfo], version: int, *, named: bool = True) -> bytes:
    """Return a table of one version; older TVMs leave the name in the fields empty."""
    return several(*(_function(info, version, named=named) for info in functions))


def _function(info: FunctionInfo, version: int, *, named: bool) -> bytes:
    marker = text("__tvm_function_info_v2__") if version == 2 else b""
    parts = [text(info.name), marker, text(info.name if named else "")]
    parts.append(several(*(TYPES[x] for x in info.arg_types)))
    parts.append(several(*map(text, info.launch_param_tags)))
    if version:
        parts.append(several(*(struct.pack("<i", x) for x in info.arg_extra_tags)))
    if version == 2:
        parts.append(several(*map(text, info.cuda_launch_fields)))
        parts.append(several(text("max_registers") + struct.pack("<q", -1)))
    return b"".join(parts)


def table_json(*functions: FunctionInfo) -> dict[str, Any]:
    """Return a table as TVM's JSON has it."""
    return {"tvm_version": "0.1.0", "func_info": {x.name: _row(x) for x in functions}}


def _row(info: FunctionInfo) -> dict[str, Any]:
    values = {name: getattr(info, name) for name in ("arg_types", "launch_param_tags")}
    fields = {"cuda_launch_fields": info.cuda_launch_fields, "arg_extra_tags": info.arg_extra_tags}
    said = {name: list(x) for name, x in {**values, **fields}.items() if x or name in values}
    return {"name": info.name, **said}


def module_bytes(code: bytes, functions: Iterable[FunctionInfo], *, newest: bool = True) -> bytes:
    """Return a CUDA module of today, or of TVM 0.27 and before."""
    if not newest:
        return text("cubin") + table_bytes(functions, 1) + text(code)
    source = several(text("cuda") + text("// x"))
    head = text("cuda.module.v1") + text("cubin")
    return head + table_bytes(functions, 2) + text(code) + source
