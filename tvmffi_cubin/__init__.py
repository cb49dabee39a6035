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

# A name's module is imported when the name is first asked for; `_COMMON` is imported together, so
# that nothing is left for the first call.
_COMMON = {
    **dict.fromkeys((x for x in __all__ if x.endswith("Error")), "errors"),
    **dict.fromkeys(("build", "build_inline", "load", "load_inline"), "inline.calls"),
    **dict.fromkeys(("Dispatch", "Launch"), "launches.launch"),
    **dict.fromkeys(("Bound", "Scratch"), "launches.values"),
}
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


def __getattr__(name: str) -> Any:
    """Import a public name."""
    # Before the lock: `from .. import config` asks here first, and whoever holds the lock may wait
    # for the module that says so.
    if name not in {*_COMMON, *_LAZY, *_MODULES}:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with importing:
        return _imported(name)


def _imported(name: str) -> Any:
    if name in _MODULES:
        value: Any = importlib.import_module(f".{_MODULES[name]}", __name__)
        value.__dir__ = lambda: value.__all__  # what Tab offers
        globals()[name] = value
    else:
        for each, module in _COMMON.items() if name in _COMMON else [(name, _LAZY[name])]:
            globals()[each] = getattr(importlib.import_module(f".{module}", __name__), each)
        # Where tvm-ffi is there, and whole, already; torch may come with it.
        if name in _COMMON and hasattr(sys.modules.get("tvm_ffi"), "load_module"):
            importlib.import_module(".module", __name__)
    return globals()[name]


def __dir__() -> list[str]:
    """List the public names."""
    return ["__version__", *__all__]
