"""Triton kernels as functions of a module: compiled without a GPU, launched without Triton.

`compile` takes a ``@triton.jit`` function, `from_compiled` what Triton has compiled already. Both
return a `tvmffi_cubin.Launch` for ``load_inline(..., functions={"add": launch})``. Triton itself is
imported by `compile` alone.
"""

from __future__ import annotations

from .compiling import compile, from_compiled  # noqa: A004 - as Triton's own is called

__all__ = ["compile", "from_compiled"]
