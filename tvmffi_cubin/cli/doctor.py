"""``tvmffi-cubin doctor``: what was found to build and launch with, what is missing, the remedy."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from .. import __version__, config
from ..cache.remote import configured, without_secrets
from ..cache.store import default
from ..cache.upkeep import capacity
from ..cuda import driver, libraries, nvcc, program
from ..cuda.arch import check_archs, split
from ..cuda.libraries import Cuda, library
from ..errors import CubinError
from ..host import tools

_OLDEST_DRIVER = 12000


class Finding(NamedTuple):
    """One line of the report; a problem keeps something from working, a note does not."""

    what: str
    text: str
    mark: str = "ok"


def add_arguments(_: argparse.ArgumentParser) -> None:
    pass


def run(_: argparse.Namespace) -> int:
    problems = 0
    for finding in _findings():
        problems += finding.mark == "problem"
        print(f"{finding.mark:<8} {finding.what:<14} {finding.text}", flush=True)
    if problems:
        print(f"\n{problems} problem{'s' * (problems > 1)}; each line above says what to do.")
        return 1
    gpu = ", and a GPU to launch on" if driver.device_count() else ""
    print(f"\nEverything needed to build is here{gpu}.")
    return 0


def _findings() -> Iterator[Finding]:
    yield Finding("tvmffi_cubin", f"{__version__}, {os.path.dirname(os.path.dirname(__file__))}")
    yield Finding("python", f"{sys.version.split()[0]}, {sys.executable}")
    yield _checked("headers", tools.include_dir)
    yield _checked("tvm-ffi", _tvm_ffi)
    yield _checked("ninja", tools.find_ninja)
    yield _checked("C++ compiler", _compiler)
    yield _checked("assembler", partial(tools.find_binutil, "as"))
    yield _checked("linker", partial(tools.find_binutil, "ld"))
    yield from _cuda()
    yield _checked("nvcc", _nvcc, "note" if config.get("TVMFFI_CUBIN_NVCC") is None else "problem")
    yield _checked("cache", _cache)
    if config.get("TVMFFI_CUBIN_CACHE_REMOTE"):
        yield _checked("remote cache", _remote)
    yield _checked("environment", _environment)


def _checked(what: str, find: Callable[[], object], mark: str = "problem") -> Finding:
    try:
        return Finding(what, str(find()))
    except (CubinError, ValueError, OSError, ImportError) as error:
        return Finding(what, str(error), mark)


def _tvm_ffi() -> str:
    paths = tools.tvm_ffi_paths()
    # Its import is part of the question: a wheel for another Python or glibc fails there.
    import tvm_ffi

    from ..module.module import check_tvm_ffi

    check_tvm_ffi()
    return f"{tvm_ffi.__version__}, {paths.library}"


def _compiler() -> str:
    compiler = tools.find_host_compiler()
    compiler.require()
    version = tools.compiler_version(compiler).splitlines()[-1].strip()
    return f"{version}, {' '.join(compiler.command)}"


def _cuda() -> Iterator[Finding]:
    cuda: Cuda | None = None
    try:
        cuda = libraries.find_cuda()
    except (CubinError, ValueError) as error:
        yield Finding("CUDA wheels", str(error), "problem")
    else:
        yield Finding("CUDA wheels", f"{cuda.major}: {', '.join(sorted(cuda.parts))}")
        yield _checked("NVRTC", lambda: f"{program.load().release}, {cuda.parts['nvrtc']}")
        yield _checked("CCCL", lambda: cuda.require("cccl"), "note")
        for title in ("nvFatbin", "nvJitLink"):
            yield _checked(title, partial(_library, title, cuda), "note")
    try:
        driver.load()
    except CubinError as error:
        yield Finding("driver", f"none, so kernels build and cannot be launched ({error})", "note")
        return
    yield _checked("driver", lambda: _driver(driver.version() or 0, cuda))
    if driver.device_count() == 0:
        yield Finding("devices", "none that this process may use (CUDA_VISIBLE_DEVICES?)", "note")
    for ordinal in range(driver.device_count()):
        yield _checked(f"device {ordinal}", partial(_device, ordinal, cuda))


def _library(title: str, cuda: Cuda) -> str:
    path = cuda.require(title.lower())
    return f"{library(title, path).release}, {path}"


def _device(ordinal: int, cuda: Cuda | None) -> str:
    arch = driver.device_arch(ordinal)
    if cuda is not None:
        program.load().check_known(arch)
    return f"{driver.device_name(ordinal)}, {arch}"


def _driver(version: int, cuda: Cuda | None) -> str:
    text = f"CUDA {version // 1000}.{version % 1000 // 10}"
    if version < _OLDEST_DRIVER:
        raise ValueError(f"{text} is too old to launch with; update it to 12.0")
    if cuda is not None and cuda.major > version // 1000:
        raise ValueError(
            f"{text} loads no images of CUDA {cuda.major}; update the driver, or run: "
            f"pip install 'tvmffi-cubin[cu{version // 1000}]'"
        )
    return text


def _nvcc() -> str:
    found = nvcc.find_nvcc()
    return f'{found.version}, {found.path}; for compiler="nvcc" or "auto"'


def _cache() -> str:
    named = default()
    layers = "".join(f", after layer {layer}" for layer in named.layers)
    if named.mode != "on":
        kept = "nothing is built" if named.mode == "require" else "what is built is not kept"
        return f"{named.root}{layers}, TVMFFI_CUBIN_CACHE={named.mode}: {kept}"
    existing = str(named.root)
    while not os.path.lexists(existing):
        existing = os.path.dirname(existing)
    if not (os.path.isdir(existing) and os.access(existing, os.W_OK | os.X_OK)):
        raise ValueError(
            f"{named.root} cannot be written, so every process builds anew; set "
            "TVMFFI_CUBIN_CACHE_DIR to another folder"
        )
    return f"{named.root}{layers}"


def _remote() -> str:
    found = configured()
    assert found is not None
    use = "read and written" if found.writes else "only read"
    return f"{without_secrets(found.url)}, {use}, {found.budget:g} s"


def _environment() -> str:
    """Return the variables that are set; a ValueError where builds would refuse one."""
    if archs := config.get("TVMFFI_CUBIN_ARCH"):
        check_archs(split(archs), what="TVMFFI_CUBIN_ARCH")
    capacity()
    config.wants_pch(None)
    known = {name: os.environ.get(name) for name in config.DEFAULTS}
    return ", ".join(f"{x}={without_secrets(y)}" for x, y in known.items() if y) or "nothing set"
