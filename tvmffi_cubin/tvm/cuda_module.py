"""`CudaModule`: a CUDA module as TVM saves it: code, the table of its functions, sources."""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from .binary_form import RawTable, best_reading, read_raw
from .byte_reader import ByteReader, packed_text
from .function_table import FunctionTable
from .layouts import Layout
from .reading import made_table, read_table

__all__ = ["CudaModule", "read_module"]

_MARKER = "cuda.module.v1"
_FORMATS = ("cubin", "ptx", "fatbin", "cuda")
_LAYOUTS = ("v1", "source", "plain")
_SUFFIXES = {".cubin": "cubin", ".ptx": "ptx", ".fatbin": "fatbin", ".cu": "cuda"}


@dataclass(frozen=True)
class CudaModule:
    """A CUDA module of TVM's.

    Parameters
    ----------
    format : str
        What the code is: ``"cubin"``, ``"ptx"``, ``"fatbin"``, or ``"cuda"``, source text.
    table : FunctionTable
        Its functions.
    code : bytes
        The code.
    source : mapping of str to str
        What it was made from, by kind (``"cuda"``), where TVM kept it.
    layout : str
        That of its bytes: ``"v1"`` (the newest), ``"source"`` (older, with the source as one text),
        ``"plain"`` (older, without).
    name : str
        What messages and the shared object call it.

    Raises
    ------
    TypeError, ValueError
        A value is of another type, or there is no such format or layout.
    """

    format: str
    table: FunctionTable = field(hash=False)
    code: bytes = field(repr=False)
    source: Mapping[str, str] = field(default_factory=dict, hash=False, repr=False)
    layout: str = "v1"
    name: str = field(default="tvm_module", compare=False)

    def __post_init__(self) -> None:
        if self.format not in _FORMATS:
            raise ValueError(
                f"CudaModule: format is one of {', '.join(_FORMATS)}, got {self.format!r:.80}"
            )
        if self.layout not in _LAYOUTS:
            raise ValueError(
                f"CudaModule: layout is one of {', '.join(_LAYOUTS)}, got {self.layout!r:.80}"
            )
        if not isinstance(self.table, FunctionTable):
            raise TypeError(
                f"CudaModule: table is a FunctionTable, got {type(self.table).__name__}"
            )
        if not isinstance(self.code, bytes):
            raise TypeError(f"CudaModule: code is bytes, got {type(self.code).__name__}")
        if not isinstance(self.source, Mapping):
            raise TypeError(f"CudaModule: source is a mapping, got {type(self.source).__name__}")
        for text in (self.name, *self.source, *self.source.values()):
            if not isinstance(text, str):
                raise TypeError(
                    "CudaModule: name, and the kinds and texts of source, are str, got "
                    f"{type(text).__name__}"
                )

    def to_bytes(self, layout: str | None = None, table_layout: str | None = None) -> bytes:
        """Return the module as TVM saves it.

        Parameters
        ----------
        layout : str, optional
            That of the module. Default: its own.
        table_layout : str, optional
            That of its table. Default: the table's own.

        Raises
        ------
        TypeError, ValueError
            There is no such layout, or it has no room for what there is.
        """
        layout = self.layout if layout is None else layout
        if layout not in _LAYOUTS:
            raise ValueError(f"layout is one of {', '.join(_LAYOUTS)}, got {layout!r:.80}")
        head = packed_text(_MARKER) if layout == "v1" else b""
        middle = packed_text(self.format) + self.table.to_bytes(table_layout)
        return head + middle + packed_text(self.code) + self._packed_source(layout)

    def _packed_source(self, layout: str) -> bytes:
        if layout == "v1":
            rows = [packed_text(kind) + packed_text(x) for kind, x in self.source.items()]
            return struct.pack("<Q", len(rows)) + b"".join(rows)
        if not set(self.source) <= ({"cuda"} if layout == "source" else set()):
            raise ValueError(
                f"a module of the layout {layout!r} has no room for the sources "
                f"{', '.join(map(repr, self.source))}; the layout 'v1' has"
            )
        return packed_text(self.source.get("cuda", "")) if layout == "source" else b""


class _Rest(NamedTuple):
    """What stands around the table."""

    format: str
    code: bytes
    source: dict[str, str]
    layout: str


def read_module(source: str | bytes | os.PathLike[str]) -> CudaModule:
    """Read a CUDA module of TVM's.

    Parameters
    ----------
    source : path or bytes
        A module as TVM saves it to bytes, or a file of such; or the file of an image (``.cubin``,
        ``.ptx``, ``.fatbin``, ``.cu``), beside which its table lies, as ``k.tvm_meta.json``.

    Raises
    ------
    OSError
        The file, or the table beside it, cannot be read.
    TypeError, ValueError
        It is no module; the message names the function and field, or the byte.
    """
    if isinstance(source, bytes | bytearray | memoryview):
        return _from_bytes("the module", bytes(source), "tvm_module")
    if not isinstance(source, str | os.PathLike):
        raise TypeError(f"a module is a path or bytes, got {type(source).__name__}")
    path = Path(os.fsdecode(source))
    data = path.read_bytes()
    if path.suffix not in _SUFFIXES:
        return _from_bytes(str(path), data, path.name.partition(".")[0])
    beside = path.with_suffix(".tvm_meta.json")
    if not beside.exists():
        raise FileNotFoundError(
            2, f"no table beside {path}, which TVM saves with it", os.fspath(beside)
        )
    return CudaModule(_SUFFIXES[path.suffix], read_table(beside), data, name=path.stem)


def _from_bytes(label: str, data: bytes, name: str) -> CudaModule:
    failures: list[ValueError] = []
    for tail in ("v1",) if data[8:22] == _MARKER.encode() else ("plain", "source"):
        try:
            raw, rest = best_reading(data, _reader_of(tail))
            table = made_table(raw)
            return CudaModule(rest.format, table, rest.code, rest.source, rest.layout, name)
        except ValueError as error:
            failures.append(error)
    raise ValueError(
        f"{label}: {failures[0]}\nwanted a CUDA module as TVM saves it to bytes; where it saved "
        "an image and a table, give the image's path: k.cubin, with k.tvm_meta.json beside it"
    )


def _reader_of(tail: str) -> Any:
    def read(reader: ByteReader, layout: Layout) -> tuple[RawTable, _Rest]:
        if tail == "v1":
            reader.text("the marker")
        start = reader.offset
        form = reader.text("the format")
        if form not in _FORMATS:
            raise reader.fail(f"the format is {form[:80]!r}, none of {', '.join(_FORMATS)}", start)
        raw = read_raw(reader, layout)
        code = reader.block("the code")
        return raw, _Rest(form, code, _source(reader, tail), tail)

    return read


def _source(reader: ByteReader, tail: str) -> dict[str, str]:
    if tail == "plain":
        return {}
    if tail == "source":
        text = reader.text("the source")
        return {"cuda": text} if text else {}
    found: dict[str, str] = {}
    for _ in range(reader.count("sources", 16)):
        start = reader.offset
        kind = reader.text("a source's kind")
        if kind in found:
            raise reader.fail(f"the source {kind[:80]!r} is there twice", start)
        found[kind] = reader.text("a source")
    return found
