"""Every environment variable that the package reads; docs/reference.md says what each means."""

from __future__ import annotations

import os

DEFAULTS: dict[str, str | None] = {
    "TVMFFI_CUBIN_ARCH": None,
    "TVMFFI_CUBIN_CACHE": "on",
    "TVMFFI_CUBIN_CACHE_DIR": None,
    "TVMFFI_CUBIN_CACHE_PATH": None,
    "TVMFFI_CUBIN_CACHE_SHARED": None,
    "TVMFFI_CUBIN_CACHE_SIZE": "5GB",
    "TVMFFI_CUBIN_CACHE_REMOTE": None,
    "TVMFFI_CUBIN_CACHE_REMOTE_KEY_FILE": None,
    "TVMFFI_CUBIN_CACHE_REMOTE_KEY": None,
    "TVMFFI_CUBIN_CACHE_REMOTE_MODE": "readwrite",
    "TVMFFI_CUBIN_CACHE_REMOTE_BUDGET": "1.0",
    "TVMFFI_CUBIN_CUDA": None,
    "TVMFFI_CUBIN_CUDART": None,
    "TVMFFI_CUBIN_DRIVER": "libcuda.so.1",
    "TVMFFI_CUBIN_NVCC": None,
    "TVMFFI_CUBIN_PCH": "on",
    "TVMFFI_CUBIN_VERBOSE": None,
    "CXX": None,
    "CC": None,
    "CUDA_HOME": None,
    "CUDA_PATH": None,
    "MAX_JOBS": None,
}
"""What stands for one that is unset or empty; None where that is found out when it is used."""


def get(name: str) -> str | None:
    """Return the value of a variable, its default where it is unset or empty."""
    return os.environ.get(name) or DEFAULTS[name]


def wants_pch(use_pch: bool | None) -> bool:
    """Return whether precompiled headers may be used, by the caller and ``TVMFFI_CUBIN_PCH``."""
    if not isinstance(use_pch, bool | None):
        raise TypeError(f"use_pch is a bool, got {type(use_pch).__name__} {use_pch!r}")
    value = get("TVMFFI_CUBIN_PCH")
    if value not in ("on", "off"):
        raise ValueError(f"TVMFFI_CUBIN_PCH={value!r}: wanted 'on' or 'off'; or unset it")
    return use_pch is not False and value != "off"
