"""``tvmffi-cubin doctor``: what was found to build and launch with, what is missing, and fixes."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from functools import partial

from .. import __version__, config
from ..cache.remote import configured, without_secrets
from ..cache.store import default
from ..cache.upkeep import capacity
from ..cuda import driver, libraries, nvcc, program
from ..cuda.arch import check_archs, split
from ..cuda.libraries import Cuda, library
from ..errors import CubinError
from ..host import tools

# How to mark a missing item: a problem keeps something from working, a note does not.
_PROBLEM, _NOTE = "problem", "note"


def run(_: argparse.Namespace) -> int:
    problems = 0
    for what, find, missing in _questions():
        try:
            text, mark = str(find()), "ok"
        except (CubinError, ValueError, OSError, ImportError) as error:
            text, mark = str(error), missing
        problems += mark == _PROBLEM
        print(f"{mark:<8} {what:<14} {text}", flush=True)
    if problems:
        print(f"\n{problems} problem{'s' * (problems > 1)}; each line above says what to do.")
        return 1
    gpu = ", and a GPU to launch on" if driver.device_count() else ""
    print(f"\nEverything needed to build was found{gpu}.")
    return 0


def _questions() -> Iterator[tuple[str, Callable[[], object], str]]:
    """Yield what to look for, what finds it, and how to mark it if that fails."""
    package = f"{__version__}, {os.path.dirname(os.path.dirname(__file__))}"
    yield "tvmffi_cubin", lambda: package, _PROBLEM
    yield "python", lambda: f"{sys.version.split()[0]}, {sys.executable}", _PROBLEM
    yield "headers", tools.include_dir, _PROBLEM
    yield "tvm-ffi", _tvm_ffi, _PROBLEM
    yield "ninja", tools.find_ninja, _PROBLEM
    yield "C++ compiler", _compiler, _PROBLEM
    yield "assembler", partial(tools.find_binutil, "as"), _PROBLEM
    yield "linker", partial(tools.find_binutil, "ld"), _PROBLEM
    yield "CUDA wheels", _wheels, _PROBLEM
    cuda: Cuda | None = None
    with contextlib.suppress(CubinError, ValueError):
        cuda = libraries.find_cuda()
    if cuda is not None:
        yield "NVRTC", partial(_library, "nvrtc", cuda), _PROBLEM
        yield "CCCL", partial(cuda.require, "cccl"), _NOTE
        for title in ("nvFatbin", "nvJitLink"):
            yield title, partial(_library, title, cuda), _NOTE
    yield "driver", partial(_driver, cuda), _NOTE if driver.version() is None else _PROBLEM
    for ordinal in range(driver.device_count()):
        yield f"device {ordinal}", partial(_device, ordinal, cuda), _PROBLEM
    yield "nvcc", _nvcc, _PROBLEM if config.get("TVMFFI_CUBIN_NVCC") else _NOTE
    yield "cache", _cache, _PROBLEM
    yield "remote cache", _remote, _PROBLEM
    yield "environment", _environment, _PROBLEM


def _tvm_ffi() -> str:
    paths = tools.tvm_ffi_paths()
    # Importing it is part of the check: a wheel for another Python or glibc fails there.
    import tvm_ffi

    from ..module.module import check_tvm_ffi

    check_tvm_ffi()
    return f"{tvm_ffi.__version__}, {paths.library}"


def _compiler() -> str:
    compiler = tools.find_host_compiler()
    compiler.require()
    version = tools.compiler_version(compiler).splitlines()[-1].strip()
    return f"{version}, {' '.join(compiler.command)}"


def _wheels() -> str:
    cuda = libraries.find_cuda()
    return f"{cuda.major}: {', '.join(sorted(cuda.parts))}"


def _library(title: str, cuda: Cuda) -> str:
    path = cuda.require(title.lower())
    return f"{library(title, path).release}, {path}"


def _device(ordinal: int, cuda: Cuda | None) -> str:
    arch = driver.device_arch(ordinal)
    if cuda is not None:
        program.prepare().result().check_known(arch)
    return f"{driver.device_name(ordinal)}, {arch}"


def _driver(cuda: Cuda | None) -> str:
    driver.load()
    version = driver.version() or 0
    text = f"CUDA {version // 1000}.{version % 1000 // 10}"
    if version < 12000:
        raise ValueError(f"{text} is too old to launch with; update the driver to 12.0")
    if cuda is not None and cuda.major > version // 1000:
        raise ValueError(
            f"{text} cannot load images of CUDA {cuda.major}; update the driver, or run: "
            f"pip install 'tvmffi-cubin[cu{version // 1000}]'"
        )
    return text


def _nvcc() -> str:
    found = nvcc.find_nvcc()
    return f'{found.version}, {found.path}; for compiler="nvcc" or "auto"'


def _cache() -> str:
    named = default()
    text = f"{named.root}, {named.mode}" + "".join(f", layer {layer}" for layer in named.layers)
    existing = next(x for x in (named.root, *named.root.parents) if x.exists())
    if named.mode == "on" and not os.access(existing, os.W_OK | os.X_OK):
        raise ValueError(
            f"{named.root} is not writable, so every process rebuilds; set "
            "TVMFFI_CUBIN_CACHE_DIR to another folder"
        )
    return text


def _remote() -> str:
    found = configured()
    return "none" if found is None else without_secrets(found.url)


def _environment() -> str:
    """Return the variables that are set; raises ValueError if builds would refuse one."""
    if archs := config.get("TVMFFI_CUBIN_ARCH"):
        check_archs(split(archs), what="TVMFFI_CUBIN_ARCH")
    capacity()
    config.wants_pch(None)
    known = {name: os.environ.get(name) for name in config.DEFAULTS}
    return ", ".join(f"{x}={without_secrets(y)}" for x, y in known.items() if y) or "nothing set"
