"""`mistakes`: remedies for mistakes in a source that host compilers and linkers report."""

from __future__ import annotations

import re

from ..cuda.hints import NVCC

_TORCH = (
    "Sources written for torch are not supported: use tvm::ffi::TensorView arguments instead of "
    "torch::Tensor, include <tvm/ffi/container/tensor.h>, and remove PYBIND11_MODULE or "
    "TORCH_LIBRARY; docs/mixed_sources.md lists what changes"
)
_QUOTE = "[`'\"\u2018\u2019]"
_UNKNOWN = (
    "(?:error: (?:identifier |use of undeclared identifier |unknown type name )?"
    f"|undefined reference to ){_QUOTE}"
)
_REMEDIES = {
    rf"{_UNKNOWN}(?:torch|at|c10|(?:TORCH|AT|C10)_\w+|gpuAtomicAdd\w*){_QUOTE}"
    rf"|error: {_QUOTE}?(?:torch|ATen|c10|pybind11)/\S+(?: file not found|: No such)": _TORCH,
    rf"{_UNKNOWN}((?:block|thread)Idx|(?:block|grid)Dim|__syncthreads|_+[Gg]l\w+){_QUOTE}": (
        "{0} in host code: declare a kernel __global__, and a function that it calls __device__; "
        "a source without a kernel is compiled by the C++ compiler"
    ),
    # Only as the first error: an earlier one may be why the function is unknown.
    rf"\A(?:(?!error: )[\s\S])*error: .*?{_QUOTE}(\w+){_QUOTE}.*"
    r"\n.*\bTVM_FFI_DLL_EXPORT_TYPED_FUNC\(\1, \1\)": (
        "{0} is listed for export, but the source has no such function"
    ),
    "function signature do not support unpacked": (
        "an exported function takes or returns a type that tvm-ffi cannot convert, such as "
        "float*: pass tensors as tvm::ffi::TensorView"
    ),
    r"(?m)^[^\n:]*/(?:thrust|cub|cutlass|cute)/[^\n:]*:[\d:]+ (?:fatal )?error:"
    r"|error: [^\n]*\b(?:thrust|cub|cutlass|cute|nvcuda|cooperative_groups)\b": (
        f"only nvcc compiles the device-wide algorithms of Thrust, CUB and CUTLASS: pass {NVCC}"
    ),
}


def mistakes(log: str) -> list[str]:
    """Return the remedies for the mistakes that a log shows."""
    found = (
        remedy.format(name)
        for pattern, remedy in _REMEDIES.items()
        for name in re.findall(pattern, log)
    )
    return [*dict.fromkeys(found)]
