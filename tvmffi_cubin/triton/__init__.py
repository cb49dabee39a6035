"""Triton functions and compiled kernels as launches.

Takes a ``@triton.jit`` function (`compile`) or a kernel that Triton has compiled (`from_compiled`);
returns a `tvmffi_cubin.Launch` with its cubin, for ``load_inline(..., functions={"add": launch})``.
Never touches a GPU, and imports Triton only in `compile`.
"""

from __future__ import annotations

from .compiler import compile, from_compiled  # noqa: A004 - Triton's own name

__all__ = ["compile", "from_compiled"]
