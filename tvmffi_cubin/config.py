"""Every environment variable that the package, or a compiler that it runs, reads.

docs/reference.md says what the package's own mean.
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
"""What stands for one that is unset or empty; None where that is found out when it is used."""


def get(name: str) -> str | None:
    """Return the value of a variable, its default where it is unset or empty."""
    return os.environ.get(name) or DEFAULTS[name]


def wants_pch(use_pch: bool | None) -> bool:
    """Return whether precompiled headers may be used, by the caller and ``TVMFFI_CUBIN_PCH``."""
    value = get("TVMFFI_CUBIN_PCH")
    if value not in ("on", "off"):
        raise ValueError(f"TVMFFI_CUBIN_PCH={value!r}: wanted 'on' or 'off'; or unset it")
    return use_pch is not False and value != "off"


# What changes what gcc, clang, as, ld and NVRTC make, beside the command line. LD_LIBRARY_PATH does
# not: no linker takes from there what it links, and on clusters each user and job has another.
_READ_BY_COMPILERS = (
    *("CCC_OVERRIDE_OPTIONS", "COMPILER_PATH", "CPATH", "CPLUS_INCLUDE_PATH", "C_INCLUDE_PATH"),
    *("GCC_EXEC_PREFIX", "GNUTARGET", "LDEMULATION", "LD_RUN_PATH", "LIBRARY_PATH"),
    *("NIX_CFLAGS_COMPILE", "NIX_CFLAGS_LINK", "NIX_LDFLAGS", "NVRTC_APPEND_FLAGS"),
    "SOURCE_DATE_EPOCH",
)
# Folders in which compilers look for headers after those of their flags.
_HEADER_FOLDERS = ("CPATH", "CPLUS_INCLUDE_PATH", "C_INCLUDE_PATH")
_REMOVED = (
    # Left behind by a `make -j` around this process: its job server is not open to ninja.
    *("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "NINJA_STATUS"),
    # nvcc is given these words by the build, which reads them where the caller is.
    *("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS"),
    # ninja would colour its words, also where they are read by a program, as in a notebook.
    "CLICOLOR_FORCE",
)


def compiler_environment() -> dict[str, str]:
    """Return the variables set now that change what a compiler makes; they belong in the key."""
    return {name: value for name in _READ_BY_COMPILERS if (value := os.environ.get(name))}


def header_folder_flags() -> tuple[str, ...]:
    """Return the folders of headers that variables name, as flags."""
    lists = (os.environ.get(name, "").split(os.pathsep) for name in _HEADER_FOLDERS)
    found = dict.fromkeys(folder for folders in lists for folder in folders if folder)
    return tuple(word for folder in found for word in ("-isystem", folder))


def build_environment() -> dict[str, str]:
    """Return the environment of what a build runs: this process's, with messages in English."""
    kept = {name: value for name, value in os.environ.items() if name not in _REMOVED}
    # Where PATH is unset, programs are found in these folders; gcc finds no linker there itself.
    return {"PATH": os.defpath, **kept, "LC_ALL": "C"}
