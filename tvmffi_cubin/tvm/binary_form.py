"""TVM's table in its binary form, in every layout."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeVar

from .byte_reader import ByteReader, Misfit, packed_text
from .dtypes import dtype_of, parse_dtype
from .function_info import FunctionInfo
from .layouts import LAYOUTS, Layout, flags_as_tags, tags_and_flags

__all__ = ["RawTable", "best_reading", "made_functions", "read_raw", "write_functions"]

_MARKER = "__tvm_function_info_v2__"

Reading = TypeVar("Reading")


class RawTable(NamedTuple):
    """A table as its bytes have it: the layout, and for each key the fields of its function."""

    layout: str
    rows: list[tuple[str, dict[str, Any]]]

    @property
    def is_consistent(self) -> bool:
        """Whether every function is called by its name, or has none."""
        return all(fields["name"] in (key, "") for key, fields in self.rows)


def best_reading(
    data: bytes, read: Callable[[ByteReader, Layout], tuple[RawTable, Reading]]
) -> tuple[RawTable, Reading]:
    """Read bytes in every layout; return the first reading that takes them all and makes sense.

    Raises
    ------
    ValueError
        There is none; the message is that of the layout that came farthest.
    """
    found = []
    failures = []
    for layout in LAYOUTS.values():
        reader = ByteReader(data)
        try:
            raw, rest = read(reader, layout)
            reader.end()
        except Misfit as error:
            failures.append(error)
            continue
        if raw.is_consistent:
            return raw, rest
        found.append((raw, rest))
    if found:
        return found[0]
    raise ValueError(str(max(failures, key=lambda error: error.offset)))


def read_raw(reader: ByteReader, layout: Layout) -> RawTable:
    """Read a table in one layout; raises Misfit."""
    count = reader.count("functions", 32)
    rows = []
    for _ in range(count):
        key = reader.text("a function's name")
        rows.append((key, _read_function(reader, layout, f"function {key[:80]!r}")))
    return RawTable(layout.name, rows)


def _read_function(reader: ByteReader, layout: Layout, where: str) -> dict[str, Any]:
    start = reader.offset
    name = reader.text(f"{where}: name")
    if (name == _MARKER) != layout.has_launch_fields:
        raise reader.fail(f"{where}: wanted its name, or the newest layout's marker", start)
    if layout.has_launch_fields:
        name = reader.text(f"{where}: name")
    fields: dict[str, Any] = {"name": name, "arg_types": _types(reader, where)}
    tags = _texts(reader, f"{where}: launch_param_tags")
    if layout.has_extra_tags:
        what = f"{where}: arg_extra_tags"
        count = reader.count(what, 4)
        fields["arg_extra_tags"] = [reader.number("<i", what) for _ in range(count)]
    if layout.has_launch_fields:
        fields["cuda_launch_fields"] = _texts(reader, f"{where}: cuda_launch_fields")
        fields["cuda_kernel_attrs"] = _attributes(reader, f"{where}: cuda_kernel_attrs")
    flags = {name: reader.flag(f"{where}: {name}") for name in layout.flags}
    fields["launch_param_tags"] = flags_as_tags(tags, flags)
    return fields


def _types(reader: ByteReader, where: str) -> list[str]:
    types = []
    for _ in range(reader.count(f"{where}: arg_types", 4)):
        start = reader.offset
        code, bits, lanes = struct.unpack("<BBH", reader.take(4, f"{where}: arg_types"))
        try:
            types.append(str(dtype_of(code, bits, lanes)))
        except ValueError as error:
            raise reader.fail(f"{where}: arg_types: {error}", start) from None
    return types


def _texts(reader: ByteReader, what: str) -> list[str]:
    return [reader.text(what) for _ in range(reader.count(what, 8))]


def _attributes(reader: ByteReader, what: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for _ in range(reader.count(what, 16)):
        start = reader.offset
        name = reader.text(what)
        if name in found:
            raise reader.fail(f"{what} has {name[:80]!r} twice", start)
        found[name] = reader.number("<q", what)
    return found


def made_functions(raw: RawTable) -> list[FunctionInfo]:
    """Return the functions of a table.

    Raises
    ------
    ValueError
        One is called by another name than its own, or is no function.
    """
    for key, fields in raw.rows:
        if fields["name"] not in (key, ""):
            raise ValueError(
                f"the table calls function {fields['name'][:80]!r} by the name {key[:80]!r}"
            )
    return [
        FunctionInfo(**{**fields, "name": key, "is_named": fields["name"] == key})
        for key, fields in raw.rows
    ]


def write_functions(functions: Iterable[FunctionInfo], layout: Layout) -> bytes:
    """Return the table of functions.

    Raises
    ------
    ValueError
        A function says what the layout, or the binary form, cannot.
    """
    rows = [packed_text(info.name) + _packed(info, layout) for info in functions]
    return struct.pack("<Q", len(rows)) + b"".join(rows)


def _packed(info: FunctionInfo, layout: Layout) -> bytes:
    if info.extra:
        raise ValueError(
            f"function {info.name!r}: the binary form has no {min(info.extra)!r}, which is not "
            "known here: write JSON"
        )
    tags, flags = tags_and_flags(info, layout)
    parts = [packed_text(_MARKER)] if layout.has_launch_fields else []
    parts.append(packed_text(info.written_name))
    parts.append(_packed_all(struct.pack("<BBH", *parse_dtype(x)) for x in info.arg_types))
    parts.append(_packed_all(map(packed_text, tags)))
    if layout.has_extra_tags:
        parts.append(_packed_all(struct.pack("<i", x) for x in info.arg_extra_tags))
    if layout.has_launch_fields:
        parts.append(_packed_all(map(packed_text, info.cuda_launch_fields)))
        attributes = info.cuda_kernel_attrs.items()
        parts.append(_packed_all(packed_text(x) + struct.pack("<q", y) for x, y in attributes))
    parts.extend(struct.pack("<?", flags[name]) for name in layout.flags)
    return b"".join(parts)


def _packed_all(items: Iterable[bytes]) -> bytes:
    packed = [*items]
    return struct.pack("<Q", len(packed)) + b"".join(packed)
