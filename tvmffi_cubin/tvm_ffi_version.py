"""Whether the installed tvm-ffi is new enough."""

from __future__ import annotations

import tvm_ffi

from .errors import ToolchainError

__all__ = ["check"]

_LEAST = (0, 1, 15)


def check() -> None:
    """Raise ToolchainError where the installed tvm-ffi is too old."""
    parts = tvm_ffi.__version__.split(".")[:3]
    found = tuple(int("".join(filter(str.isdigit, part)) or 0) for part in parts)
    if found < _LEAST:
        wanted = ".".join(map(str, _LEAST))
        raise ToolchainError(
            f"tvm-ffi {tvm_ffi.__version__} is too old, {wanted} or newer is needed: "
            "pip install --upgrade apache-tvm-ffi"
        )
