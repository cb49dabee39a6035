"""Builds the driver stand-in with the host's C compiler."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from pathlib import Path

SOURCES = Path(__file__).parent
_COMPAT = SOURCES.parents[1] / "include" / "tvmffi_cubin" / "compat"
FLAGS = [
    *("-std=gnu11", "-O0", "-g", "-fPIC", "-shared", "-fvisibility=hidden"),
    *("-Wall", "-Wextra", "-Werror"),
    # A call without arguments is logged with an empty format.
    "-Wno-format-zero-length",
    # The table of entry points must not take a real driver's that the process has loaded.
    "-Wl,-Bsymbolic",
    "-Wl,-z,now",
]


def build(directory: Path) -> Path:
    """Return the path of the stand-in, built in `directory`."""
    library = directory / "libstub.so"
    sources = [str(path) for path in sorted(SOURCES.glob("*.c"))]
    # NVIDIA's runtime header wants crt/, which CUDA 12's wheel leaves out.
    folders = (_cuda_include(), _dlpack_include(), _COMPAT)
    includes = [f"-I{folder}" for folder in folders]
    command = [_compiler(), *FLAGS, *includes, *sources, "-o", str(library), "-lpthread"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr}")
    return library


def _compiler() -> str:
    for name in (os.environ.get("CC"), "cc", "gcc", "clang"):
        found = shutil.which(name) if name else None
        if found:
            return found
    raise RuntimeError("the tests need a C compiler (cc, gcc or clang on PATH): install gcc")


def _cuda_include() -> Path:
    spec = importlib.util.find_spec("nvidia")
    roots = [Path(root) for root in (spec.submodule_search_locations or ())] if spec else []
    for root in roots:
        for folder in (root / "cuda_runtime" / "include", root / "cu13" / "include"):
            if (folder / "cuda.h").is_file():
                return folder
    raise RuntimeError("the tests need cuda.h: pip install nvidia-cuda-runtime-cu12")


def _dlpack_include() -> Path:
    spec = importlib.util.find_spec("tvm_ffi")
    for root in (spec.submodule_search_locations or ()) if spec else ():
        if (Path(root) / "include" / "dlpack" / "dlpack.h").is_file():
            return Path(root) / "include"
    raise RuntimeError("the tests need dlpack.h: pip install apache-tvm-ffi")
