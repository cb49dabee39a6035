"""`hints`: what to do about what nvcc says, where it does not say it in these words itself."""

from __future__ import annotations

import re

__all__ = ["hints"]

_HINTS = (
    (
        re.compile(r"unsupported (?:GNU|clang) version|unsupported.*host compiler"),
        "nvcc does not know this host compiler yet: set CXX to an older one, or give it to nvcc "
        "alone, extra_cuda_cflags=['-ccbin', 'g++-13']; or try this one, "
        "extra_cuda_cflags=['-allow-unsupported-compiler']",
    ),
    (
        re.compile(r"Unsupported gpu architecture|is not defined for option 'gpu-architecture'"),
        "this nvcc does not compile for that architecture (nvcc --list-gpu-code says for which it "
        "does): give arch= another, or set TVMFFI_CUBIN_NVCC to an nvcc of another CUDA",
    ),
    (
        re.compile(r"cicc: (?:not found|No such file)|nvvm/bin.*No such file"),
        "nvcc is not installed in full: pip install nvidia-nvvm",
    ),
    (
        re.compile(r"fatal error: (?:crt/\S+): No such file"),
        "nvcc is not installed in full: pip install nvidia-cuda-crt",
    ),
    (
        re.compile(r"fatal error: cuda_runtime\S*: No such file"),
        "nvcc is not installed in full: pip install nvidia-cuda-runtime",
    ),
    (
        re.compile(r"fatal error: (?:cub|cuda|thrust|nv)/\S+: No such file"),
        "these headers are a wheel of their own: pip install nvidia-cuda-cccl",
    ),
    (
        re.compile(
            r"Failed to preprocess host compiler properties|gcc: (?:not found|No such file)"
        ),
        "nvcc cannot use the host compiler: set CXX to a gcc or clang",
    ),
    (
        re.compile(r"lambda.*--e?xtended-lambda|--extended-lambda"),
        "give nvcc the flag, extra_cuda_cflags=['--extended-lambda']",
    ),
    (
        re.compile(r"--expt-relaxed-constexpr"),
        "give nvcc the flag, extra_cuda_cflags=['--expt-relaxed-constexpr']",
    ),
    (
        re.compile(r"nvlink fatal\s*: elfLink linker library load error"),
        "-dlto needs libnvvm.so in the folder nvvm/lib64 beside nvcc's bin, and NVIDIA's wheels "
        "have it in lib: link the one to the other (ln -s ../lib nvvm/lib64), take a toolkit's "
        "nvcc, or leave out -dlto",
    ),
    (
        re.compile(r"requires? separate compilation|separate compilation mode"),
        "give nvcc the flag, extra_cuda_cflags=['-rdc=true']",
    ),
)


def hints(output: str) -> list[str]:
    """Return what to do about the messages of nvcc, of its parts and of its host compiler."""
    return [hint for pattern, hint in _HINTS if pattern.search(output)]
