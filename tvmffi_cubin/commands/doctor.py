"""``tvmffi-cubin doctor``: what was found to build and launch with, what is missing, the remedy."""

from __future__ import annotations

import argparse
import os
import stat
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from .. import __version__, config, pch
from ..cache.folder import places
from ..cache.remote import check_package, configured, without_secrets
from ..cache.upkeep import capacity
from ..cuda import driver, libraries, nvcc, program
from ..cuda.arch import check_archs, number_of, split
from ..cuda.libraries import Cuda, library
from ..errors import CubinError
from ..host import toolchain
from ..host.build import jobs
from ..host.tools import compiler_version

__all__ = ["add_to"]

_OLDEST_DRIVER = 12000

_SECRETS = ("TVMFFI_CUBIN_CACHE_REMOTE_KEY",)


@dataclass(frozen=True)
class Finding:
    """One line of the report; a `problem` keeps something from working, a note does not."""

    what: str
    text: str
    mark: str = "ok"


def add_to(commands: Any) -> None:
    """Add the command to the parser's subcommands."""
    text = "report what is there to build and launch with; exit status 1 where something is missing"
    parser = commands.add_parser("doctor", help=text, description=text)
    parser.set_defaults(run=_run)


def _run(_: argparse.Namespace) -> int:
    problems = 0
    for finding in _findings():
        problems += finding.mark == "problem"
        print(f"{finding.mark:<8} {finding.what:<14} {finding.text}", flush=True)
    print()
    if problems:
        print(f"{problems} problem{'s' * (problems > 1)}; each line above says what to do.")
        return 1
    gpu = driver.device_count() > 0
    print("Everything needed to build is here" + (", and a GPU to launch on." if gpu else "."))
    return 0


def _findings() -> Iterator[Finding]:
    yield Finding("tvmffi_cubin", f"{__version__}, {os.path.dirname(os.path.dirname(__file__))}")
    yield Finding("python", f"{sys.version.split()[0]}, {sys.executable}")
    yield from _checked("headers", lambda: str(toolchain.include_dir()))
    yield from _checked("tvm-ffi", _tvm_ffi)
    yield from _checked("ninja", lambda: str(toolchain.find_ninja()))
    yield from _checked("C++ compiler", _compiler)
    yield from _checked("assembler", lambda: str(toolchain.find_assembler()))
    yield from _checked("linker", lambda: str(toolchain.find_linker()))
    yield from _cuda()
    yield from _nvcc()
    yield from _checked("cache", _cache)
    yield from _remote()
    for name in config.VARIABLES:
        if os.environ.get(name):
            value = "(not shown)" if name in _SECRETS else without_secrets(os.environ[name])
            yield Finding("environment", f"{name}={value}", "set")
            yield from _wrong_value(name, os.environ[name])


def _checked(what: str, find: Callable[[], str]) -> Iterator[Finding]:
    try:
        yield Finding(what, find())
    except (CubinError, ValueError, OSError, ImportError) as error:
        yield Finding(what, str(error), "problem")


def _wrong_value(name: str, value: str) -> Iterator[Finding]:
    """Report a value that builds refuse and that no other finding is about."""
    checks: dict[str, Callable[[], object]] = {
        "TVMFFI_CUBIN_ARCH": lambda: check_archs(split(value), what=name),
        "TVMFFI_CUBIN_CACHE_SIZE": capacity,
        "TVMFFI_CUBIN_PCH": lambda: pch.is_wanted(None),
        "MAX_JOBS": jobs,
    }
    try:
        checks.get(name, bool)()
    except ValueError as error:
        yield Finding("environment", str(error), "problem")


def _tvm_ffi() -> str:
    paths = toolchain.tvm_ffi_paths()
    # Its import is part of the question: a wheel for another Python or glibc fails there.
    import tvm_ffi

    from ..module.module import check_tvm_ffi

    check_tvm_ffi()
    return f"{tvm_ffi.__version__}, {paths.library}"


def _compiler() -> str:
    compiler = toolchain.find_host_compiler()
    identity = compiler_version(compiler).splitlines()
    return f"{identity[-1].strip()}, {' '.join(compiler.command)}"


def _cuda() -> Iterator[Finding]:
    try:
        cuda = libraries.find_cuda()
    except (CubinError, ValueError) as error:
        yield Finding("CUDA wheels", str(error), "problem")
        yield from _driver(None)
        return
    yield Finding("CUDA wheels", f"{cuda.major}: {', '.join(sorted(cuda.parts))}")
    yield from _checked("NVRTC", _nvrtc)
    if "cccl" not in cuda.parts:
        wheel = cuda.wheels["cccl"]
        text = f"cuda/std, cub and thrust headers are missing; pip install {wheel} brings them"
        yield Finding("CCCL", text, "note")
    yield from _library(cuda, "nvFatbin", "several architectures in one image need it")
    yield from _library(cuda, "nvJitLink", "linking device code needs it")
    yield from _driver(cuda)


def _nvcc() -> Iterator[Finding]:
    try:
        found = nvcc.find_nvcc()
    except CubinError as error:
        is_named = config.get("TVMFFI_CUBIN_NVCC") is not None
        yield Finding("nvcc", str(error), "problem" if is_named else "note")
        return
    text = f'{found.version}, {found.path}; for compiler="nvcc" alone'
    version = driver.version()
    if version is not None and version < found.major * 1000:
        text += f"; the driver, of CUDA {version // 1000}, launches nothing that it builds"
        yield Finding("nvcc", text, "note")
        return
    yield Finding("nvcc", text)


def _library(cuda: Cuda, title: str, use: str) -> Iterator[Finding]:
    part = title.lower()
    if part not in cuda.parts:
        text = f"missing, and {use}; pip install {cuda.wheels[part]} brings it"
        yield Finding(title, text, "note")
        return

    path = cuda.require(part)
    yield from _checked(title, lambda: f"{library(title, path).release}, {path}")


def _nvrtc() -> str:
    path = libraries.find_cuda().nvrtc
    return f"{program.load(path).release}, {path}"


def _driver(cuda: Cuda | None) -> Iterator[Finding]:
    try:
        found = driver.load()
    except CubinError as error:
        yield Finding("driver", f"none, so kernels build and cannot be launched ({error})", "note")
        return
    try:
        version, count = found.version(), found.device_count()
    except CubinError as error:
        yield Finding("driver", str(error), "problem")
        return
    yield _driver_version(version, cuda)
    if count == 0:
        yield Finding("devices", "none that this process may use (CUDA_VISIBLE_DEVICES?)", "note")
    for ordinal in range(count):
        yield from _checked(f"device {ordinal}", partial(_device, ordinal, cuda))


def _driver_version(version: int, cuda: Cuda | None) -> Finding:
    text = f"CUDA {version // 1000}.{version % 1000 // 10}"
    if version < _OLDEST_DRIVER:
        return Finding("driver", f"{text} is too old to launch with; update it to 12.0", "problem")
    if cuda is not None and cuda.major > version // 1000:
        return Finding(
            "driver",
            f"{text} loads no images of CUDA {cuda.major}; update the driver, or run: "
            f"pip install 'tvmffi-cubin[cu{version // 1000}]'",
            "problem",
        )
    return Finding("driver", text)


def _device(ordinal: int, cuda: Cuda | None) -> str:
    device = driver.load()
    arch = device.device_arch(ordinal)
    text = f"{device.device_name(ordinal)}, {arch}"
    if cuda is None:
        return text
    nvrtc = program.load(cuda.nvrtc)
    if number_of(arch) not in nvrtc.supported_archs():
        raise ValueError(
            f"{text}: NVRTC {nvrtc.release} cannot compile for it; run: "
            f"pip install --upgrade 'tvmffi-cubin[cu{cuda.major}]'"
        )
    return text


def _cache() -> str:
    named = places()
    folder = named.root
    layers = "".join(f", after layer {layer}" for layer in named.layers)
    if named.mode != "on":
        return f"{folder}{layers}, TVMFFI_CUBIN_CACHE={named.mode}: what is built is not kept"
    existing = folder
    while not os.path.lexists(existing):
        existing = os.path.dirname(existing)
    if not os.path.isdir(existing) or not os.access(existing, os.W_OK | os.X_OK):
        raise ValueError(
            f"{folder} cannot be written, so every process builds anew; "
            "set TVMFFI_CUBIN_CACHE_DIR to a folder that can be"
        )
    if os.statvfs(existing).f_flag & os.ST_NOEXEC:
        raise ValueError(
            f"{folder} is on a file system that is mounted noexec, and no module there loads; set "
            "TVMFFI_CUBIN_CACHE_DIR to a folder on another"
        )
    return f"{folder}{layers}"


def _remote() -> Iterator[Finding]:
    try:
        found = configured()
        if found is None:
            return
        check_package(found.url)
    except CubinError as error:
        yield Finding("remote cache", str(error), "problem")
        return
    use = "read and written" if found.writes else "only read"
    yield Finding("remote cache", f"{without_secrets(found.url)}, {use}, {found.budget:g} s")
    path = os.path.expanduser(config.get("TVMFFI_CUBIN_CACHE_REMOTE_KEY_FILE") or "")
    if path and os.stat(path).st_mode & stat.S_IROTH:
        text = f"everybody on this machine can read its key; chmod o-r {path}"
        yield Finding("remote cache", text, "note")
