"""Sources that were written for torch's C++ API: what gives them away, and what to do instead."""

from __future__ import annotations

import re

__all__ = ["TORCH_HEADER", "TORCH_REMEDY", "TORCH_USE", "torch_hint"]

TORCH_HEADER = re.compile(r"(torch|ATen|c10|pybind11)/")
"""Paths of its headers, and of the bindings that come with it."""

TORCH_USE = re.compile(
    r"(?<![\w:.>])((?:(torch|c10)\s*::\s*|(at)\s*::\s*(?=Tensor\b|cuda\b|Half\b|BFloat16\b))\w+"
    r"|PYBIND11_MODULE\b|TORCH_LIBRARY\b)"
)
"""Uses of its names, which torch's load_inline declares by itself; groups two and three are
the namespace.
"""

TORCH_REMEDY = (
    "Sources written for torch are not taken: take tvm::ffi::TensorView arguments instead of "
    "torch::Tensor, include <tvm/ffi/container/tensor.h>, and leave out PYBIND11_MODULE or "
    "TORCH_LIBRARY; docs/mixed_sources.md shows both side by side"
)
"""What to do."""

_UNKNOWN = re.compile(
    r"error: (?:['\"\u2018](?:torch|at|c10)['\"\u2019] (?:was not|has not|does not)"
    r"|use of undeclared identifier '(?:torch|at|c10)'|(?:torch|ATen|c10|pybind11)/\S+: No such"
    r"|'(?:torch|ATen|c10|pybind11)/\S+' file not found)"
    # nvcc does not say what it does not know, and shows the line.
    r"|error: (?:name followed by \"::\"|this declaration has no storage class"
    r"|explicit type is missing)[^\n]*\n[^\n]*(?:\b(?:torch|c10)\s*::"
    r"|\bat\s*::\s*(?:Tensor|cuda)\b|\b(?:PYBIND11_MODULE|TORCH_LIBRARY)\b)"
)


def torch_hint(output: str) -> tuple[str, ...]:
    """Return what to do where a host compiler does not find torch's headers or names."""
    return (TORCH_REMEDY,) if _UNKNOWN.search(output) else ()
