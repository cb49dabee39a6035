"""Sources that were written for torch's C++ API: what gives them away, and what to do instead."""

from __future__ import annotations

import re
from collections.abc import Iterator

TORCH_HEADER = re.compile(r"(torch|ATen|c10|pybind11)/")
"""Paths of its headers, and of the bindings that come with it."""

TORCH_USE = re.compile(
    r"(?<![\w:.>])((?:(torch|c10)\s*::\s*|(at)\s*::\s*(?=Tensor\b|cuda\b|Half\b|BFloat16\b))\w+"
    r"|PYBIND11_MODULE\b|(?:STABLE_)?TORCH_LIBRARY(?:_IMPL|_FRAGMENT)?\b)"
)
"""Uses of its names, which torch's load_inline declares by itself; groups two and three are
the namespace.
"""

TORCH_REMEDY = (
    "Sources written for torch are not taken: take tvm::ffi::TensorView arguments instead of "
    "torch::Tensor, include <tvm/ffi/container/tensor.h>, and leave out PYBIND11_MODULE or "
    "TORCH_LIBRARY; docs/mixed_sources.md lists what changes"
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

# What a source that was changed in part may still have, and what stands for it here.
_INSTEAD = (
    (
        r"TORCH_CHECK\w*|TORCH_INTERNAL_ASSERT|AT_ASSERTM?",
        'TVM_FFI_CHECK(n > 0, ValueError) << "n"',
    ),
    (r"AT_ERROR", 'TVM_FFI_THROW(ValueError) << "..."'),
    (r"AT_DISPATCH_\w+", "a switch over x.dtype(), in a macro or a lambda of the source's own"),
    (
        r"C10_CUDA_KERNEL_LAUNCH_CHECK",
        "nothing: a refused launch is raised when the function returns",
    ),
    (r"C10_CUDA_CHECK|AT_CUDA_CHECK", "TVM_FFI_CHECK_CUDA_ERROR of <tvm/ffi/extra/cuda/base.h>"),
    (r"gpuAtomicAdd\w*", "atomicAdd"),
    (r"is_cuda", "x.device().device_type == kDLCUDA"),
    (r"scalar_type", "x.dtype(), which has a code and bits"),
    (r"get_device", "x.device().device_id"),
    (r"sizes", "x.shape()"),
    (r"options", "x.dtype() and x.device(), of which tvm::ffi::Tensor::FromEnvAlloc makes one"),
    (r"const_data_ptr|mutable_data_ptr", "static_cast<T*>(x.data_ptr())"),
)
_QUOTE = "['\"\u2018\u2019]"
_UNKNOWN_WORD = re.compile(
    rf"error: (?:identifier |use of undeclared identifier )?{_QUOTE}(\w+){_QUOTE}"
    rf"|error: [^\n]*\bTensor(?:View)?{_QUOTE} has no member named {_QUOTE}(\w+)"
    rf"|error: no member named {_QUOTE}(\w+){_QUOTE} in {_QUOTE}tvm::ffi::Tensor"
)
# Of a member that is no template, a compiler takes the argument's bracket for a comparison.
_TYPED_POINTER = re.compile(r"error: [^\n]*\n[^\n]*\bdata_ptr\s*<")


def torch_hints(log: str) -> Iterator[str]:
    """Iterate over what to do where a compiler does not know torch's headers and names.

    Parameters
    ----------
    log : str
        What NVRTC or a host compiler printed, with the text that its errors are about.
    """
    if _UNKNOWN.search(log):
        yield TORCH_REMEDY
    hints: dict[str, str] = {}
    for found in _UNKNOWN_WORD.finditer(log):
        word = found[found.lastindex or 0]
        if instead := next((x for words, x in _INSTEAD if re.fullmatch(words, word)), ""):
            hints.setdefault(instead, word)
    if _TYPED_POINTER.search(log):
        hints["static_cast<T*>(x.data_ptr())"] = "x.data_ptr<T>()"
    for instead, word in hints.items():
        yield f"{word} is torch's; here it is {instead}"
    if hints:
        yield "docs/mixed_sources.md lists what stands for torch's names"
