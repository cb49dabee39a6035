"""tvmffi_cubin: CUDA source, or any cubin, to typed, cached, shippable functions, no toolkit.

Importing it starts nothing: no CUDA, no probing, no folders.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

from .errors import (
    BuildError,
    CacheError,
    CompileError,
    CubinError,
    ImageError,
    LaunchError,
    LaunchLimitError,
    ToolchainError,
)
from .inline.calls import build, build_inline, load, load_inline
from .launches.launch import Dispatch, Launch
from .launches.values import Bound, Scratch

if TYPE_CHECKING:
    from . import triton
    from .artifacts.inspection import Inspection, inspect
    from .cache.info import CacheInfo, cache_info
    from .cuda import nvjitlink, nvrtc
    from .formats import tvm
    from .formats.description import build_description, describe, load_description
    from .inline.images import ImageFile
    from .inline.lazy import LazyModule, lazy
    from .kernels.cubin import Cubin, Kernel
    from .launches.tensor_map import TensorMap
    from .module import Function, Module, load_module
    from .module.occupancy import Occupancy
    from .module.stream import use_stream

__version__ = "0.1.0"

__all__ = [
    "Bound",
    "BuildError",
    "CacheError",
    "CacheInfo",
    "CompileError",
    "Cubin",
    "CubinError",
    "Dispatch",
    "Function",
    "ImageError",
    "ImageFile",
    "Inspection",
    "Kernel",
    "Launch",
    "LaunchError",
    "LaunchLimitError",
    "LazyModule",
    "Module",
    "Occupancy",
    "Scratch",
    "TensorMap",
    "ToolchainError",
    "build",
    "build_description",
    "build_inline",
    "cache_info",
    "describe",
    "inspect",
    "lazy",
    "load",
    "load_description",
    "load_inline",
    "load_module",
    "nvjitlink",
    "nvrtc",
    "triton",
    "tvm",
    "use_stream",
]

# What most calls do without, or imports what takes longer than all else here (tvm-ffi, and with it
# torch where that is installed), is imported when it is first asked for.
_LAZY = {
    "CacheInfo": "cache.info",
    "Cubin": "kernels.cubin",
    "Function": "module",
    "Kernel": "kernels.cubin",
    "ImageFile": "inline.images",
    "Inspection": "artifacts.inspection",
    "LazyModule": "inline.lazy",
    "inspect": "artifacts.inspection",
    "Module": "module",
    "Occupancy": "module.occupancy",
    "TensorMap": "launches.tensor_map",
    "build_description": "formats.description",
    "cache_info": "cache.info",
    "describe": "formats.description",
    "lazy": "inline.lazy",
    "load_description": "formats.description",
    "load_ipython_extension": "cli.notebook",
    "load_module": "module",
    "use_stream": "module.stream",
}
_MODULES = {
    "nvjitlink": "cuda.nvjitlink",
    "nvrtc": "cuda.nvrtc",
    "triton": "triton",
    "tvm": "formats.tvm",
}


# Where tvm-ffi is there, and whole, already: else a process's first load would have to import them.
if hasattr(sys.modules.get("tvm_ffi"), "load_module"):
    from . import module  # noqa: F401


def __getattr__(name: str) -> Any:
    """Import a lazy public name."""
    if name in _MODULES:
        value: Any = importlib.import_module(f".{_MODULES[name]}", __name__)
        value.__dir__ = lambda: value.__all__  # what Tab offers
    elif name in _LAZY:
        value = getattr(importlib.import_module(f".{_LAZY[name]}", __name__), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names."""
    return ["__version__", *__all__]
