"""TVM modules as functions, from TVM's kernel tables, JSON and binary.

`load` takes a cubin with its ``.tvm_meta.json``, or a whole module that TVM has saved; `read_table`
takes a table alone, whose launches work with any image. TVM itself is never imported.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import bare
from ..inline.calls import load_inline
from ..inline.options import TextOptions, spelled_out
from ..launches.values import told
from .description import Source, read_source
from .tvm_table import json_launches, read_binary

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..launches.launch import Launch
    from ..module import Module

__all__ = ["load", "read_table"]


@bare
def read_table(source: Source) -> dict[str, Launch]:
    """Return the launches of a TVM table, for ``load_inline(functions=..., embed_cubin=...)``.

    A function takes the kernel's arguments, then the values of its launch in the order of the tags
    or fields; flags take none. As in TVM, tag values of 0 count as 1.

    Parameters
    ----------
    source : path, str, bytes or mapping
        A file (``k.tvm_meta.json``), JSON text, JSON values or just their ``"func_info"``, or the
        bytes of a binary table.

    Raises
    ------
    OSError, ValueError
        The source cannot be read, is not a table, or has a tag, field or type with no counterpart
        in a `Launch`; the message names it.
    """
    return _read(source)[1]


def _read(source: Source) -> tuple[bytes, dict[str, Launch]]:
    """Return the image, empty for a table, and the launches."""
    data, path = read_source(source)
    with told(path or "table"):
        return read_binary(data) if isinstance(data, bytes) else (b"", json_launches(data))


@spelled_out(TextOptions)
def load(
    source: str | os.PathLike[str] | bytes,
    *,
    name: str | None = None,
    keep_module_alive: bool = True,
    **options: Unpack[TextOptions],
) -> Module:
    """Load the functions of a CUDA module saved by TVM, without TVM.

    Each function takes what it takes in TVM: the kernel's arguments, then its launch values.

    Parameters
    ----------
    source : path or bytes
        An image file (``k.cubin``, or ``.ptx``, ``.fatbin``) with its table, ``k.tvm_meta.json``,
        next to it; or a module serialized by TVM, as bytes or a file.
    name : str, optional
        The module's name. Default: the file name without its suffix.
    keep_module_alive, **options
        As in `tvmffi_cubin.load_inline`, including the errors raised.
    """
    path = Path("tvm_module" if isinstance(source, bytes) else os.fsdecode(source))
    if path.suffix in (".cubin", ".ptx", ".fatbin"):
        code, (_, launches) = path.read_bytes(), _read(path.with_suffix(".tvm_meta.json"))
    else:
        code, launches = _read(source)
    made: dict[str, Any] = {"functions": launches, "embed_cubin": {"kernels": code}}
    return load_inline(name or path.stem, keep_module_alive=keep_module_alive, **made, **options)
