"""Modules of TVM's as functions: its tables of kernels, JSON and binary, read and launched.

`load` takes a cubin with its ``.tvm_meta.json``, or a whole module that TVM has saved; `read_table`
a table alone, whose launches go with any image. TVM itself is never imported.
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
    """Return the launches of a table of TVM's, for ``load_inline(functions=..., embed_cubin=...)``.

    A function takes the kernel's arguments and then the values of its launch, in the order of the
    tags or fields; flags take none. Values of tags that are 0 count as 1, as in TVM.

    Parameters
    ----------
    source : path, str, bytes or mapping
        A file (``k.tvm_meta.json``), JSON text, JSON values or their ``"func_info"`` alone, or the
        bytes of a binary table.

    Raises
    ------
    OSError, ValueError
        It cannot be read, is not a table, or a `Launch` has no counterpart of a tag, field or type;
        the message names it.
    """
    return _read(source)[1]


def _read(source: Source) -> tuple[bytes, dict[str, Launch]]:
    """Return the image, if it is a module and no table, and the launches."""
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
    """Load the functions of a CUDA module that TVM saved, without TVM.

    Each function takes what TVM's does: the kernel's arguments, then the values of its launch.

    Parameters
    ----------
    source : path or bytes
        The file of an image (``k.cubin``, or ``.ptx``, ``.fatbin``), beside which its table lies,
        ``k.tvm_meta.json``; or a module as TVM saves it to bytes, or a file of such.
    name : str, optional
        The module's name. Default: the file's, without its suffix.
    keep_module_alive, **options
        As in `tvmffi_cubin.load_inline`, as is what it raises.
    """
    path = Path("tvm_module" if isinstance(source, bytes) else os.fsdecode(source))
    if path.suffix in (".cubin", ".ptx", ".fatbin"):
        code, (_, launches) = path.read_bytes(), _read(path.with_suffix(".tvm_meta.json"))
    else:
        code, launches = _read(source)
    made: dict[str, Any] = {"functions": launches, "embed_cubin": {"kernels": code}}
    return load_inline(name or path.stem, keep_module_alive=keep_module_alive, **made, **options)
