"""CUDA's libraries and headers in NVIDIA's wheels or a toolkit: their paths; calls into one."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from .. import config
from ..errors import CubinError, ToolchainError
from ..host.tools import on_path

TOOLKIT = "/usr/local/cuda"
_HEADERS = ("runtime", "cccl", "crt", "curand")  # in search order
# The supported families, oldest first, and the parts that make each complete. Only NVRTC is always
# required; other parts are required when they are used.
_WANTED = {12: ("nvrtc", "runtime"), 13: ("nvrtc", "runtime", "crt")}


class Cuda(NamedTuple):
    """A CUDA family: parts that share a major version."""

    major: int
    parts: Mapping[str, str]  # the installed ones: a library's path, or a header folder

    def require(self, part: str) -> Path:
        """Return a part's path; if it is missing, a ToolchainError says what to install."""
        if part not in self.parts:
            _find.cache_clear()  # so that a notebook can continue once it is installed
            wheel, *_ = _places(self.major)[part]
            raise ToolchainError(f"CUDA {self.major}: {part} is missing; run: pip install {wheel}")
        return Path(self.parts[part])

    @property
    def roots(self) -> dict[str, str]:
        """The header folders in search order, by a token such as ``"$CURAND"``."""
        return {f"${part.upper()}": self.parts[part] for part in _HEADERS if part in self.parts}

    @property
    def include_dirs(self) -> tuple[Path, ...]:
        """The folders to search for CUDA's headers, in order."""
        return tuple(map(Path, dict.fromkeys(self.roots.values())))


def _places(major: int) -> dict[str, tuple[str, str, str, str]]:
    """Return each part's wheel, its folder under ``nvidia/``, the path to use, and a file in it."""
    old, new = ("-cu12", "") if major == 12 else ("", f"cu{major}")
    crt, cccl = ("nvcc", "include") if major == 12 else ("crt", "include/cccl")

    def place(wheel: str, used: str, file: str = "") -> tuple[str, str, str, str]:
        return f"nvidia-{wheel}{old}", new or wheel.replace("-", "_"), used, f"{used}{file}"

    return {
        "nvrtc": place("cuda-nvrtc", f"lib/libnvrtc.so.{major}"),
        "runtime": place("cuda-runtime", "include", "/cuda_fp16.h"),
        "cccl": place("cuda-cccl", cccl, "/cuda/std/cstdint"),
        "crt": place(f"cuda-{crt}", "include", "/crt/mma.h"),
        "curand": place("curand", "include", "/curand_kernel.h"),
        "cudart": place("cuda-runtime", f"lib/libcudart.so.{major}"),
        "nvjitlink": place("nvjitlink", f"lib/libnvJitLink.so.{major}"),
        "nvfatbin": place("nvfatbin", f"lib/libnvfatbin.so.{major}"),
    }


def find_cuda() -> Cuda:
    """Return the family in ``TVMFFI_CUBIN_CUDA``, else the newest complete one for the driver.

    Without a driver, this is the oldest complete one. If none is complete, it is the oldest with
    NVRTC, which is all that a kernel without includes needs.
    """
    names = ("TVMFFI_CUBIN_CUDA", "TVMFFI_CUBIN_DRIVER", "CUDA_HOME", "CUDA_PATH")
    return _find(tuple(sys.path), *map(config.get, names), TOOLKIT)


@lru_cache(maxsize=8)
def _find(
    paths: tuple[str, ...], override: str | None, _driver: str | None, *homes: str | None
) -> Cuda:
    majors = [x for x in _WANTED if override in (None, str(x))]
    if not majors:
        raise ValueError(
            f"TVMFFI_CUBIN_CUDA={override!r} is not a CUDA version: set it to 12 or 13, or unset it"
        )
    # Relative paths are skipped: the current folder may have been deleted.
    sites = [x for x in paths if x[:1] == "/" and os.access(f"{x}/nvidia", os.F_OK)]
    families = [Cuda(major, _parts(major, sites, homes)) for major in majors]
    usable = [x for x in families if "nvrtc" in x.parts]
    if not usable:
        raise ToolchainError(
            "no CUDA is installed: neither the Python path nor a toolkit has NVRTC "
            f"{' or '.join(map(str, majors))}; run: pip install 'tvmffi-cubin[cu{majors[0]}]'"
        )
    complete = [x for x in usable if all(part in x.parts for part in _WANTED[x.major])]
    ready = complete or usable[:1]
    if len(ready) == 1:
        return ready[0]
    from . import driver

    version = driver.version() or 0
    return max((x for x in ready if x.major * 1000 <= version), default=ready[0])


def _parts(major: int, sites: list[str], homes: tuple[str | None, ...]) -> dict[str, str]:
    """Return the installed parts of a family; wheels take precedence over toolkits."""
    targets = f"/targets/{os.uname().machine.replace('aarch64', 'sbsa')}-linux"
    roots = [f"{home}{inner}" for home in homes if home for inner in ("", targets)]
    # The name of the runtime library gives the version.
    toolkits = [x for x in roots if os.access(f"{x}/lib/libcudart.so.{major}", os.F_OK)]
    found = {}
    for part, (_, folder, used, file) in _places(major).items():
        places = (*(f"{site}/nvidia/{folder}" for site in sites), *toolkits)
        # os.path.exists takes twice as long for a missing file.
        root = next((x for x in places if os.access(f"{x}/{file}", os.F_OK)), None)
        if root is not None:
            found[part] = f"{root}/{used}"
    return found


def find_program(name: str) -> Path | None:
    """Find a CUDA program: in a named toolkit, on PATH, in a wheel, in the default toolkit."""
    named = (f"{home}/bin/{name}" for x in ("CUDA_HOME", "CUDA_PATH") if (home := config.get(x)))
    wheels = (f"{path}/nvidia/cu13/bin/{name}" for path in sys.path if path)
    places = (*named, name, *wheels, f"{TOOLKIT}/bin/{name}")
    return next(filter(None, map(on_path, places)), None)


class Library:
    """NVRTC, nvJitLink or nvFatbin; `title` is the prefix of its functions."""

    def __init__(self, title: str, path: Path) -> None:
        self.title = title
        self.path = path
        # Mapping 100 MB takes 20 ms, during which ctypes.CDLL would hold the GIL.
        ctypes.CDLL(None).dlopen(os.fsencode(path), os.RTLD_NOW)
        self.calls = ctypes.CDLL(str(path))

    def version(self) -> tuple[int, int]:
        """Return the library's version, major and minor."""
        major, minor = ctypes.c_int(), ctypes.c_int()
        self.call("Version", ctypes.byref(major), ctypes.byref(minor))
        return major.value, minor.value

    @property
    def release(self) -> str:
        """The version as text, such as ``"12.9"``."""
        return ".".join(map(str, self.version()))

    def call(self, function: str, *arguments: object) -> None:
        """Call a function that is not expected to fail."""
        result = self.result(function, *arguments)
        if result != 0:
            raise CubinError(f"{self.title}{function} of {self.path} failed with error {result}")

    def result(self, function: str, *arguments: object) -> int:
        """Call a function and return its result."""
        return int(getattr(self.calls, f"{self.title}{function}")(*arguments))

    def read(self, function: str, handle: object, size: str = "") -> bytes:
        """Return the output of a function, whose size another function gives."""
        length = ctypes.c_size_t()
        self.call(size or f"{function}Size", handle, ctypes.byref(length))
        data = ctypes.create_string_buffer(length.value)
        if length.value:
            self.call(function, handle, data)
        return data.raw

    def text(self, function: str, handle: object) -> str:
        """Return a log."""
        return self.read(function, handle).rstrip(b"\0").decode("utf-8", "replace").strip("\n")


library = cache(Library)
"""Load a library, once per process."""
