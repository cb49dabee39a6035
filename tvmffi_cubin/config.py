"""Every environment variable that the package reads, in one table; values are read on use."""

from __future__ import annotations

import os
from typing import NamedTuple

__all__ = ["VARIABLES", "Variable", "get"]


class Variable(NamedTuple):
    """One environment variable: its name, its default (None: computed where used), its meaning."""

    name: str
    default: str | None
    meaning: str


VARIABLES: dict[str, Variable] = {
    variable.name: variable
    for variable in (
        Variable(
            "TVMFFI_CUBIN_ARCH",
            None,
            "The architectures that are compiled for where no `arch` is given, separated by commas "
            "(`sm_80,sm_90a,compute_90`). Default: the current device's.",
        ),
        Variable(
            "TVMFFI_CUBIN_CACHE",
            "on",
            "What the cache is used for: `on`; `read`, nothing is written to the cache folder; "
            "`require`, nor is anything built; `off`, nothing is looked up either. What is built "
            "then lasts as long as the process.",
        ),
        Variable(
            "TVMFFI_CUBIN_CACHE_DIR",
            None,
            "The writable cache folder. Default: the user's cache folder, `tvmffi_cubin` in it.",
        ),
        Variable(
            "TVMFFI_CUBIN_CACHE_PATH",
            None,
            "Cache folders that are looked through first and never written, separated by colons; "
            "a colon in a path is written `\\:`, a backslash `\\\\`.",
        ),
        Variable(
            "TVMFFI_CUBIN_CACHE_SHARED",
            None,
            "Whether others of the folder's group may write to the cache folder, `1` or `0`. "
            "All of them can then run code as each other. Default: `0`.",
        ),
        Variable(
            "TVMFFI_CUBIN_CACHE_SIZE",
            "5GB",
            "How many bytes the cache folder may take: `500MB`, `2GiB`, plain bytes or "
            "`unlimited`. What was used least recently is removed beyond that, but not what was "
            "used within the last hour.",
        ),
        Variable(
            "TVMFFI_CUBIN_CACHE_REMOTE",
            None,
            "A second level of the cache that machines share, by a URL of fsspec's "
            "(`s3://bucket/folder`, `https://host/folder`) or a folder. It wants a key.",
        ),
        Variable(
            "TVMFFI_CUBIN_CACHE_REMOTE_KEY_FILE",
            None,
            "The file with the secret that what lies on the remote is signed with: 16 bytes or "
            "more, the same on every machine.",
        ),
        Variable(
            "TVMFFI_CUBIN_CACHE_REMOTE_KEY",
            None,
            "The secret itself, where no file can hold it.",
        ),
        Variable(
            "TVMFFI_CUBIN_CACHE_REMOTE_MODE",
            "readwrite",
            "Whether what is built here is put on the remote, `readwrite`, or not, `read`.",
        ),
        Variable(
            "TVMFFI_CUBIN_CACHE_REMOTE_BUDGET",
            "1.0",
            "How many seconds one call waits for the remote at most, and all that find nothing "
            "there together, before it is left alone for a minute.",
        ),
        Variable(
            "TVMFFI_CUBIN_CUDA",
            None,
            "The CUDA major version whose wheels are used, `12` or `13`. Default: the newest that "
            "is installed and that the driver supports; 12 where there is no driver.",
        ),
        Variable(
            "TVMFFI_CUBIN_CUDART",
            None,
            "The CUDA runtime that host code is linked with, a path. Default: `libcudart_static.a` "
            "beside CUDA's headers, else `libcudart.so`.",
        ),
        Variable(
            "TVMFFI_CUBIN_DRIVER",
            "libcuda.so.1",
            "The shared library that provides the CUDA driver's entry points.",
        ),
        Variable(
            "TVMFFI_CUBIN_NVCC",
            None,
            'The nvcc of `compiler="nvcc"`, a path or a name on PATH. Default: that of `CUDA_HOME` '
            "or `CUDA_PATH`, else the one on PATH, of NVIDIA's wheels, or in `/usr/local/cuda`.",
        ),
        Variable(
            "TVMFFI_CUBIN_PCH",
            "on",
            "Whether precompiled headers are made and used, `on` or `off`.",
        ),
        Variable(
            "CXX",
            None,
            "The host C++ compiler. Default: `c++`, else `g++`, else `clang++` on PATH.",
        ),
        Variable(
            "CC",
            None,
            "The host C compiler, for `.c` files. Default: `cc`, else `gcc`, else `clang` on PATH.",
        ),
        Variable(
            "CUDA_HOME",
            None,
            "A CUDA toolkit's folder, first for nvcc and for what NVIDIA's wheels lack.",
        ),
        Variable("CUDA_PATH", None, "As `CUDA_HOME`, looked at next."),
        Variable(
            "TVMFFI_CUBIN_VERBOSE",
            None,
            "`1`: the commands of builds are printed as they run, with what they print.",
        ),
        Variable("MAX_JOBS", None, "How many jobs ninja runs at once. Default: ninja's own."),
    )
}


def get(name: str) -> str | None:
    """Return the value of a variable of the table, its default where it is unset or empty."""
    return os.environ.get(name) or VARIABLES[name].default
