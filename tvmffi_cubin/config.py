"""Every environment variable that the package, or a compiler that it runs, reads.

docs/reference.md documents the package's own.
"""

from __future__ import annotations

import os

DEFAULTS: dict[str, str | None] = {
    "TVMFFI_CUBIN_ARCH": None,
    "TVMFFI_CUBIN_CACHE": "on",
    "TVMFFI_CUBIN_CACHE_DIR": None,
    "TVMFFI_CUBIN_CACHE_PATH": None,
    "TVMFFI_CUBIN_CACHE_SIZE": "5GB",
    "TVMFFI_CUBIN_CACHE_REMOTE": None,
    "TVMFFI_CUBIN_CACHE_REMOTE_KEY_FILE": None,
    "TVMFFI_CUBIN_CACHE_REMOTE_MODE": "readwrite",
    "TVMFFI_CUBIN_CACHE_REMOTE_BUDGET": "1.0",
    "TVMFFI_CUBIN_CUDA": None,
    "TVMFFI_CUBIN_CUDART": None,
    "TVMFFI_CUBIN_DRIVER": "libcuda.so.1",
    "TVMFFI_CUBIN_NVCC": None,
    "TVMFFI_CUBIN_PCH": "on",
    "TVMFFI_CUBIN_RECORD": None,
    "TVMFFI_CUBIN_VERBOSE": None,
    "CXX": None,
    "CUDA_HOME": None,
    "CUDA_PATH": None,
    "MAX_JOBS": None,
}
"""Values of variables that are unset or empty; None if the default is determined on use."""


def get(name: str) -> str | None:
    """Return the value of a variable, or its default if it is unset or empty."""
    return os.environ.get(name) or DEFAULTS[name]


def wants_pch(use_pch: bool | None) -> bool:
    """Return whether the caller and ``TVMFFI_CUBIN_PCH`` allow precompiled headers."""
    value = get("TVMFFI_CUBIN_PCH")
    if value not in ("on", "off"):
        raise ValueError(f"TVMFFI_CUBIN_PCH must be unset, 'on' or 'off', got {value!r}")
    return use_pch is not False and value != "off"


# Variables that, besides the command line, affect the output of gcc, clang, as, ld and NVRTC. Not
# LD_LIBRARY_PATH: no linker searches it for inputs, and on clusters it differs per user and job.
_READ_BY_COMPILERS = (
    *("CCC_OVERRIDE_OPTIONS", "COMPILER_PATH", "CPATH", "CPLUS_INCLUDE_PATH", "C_INCLUDE_PATH"),
    *("GCC_EXEC_PREFIX", "GNUTARGET", "LDEMULATION", "LD_RUN_PATH", "LIBRARY_PATH"),
    *("NIX_CFLAGS_COMPILE", "NIX_CFLAGS_LINK", "NIX_LDFLAGS", "NVRTC_APPEND_FLAGS"),
    "SOURCE_DATE_EPOCH",
)
# Header folders that compilers search after those of their flags.
_HEADER_FOLDERS = ("CPATH", "CPLUS_INCLUDE_PATH", "C_INCLUDE_PATH")
_REMOVED = (
    # Set by a `make -j` around this process, whose job server is not open to ninja.
    *("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "NINJA_STATUS"),
    # The build reads these in the caller's folder and passes their words to nvcc itself.
    *("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS"),
    # Makes ninja color its output even if a program reads it, as in a notebook.
    "CLICOLOR_FORCE",
)


def compiler_environment() -> dict[str, str]:
    """Return the variables now set that affect a compiler's output; they belong in the key."""
    return {name: value for name in _READ_BY_COMPILERS if (value := os.environ.get(name))}


def header_folder_flags() -> tuple[str, ...]:
    """Return the header folders that environment variables name, as flags."""
    lists = (os.environ.get(name, "").split(os.pathsep) for name in _HEADER_FOLDERS)
    found = dict.fromkeys(folder for folders in lists for folder in folders if folder)
    return tuple(word for folder in found for word in ("-isystem", folder))


def build_environment() -> dict[str, str]:
    """Return the environment for a build's programs: this process's, with messages in English."""
    kept = {name: value for name, value in os.environ.items() if name not in _REMOVED}
    # If PATH is unset, we find programs in these folders, but gcc would not find its linker there.
    return {"PATH": os.defpath, **kept, "LC_ALL": "C"}
