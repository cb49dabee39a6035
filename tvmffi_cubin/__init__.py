"""tvmffi_cubin: typed, cached, shippable functions from CUDA source or any cubin, no toolkit.

Importing it starts nothing: no CUDA, no probing, no folders. Each name imports what it needs.
"""

from __future__ import annotations

import importlib
import logging
import os
import sys
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import triton as triton
    from .artifacts.inspection import Inspection as Inspection
    from .artifacts.inspection import inspect as inspect
    from .cache.info import CacheInfo as CacheInfo
    from .cache.info import cache_info as cache_info
    from .cuda import nvjitlink as nvjitlink
    from .cuda import nvrtc as nvrtc
    from .errors import BuildError as BuildError
    from .errors import CacheError as CacheError
    from .errors import CompileError as CompileError
    from .errors import CubinError as CubinError
    from .errors import ImageError as ImageError
    from .errors import LaunchError as LaunchError
    from .errors import LaunchLimitError as LaunchLimitError
    from .errors import ToolchainError as ToolchainError
    from .formats import tvm as tvm
    from .formats.description import build_description as build_description
    from .formats.description import describe as describe
    from .formats.description import load_description as load_description
    from .inline.calls import build as build
    from .inline.calls import build_inline as build_inline
    from .inline.calls import load as load
    from .inline.calls import load_inline as load_inline
    from .inline.images import ImageFile as ImageFile
    from .inline.lazy import LazyModule as LazyModule
    from .inline.lazy import lazy as lazy
    from .kernels.cubin import Cubin as Cubin
    from .kernels.cubin import Kernel as Kernel
    from .launches.launch import Dispatch as Dispatch
    from .launches.launch import Launch as Launch
    from .launches.tensor_map import TensorMap as TensorMap
    from .launches.values import Bound as Bound
    from .launches.values import Scratch as Scratch
    from .module import Function as Function
    from .module import Module as Module
    from .module import load_module as load_module
    from .module.occupancy import Occupancy as Occupancy
    from .module.stream import use_stream as use_stream

__version__ = "0.1.0"

importing = threading.RLock()
"""Held during late imports, and by forks.

Otherwise a module that another thread of the parent was importing would stay locked in the child.
"""
# Forks take logging's lock, which imported modules may need, after this one: it registered earlier.
assert logging
os.register_at_fork(
    before=importing.acquire, after_in_parent=importing.release, after_in_child=importing.release
)

# The module that defines each public name, imported on first access; some names are modules.
_HOMES = {
    **dict.fromkeys(("BuildError", "CacheError", "CompileError", "CubinError"), "errors"),
    **dict.fromkeys(("ImageError", "LaunchError", "LaunchLimitError", "ToolchainError"), "errors"),
    **dict.fromkeys(("build", "build_inline", "load", "load_inline"), "inline.calls"),
    **dict.fromkeys(("build_description", "describe", "load_description"), "formats.description"),
    **dict.fromkeys(("Function", "Module", "load_module"), "module"),
    **dict.fromkeys(("Bound", "Scratch"), "launches.values"),
    **dict.fromkeys(("CacheInfo", "cache_info"), "cache.info"),
    **dict.fromkeys(("Cubin", "Kernel"), "kernels.cubin"),
    **dict.fromkeys(("Dispatch", "Launch"), "launches.launch"),
    **dict.fromkeys(("Inspection", "inspect"), "artifacts.inspection"),
    **dict.fromkeys(("LazyModule", "lazy"), "inline.lazy"),
    "ImageFile": "inline.images",
    "Occupancy": "module.occupancy",
    "TensorMap": "launches.tensor_map",
    "nvjitlink": "cuda.nvjitlink",
    "nvrtc": "cuda.nvrtc",
    "triton": "triton",
    "tvm": "formats.tvm",
    "use_stream": "module.stream",
}
__all__ = sorted(_HOMES)
_HOMES["load_ipython_extension"] = "cli.notebook"


def __getattr__(name: str) -> Any:
    """Import a public name."""
    # Before taking the lock: `from .. import config` asks here first, and the lock's holder may be
    # waiting for the module that contains that statement.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _HOMES[name]
    with importing:
        module = importlib.import_module(f".{home}", __name__)
        if home in ("inline.calls", "launches.launch"):
            # Leave no imports to the first call, except those that need tvm-ffi if it is not yet
            # fully imported: it may import torch.
            importlib.import_module(".inline.calls", __name__)
            if hasattr(sys.modules.get("tvm_ffi"), "load_module"):
                importlib.import_module(".module", __name__)
    value = globals()[name] = getattr(module, name, module)
    if value is module:
        module.__dir__ = lambda: module.__all__  # for tab completion
    return value


def __dir__() -> list[str]:
    """List the public names."""
    return ["__version__", *__all__]
