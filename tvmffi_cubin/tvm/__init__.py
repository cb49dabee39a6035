"""Modules of TVM's as functions: its table of kernels, JSON and binary, read, written, launched.

`load` takes a cubin with its ``.tvm_meta.json``, or a whole module that TVM has saved; `read_table`
a table alone, whose `FunctionTable.launches` go with any image. TVM itself is never imported.
"""

from __future__ import annotations

from .cuda_module import CudaModule, read_module
from .function_info import FunctionInfo
from .function_table import FunctionTable
from .loading import build, load
from .reading import read_table

__all__ = [
    "CudaModule",
    "FunctionInfo",
    "FunctionTable",
    "build",
    "load",
    "read_module",
    "read_table",
]
