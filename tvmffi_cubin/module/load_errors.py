"""A shared object does not load: a missing libcudart is found, other errors are explained."""

from __future__ import annotations

import ctypes
import os

from ..cuda.libraries import find_cuda
from ..errors import BuildError, ToolchainError


def has_brought(message: str) -> bool:
    """Load CUDA's runtime library if that is what the dynamic loader misses.

    A wrapper that calls it names the wheel's folder on the machine that built it, and a cache may
    be shared or copied. Once loaded from anywhere, the library is known by its name.
    """
    if "libcudart.so." not in message:
        return False
    try:
        found = find_cuda().require("cudart")
        if f"{found.name}: cannot open" not in message:
            return False
        ctypes.CDLL(str(found))
    except (OSError, ToolchainError, ValueError):
        return False
    return True


def load_error(message: str, path: str) -> BuildError:
    """Return the error for a shared object, with the loader's own message."""
    remedy = "Build it again, with the libraries that it lacks in extra_ldflags"
    if os.statvfs(path).f_flag & os.ST_NOEXEC:
        remedy = "Its file system is mounted noexec: use another for TVMFFI_CUBIN_CACHE_DIR"
    return BuildError(
        f"{path} does not load: {message}\n{remedy}",
        command=f"dlopen {path}",
        output=message,
        directory=os.path.dirname(path),
    )
