"""Modules of TVM's as functions: its tables of kernels, JSON and binary, read and launched.

`load` takes a cubin with its ``.tvm_meta.json``, or a whole module that TVM has saved; `read_table`
a table alone, whose `FunctionTable.launches` go with any image. TVM itself is never imported.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..inline.options import TextOptions, spelled_out
from .description import parse_json, read_source
from .tvm_binary import binary_module, binary_table
from .tvm_table import FLAGS, CudaModule, FunctionInfo, FunctionTable, make_launch

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..module import Module

__all__ = [
    "CudaModule",
    "FunctionInfo",
    "FunctionTable",
    "build",
    "load",
    "read_module",
    "read_table",
]

_SUFFIXES = {".cubin": "cubin", ".ptx": "ptx", ".fatbin": "fatbin", ".cu": "cuda"}

Source = CudaModule | str | bytes | os.PathLike[str]


def read_table(source: str | bytes | os.PathLike[str] | Mapping[str, Any]) -> FunctionTable:
    """Read a table of TVM's.

    Parameters
    ----------
    source : path, str, bytes or mapping
        A file (``k.tvm_meta.json``), JSON text, JSON values or their ``"func_info"`` alone, or the
        bytes of a binary table.

    Raises
    ------
    OSError, ValueError
        It cannot be read, or is no table; the message names the function and field, or the byte.
    """
    label, data, _ = read_source(source, "table")
    try:
        # A count of functions has zeros where no text has any.
        if isinstance(data, bytes) and b"\0" in data[:8]:
            return binary_table(data)
        values = parse_json(data) if isinstance(data, bytes) else data
        if not is_table(values):
            raise ValueError("it is no table of TVM's: wanted func_info, functions with arg_types")
        rows = values.get("func_info", values)
        return FunctionTable(_function(name, row) for name, row in rows.items())
    except ValueError as error:
        raise ValueError(f"{label}: {error}") from None


def is_table(values: Any) -> bool:
    """Whether JSON values are a table of TVM's, or its functions alone."""
    rows = values.get("func_info", values) if isinstance(values, Mapping) else {}
    if not isinstance(rows, Mapping) or not rows:
        return False
    return all(isinstance(row, Mapping) and "arg_types" in row for row in rows.values())


def _function(key: str, row: Mapping[str, Any]) -> FunctionInfo:
    def listed(name: str) -> tuple[Any, ...]:
        value = row.get(name, ())
        if not isinstance(value, list | tuple):
            raise ValueError(f"function {key!r}: {name} is a list, got {value!r:.80}")
        return tuple(value)

    # The latter is the older name; older tables have booleans in place of tags, too.
    tags = listed("launch_param_tags") + listed("thread_axis_tags")
    tags += tuple(f"tir.{name}" for name in (*FLAGS, "use_dyn_shared_memory") if row.get(name))
    extra, fields = listed("arg_extra_tags"), listed("cuda_launch_fields")
    return FunctionInfo(key, listed("arg_types"), tags, extra, fields)


def read_module(source: str | bytes | os.PathLike[str]) -> CudaModule:
    """Read a CUDA module of TVM's.

    Parameters
    ----------
    source : path or bytes
        A module as TVM saves it to bytes, or a file of such; or the file of an image (``.cubin``,
        ``.ptx``, ``.fatbin``, ``.cu``), beside which its table lies, as ``k.tvm_meta.json``.

    Raises
    ------
    OSError, ValueError
        It, or the table beside it, cannot be read, or is none; the message says where.
    """
    if isinstance(source, bytes):
        return _from_bytes("the module", source, "tvm_module")
    path = Path(os.fsdecode(source))
    code = path.read_bytes()
    if path.suffix not in _SUFFIXES:
        return _from_bytes(str(path), code, path.name.partition(".")[0])
    table = read_table(path.with_suffix(".tvm_meta.json"))
    return CudaModule(_SUFFIXES[path.suffix], table, code, name=path.stem)


def _from_bytes(label: str, data: bytes, name: str) -> CudaModule:
    try:
        return binary_module(data)._replace(name=name)
    except ValueError as error:
        raise ValueError(
            f"{label}: {error}\nwanted a CUDA module as TVM saves it to bytes; where it saved an "
            "image and a table, give the image's path: k.cubin, with k.tvm_meta.json beside it"
        ) from None


@spelled_out(TextOptions)
def load(
    source: Source,
    *,
    name: str | None = None,
    keep_module_alive: bool = True,
    **options: Unpack[TextOptions],
) -> Module:
    """Load the functions of a CUDA module of TVM's, with no TVM.

    Each function takes what TVM's takes: the kernel's arguments, then the values of its launch.

    Parameters
    ----------
    source : CudaModule, path or bytes
        The module, or what `read_module` reads: ``"k.cubin"``, beside which ``k.tvm_meta.json``
        lies.
    name : str, optional
        The module's name. Default: the file's, without its suffix.
    keep_module_alive, **options
        As in `tvmffi_cubin.load_inline`, and so are the errors, beside those of `read_module`.
    """
    from ..inline.calls import load_inline

    return load_inline(keep_module_alive=keep_module_alive, **_contents(source, name), **options)


@spelled_out(TextOptions)
def build(
    source: Source,
    *,
    name: str | None = None,
    output: str | os.PathLike[str] | None = None,
    **options: Unpack[TextOptions],
) -> str:
    """Build what `load` would load, without loading it, as `tvmffi_cubin.build_inline` does."""
    from ..inline.calls import build_inline

    return build_inline(output=output, **_contents(source, name), **options)


def _contents(source: Source, name: str | None) -> dict[str, Any]:
    """Return name, functions and code as `load_inline` takes them."""
    module = source if isinstance(source, CudaModule) else read_module(source)
    name = name or module.name
    if module.format == "cuda":
        text = module.code.decode()
        # A source's parameters are found by their names, a table's are told by their places.
        taken = set(re.findall(r"\w+", text, flags=re.ASCII))
        launches = {key: make_launch(info, taken) for key, info in module.table.items()}
        return {"name": name, "functions": launches, "cuda_sources": text}
    # The name of the image is the module's, as C can have it.
    image = re.sub(r"\W|^(?=\d)", "_", module.name, flags=re.ASCII)
    code = {image: module.code}
    return {"name": name, "functions": module.table.launches(), "embed_cubin": code}
