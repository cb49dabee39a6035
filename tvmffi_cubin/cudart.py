"""`bring`: CUDA's runtime library, for what was linked where its wheel lies elsewhere.

A wrapper that calls the library has the folder of its wheel. That is one of the machine that built
it, which need not be this one: caches are shared, and copied.
"""

from __future__ import annotations

import ctypes
import re

from .cuda_wheels import find_cuda
from .errors import ToolchainError

__all__ = ["bring"]

_MISSING = re.compile(r"libcudart\.so\.(\d+): cannot open shared object file")


def bring(message: str) -> bool:
    """Load the wheel's library if that is what the dynamic loader says it misses.

    The loader knows a library by its name, once it is loaded from wherever.

    Returns
    -------
    bool
        Whether it is loaded now.
    """
    match = _MISSING.search(message)
    if match is None:
        return False
    try:
        cuda = find_cuda()
        if cuda.cudart is None or cuda.major != int(match[1]):
            return False
        ctypes.CDLL(str(cuda.cudart))
    except (OSError, ToolchainError, ValueError):
        return False
    return True
