"""Builds the driver stand-in with the host's C compiler."""

from __future__ import annotations

import os
from pathlib import Path

from processes import run

from tvmffi_cubin.cuda.libraries import find_cuda

SOURCES = Path(__file__).parent
_COMPAT = SOURCES.parents[1] / "include" / "tvmffi_cubin" / "compat"
FLAGS = [
    *("-std=gnu11", "-O0", "-g", "-fPIC", "-shared", "-fvisibility=hidden"),
    *("-Wall", "-Wextra", "-Werror"),
    # The table of entry points must not take a real driver's that the process has loaded.
    "-Wl,-Bsymbolic",
    "-Wl,-z,now",
]


def build(directory: Path) -> Path:
    """Return the path of the stand-in, built in `directory`."""
    library = directory / "libstub.so"
    # NVIDIA's runtime header wants crt/, which CUDA 12's wheel leaves out.
    folders = (*find_cuda().include_dirs, _COMPAT)
    includes = [f"-I{folder}" for folder in folders]
    run(os.environ.get("CC", "cc"), *FLAGS, *includes, *SOURCES.glob("*.c"), "-o", library)
    return library
