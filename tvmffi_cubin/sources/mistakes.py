"""Sources that were written for torch's C++ API: what gives them away, and what to do instead."""

from __future__ import annotations

import re

TORCH_REMEDY = (
    "Sources written for torch are not taken: take tvm::ffi::TensorView arguments instead of "
    "torch::Tensor, include <tvm/ffi/container/tensor.h>, and leave out PYBIND11_MODULE or "
    "TORCH_LIBRARY; docs/mixed_sources.md lists what changes"
)
"""What to do."""

_QUOTE = "['\"\u2018\u2019]"
_UNKNOWN = re.compile(
    rf"error: (?:(?:identifier|use of undeclared identifier) )?{_QUOTE}"
    rf"(?:torch|at|c10|(?:TORCH|AT|C10)_\w+|gpuAtomicAdd\w*){_QUOTE}"
    rf"|error: {_QUOTE}?(?:torch|ATen|c10|pybind11)/\S+(?: file not found|: No such)"
)


def torch_hints(log: str) -> list[str]:
    """Return what to do where a compiler does not know torch's headers and names."""
    return [TORCH_REMEDY] if _UNKNOWN.search(log) else []
