"""tvmffi_cubin: CUDA source, or any cubin, to typed, cached, shippable functions, no toolkit.

Importing it starts nothing: no CUDA, no probing, no folders. What a name needs is imported with it.
"""

from __future__ import annotations

import importlib
import logging
import os
import sys
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import triton
    from .artifacts.inspection import Inspection, inspect
    from .cache.info import CacheInfo, cache_info
    from .cuda import nvjitlink, nvrtc
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
    from .formats import tvm
    from .formats.description import build_description, describe, load_description
    from .inline.calls import build, build_inline, load, load_inline
    from .inline.images import ImageFile
    from .inline.lazy import LazyModule, lazy
    from .kernels.cubin import Cubin, Kernel
    from .launches.launch import Dispatch, Launch
    from .launches.tensor_map import TensorMap
    from .launches.values import Bound, Scratch
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

importing = threading.RLock()
"""Held while something is imported late, and by forks.

In a child, what another thread of its parent was importing would stay locked for ever.
"""
# Its own lock, which what is imported asks for, is taken by forks after this: it registered before.
assert logging
os.register_at_fork(
    before=importing.acquire,
    after_in_parent=importing.release,
    after_in_child=importing.release,
)

# What has each name; imported when the name is first asked for.
_HOMES = {
    **dict.fromkeys((x for x in __all__ if x.endswith("Error")), "errors"),
    **dict.fromkeys(("build", "build_inline", "load", "load_inline"), "inline.calls"),
    **dict.fromkeys(("build_description", "describe", "load_description"), "formats.description"),
    **dict.fromkeys(("Cubin", "Kernel"), "kernels.cubin"),
    **dict.fromkeys(("Dispatch", "Launch"), "launches.launch"),
    **dict.fromkeys(("Bound", "Scratch"), "launches.values"),
    **dict.fromkeys(("Function", "Module", "load_module"), "module"),
    **dict.fromkeys(("CacheInfo", "cache_info"), "cache.info"),
    **dict.fromkeys(("Inspection", "inspect"), "artifacts.inspection"),
    **dict.fromkeys(("LazyModule", "lazy"), "inline.lazy"),
    "ImageFile": "inline.images",
    "Occupancy": "module.occupancy",
    "TensorMap": "launches.tensor_map",
    "load_ipython_extension": "cli.notebook",
    "use_stream": "module.stream",
    # Modules themselves.
    "nvjitlink": "cuda.nvjitlink",
    "nvrtc": "cuda.nvrtc",
    "triton": "triton",
    "tvm": "formats.tvm",
}


def __getattr__(name: str) -> Any:
    """Import a public name."""
    # Before the lock: `from .. import config` asks here first, and whoever holds the lock may wait
    # for the module that says so.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _HOMES[name]
    with importing:
        module = importlib.import_module(f".{home}", __name__)
        # Nothing is left for the first call where tvm-ffi is there, and whole, already; torch may
        # come with it.
        if home == "inline.calls" and hasattr(sys.modules.get("tvm_ffi"), "load_module"):
            importlib.import_module(".module", __name__)
    value = globals()[name] = getattr(module, name, module)
    if value is module:
        module.__dir__ = lambda: module.__all__  # what Tab offers
    return value


def __dir__() -> list[str]:
    """List the public names."""
    return ["__version__", *__all__]
