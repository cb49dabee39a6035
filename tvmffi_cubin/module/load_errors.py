"""A shared object does not load: a missing libcudart is found, other errors are explained."""

from __future__ import annotations

import ctypes
import os
import re

from ..cuda.libraries import find_cuda
from ..errors import BuildError, ToolchainError


def has_brought(message: str) -> bool:
    """Load CUDA's runtime library if that is what the dynamic loader misses.

    A wrapper that calls it names the wheel's folder on the machine that built it, and a cache may
    be shared or copied. Once loaded from anywhere, the library is known by its name.
    """
    match = re.search(r"libcudart\.so\.(\d+): cannot open shared object file", message)
    try:
        cuda = find_cuda() if match else None
        if match is None or cuda is None or cuda.major != int(match[1]):
            return False
        ctypes.CDLL(str(cuda.require("cudart")))
    except (OSError, ToolchainError, ValueError):
        return False
    return True


def load_error(message: str, path: str) -> BuildError:
    """Return the error for a shared object, with the loader's own message."""
    remedy = "Build it again, with the libraries that it lacks in extra_ldflags"
    if os.statvfs(path).f_flag & os.ST_NOEXEC:
        remedy = (
            "Its file system is mounted noexec: use a folder on another; TVMFFI_CUBIN_CACHE_DIR is "
            "the cache's"
        )
    return BuildError(
        f"{path} does not load: {message}\n{remedy}",
        command=f"dlopen {path}",
        output=message,
        directory=os.path.dirname(path),
    )
