"""CUDA's libraries and headers: NVIDIA's wheels of one major version, or a toolkit.

Where they are, which build a library is, and calls into one by ctypes.
"""

from __future__ import annotations

import os
import platform
import struct
import sys
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple, TypeVar

from .. import config
from ..errors import CubinError, ToolchainError

if TYPE_CHECKING:
    import ctypes

MAJORS = (12, 13)
"""The CUDA families that can be used, oldest first."""

_TOOLKIT = "/usr/local/cuda"
_HEADERS = ("runtime", "crt", "cccl", "curand")
# What a family is complete with; all but NVRTC is only asked for when it is used.
_WANTED = {12: ("nvrtc", "runtime"), 13: ("nvrtc", "runtime", "crt")}

# The ELF note that holds a library's build ID: sizes of name and content, type, name.
_BUILD_ID_SIZE = 20
_BUILD_ID = struct.pack("<III", 4, _BUILD_ID_SIZE, 3) + b"GNU\0"
_READ = 4096
# By path, the build that was there just before it was loaded.
_noted: dict[Path, str] = {}
_loaded: dict[Path, Library] = {}

_L = TypeVar("_L", bound="Library")


class Cuda(NamedTuple):
    """One CUDA family, all parts of the same major version.

    `parts` has the path of each part that is there: the file of a library (``"nvrtc"``,
    ``"cudart"``, ``"nvjitlink"``, ``"nvfatbin"``) or the folder of headers (``"runtime"``,
    ``"cccl"``, ``"crt"``, ``"curand"``); `sites` the folder of the Python path whose wheel has it.
    """

    major: int
    parts: dict[str, str]
    sites: dict[str, str]

    @property
    def nvrtc(self) -> Path:
        """``libnvrtc.so.<major>``."""
        return Path(self.parts["nvrtc"])

    @property
    def include(self) -> Path:
        """The folder of ``cuda.h`` and ``cuda_fp16.h``; a ToolchainError where it is missing."""
        return self.require("runtime")

    def find(self, part: str) -> Path | None:
        """Return the path of a part, None where it is missing."""
        path = self.parts.get(part)
        return None if path is None else Path(path)

    def require(self, part: str) -> Path:
        """Return the path of a part; where it is missing, a ToolchainError says what to install."""
        path = self.find(part)
        if path is None:
            wheel = self.wheels[part]
            raise ToolchainError(
                f"CUDA {self.major}: neither the Python path nor a toolkit has what {wheel} "
                f"brings; run: pip install {wheel}"
            )
        return path

    @property
    def include_dirs(self) -> tuple[Path, ...]:
        """The folders to search for CUDA's headers, in order."""
        found = dict.fromkeys(
            self.parts[part] for part in ("runtime", "cccl", "crt", "curand") if part in self.parts
        )
        return tuple(map(Path, found))

    @property
    def roots(self) -> dict[str, str]:
        """The header folders by a token for each, such as ``"$CURAND"``."""
        roots = {f"${part.upper()}": self.parts[part] for part in _HEADERS if part in self.parts}
        roots["$CUDA"] = roots.pop("$RUNTIME", "")
        return {token: path for token, path in roots.items() if path}

    @property
    def identity(self) -> str:
        """The build of NVRTC, the same text on every machine; found with short reads."""
        return identity("NVRTC", self.major, self.nvrtc)

    @property
    def version(self) -> str:
        """The wheels' names and versions, and the toolkit's folder, as people read them."""
        return _version(self)

    @property
    def wheels(self) -> dict[str, str]:
        """The names of the wheels that bring the parts."""
        return {name: wheel for name, (wheel, *_) in _places(self.major).items()}


@cache
def _places(major: int) -> dict[str, tuple[str, str, str, str]]:
    """Return the wheel of each part, its folder under ``nvidia/``, what is used, a file of it."""
    old, new = ("-cu12", "") if major == 12 else ("", f"cu{major}")
    cccl = "include" if major == 12 else "include/cccl"

    def place(wheel: str, folder: str, used: str, file: str = "") -> tuple[str, str, str, str]:
        return f"nvidia-{wheel}{old}", new or folder, used, f"{used}{file}"

    return {
        "nvrtc": place("cuda-nvrtc", "cuda_nvrtc", f"lib/libnvrtc.so.{major}"),
        "runtime": place("cuda-runtime", "cuda_runtime", "include", "/cuda_fp16.h"),
        "crt": place(
            "cuda-nvcc" if major == 12 else "cuda-crt", "cuda_nvcc", "include", "/crt/mma.h"
        ),
        "cudart": place("cuda-runtime", "cuda_runtime", f"lib/libcudart.so.{major}"),
        "cccl": place("cuda-cccl", "cuda_cccl", cccl, "/cuda/std/cstdint"),
        "curand": place("curand", "curand", "include", "/curand_kernel.h"),
        "nvjitlink": place("nvjitlink", "nvjitlink", f"lib/libnvJitLink.so.{major}"),
        "nvfatbin": place("nvfatbin", "nvfatbin", f"lib/libnvfatbin.so.{major}"),
    }


def find_cuda() -> Cuda:
    """Return the CUDA family to use.

    ``TVMFFI_CUBIN_CUDA`` decides. Without it: of the complete families the newest that the driver
    supports; without a driver, the oldest. Where none is complete, the oldest that has an NVRTC: a
    kernel that includes nothing needs no more. What wheels lack, the toolkit of the same major
    version has, in ``CUDA_HOME``, ``CUDA_PATH`` or ``/usr/local/cuda``.
    """
    toolkits = (config.get("CUDA_HOME"), config.get("CUDA_PATH"), _TOOLKIT)
    return _find(
        config.get("TVMFFI_CUBIN_CUDA"),
        config.get("TVMFFI_CUBIN_DRIVER"),
        tuple(sys.path),
        tuple(dict.fromkeys(filter(None, toolkits))),
    )


def reset() -> None:
    """Forget what was found, as a new process would; for changes on disk under the same paths."""
    _find.cache_clear()


@lru_cache(maxsize=8)
def _find(
    override: str | None, _driver: str | None, paths: tuple[str, ...], toolkits: tuple[str, ...]
) -> Cuda:
    # sys.path and not nvidia.__path__: several wheels put an __init__.py into nvidia/, which then
    # hides the same package in every later folder of the path.
    sites = [path for path in map(_absolute, paths) if path and _exists(path + "/nvidia")]
    if override is not None:
        if override not in map(str, MAJORS):
            raise ValueError(
                f"TVMFFI_CUBIN_CUDA={override!r} is no CUDA family: set it to "
                f"{' or '.join(map(str, MAJORS))}, or unset it"
            )
        return _usable(_locate(sites, toolkits, int(override)), f"TVMFFI_CUBIN_CUDA={override}")
    families = [_locate(sites, toolkits, major) for major in MAJORS]
    ready = [x for x in families if all(part in x.parts for part in _WANTED[x.major])]
    started = [x for x in families if "nvrtc" in x.parts] or families
    return _usable(started[0] if not ready else _chosen(ready), "")


def _absolute(path: str) -> str:
    """Return an absolute path; empty where the current folder it is relative to is deleted."""
    try:
        return os.path.abspath(path)
    except FileNotFoundError:
        return ""


def _exists(path: str) -> bool:
    # Where there is nothing, os.path.exists raises an error inside, which takes twice as long.
    return os.access(path, os.F_OK)


def _chosen(ready: list[Cuda]) -> Cuda:
    if len(ready) == 1:
        return ready[0]
    from . import driver

    version = driver.version() or 0
    return max((x for x in ready if x.major * 1000 <= version), default=ready[0])


def _locate(sites: list[str], toolkits: tuple[str, ...], major: int) -> Cuda:
    """Return the parts of a family that are there."""
    parts: dict[str, str] = {}
    homes: dict[str, str] = {}
    for name, (_, folder, used, file) in _places(major).items():
        site = next((x for x in sites if _exists(f"{x}/nvidia/{folder}/{file}")), None)
        if site is not None:
            parts[name], homes[name] = f"{site}/nvidia/{folder}/{used}", site
    if len(parts) < len(_places(major)):
        for folder in _toolkit_folders(toolkits, major):
            for name, (_, _, used, file) in _places(major).items():
                if name not in parts and _exists(f"{folder}/{file}"):
                    parts[name] = f"{folder}/{used}"
    return Cuda(major, parts, homes)


def _toolkit_folders(toolkits: tuple[str, ...], major: int) -> list[str]:
    """Return the folders with ``include`` and ``lib`` of the toolkits of a major version.

    Each has the runtime library, whose name tells the version.
    """
    targets = f"targets/{platform.machine().replace('aarch64', 'sbsa')}-linux"
    folders = [f"{root}/{inner}" for root in toolkits for inner in ("", targets)]
    return [x.rstrip("/") for x in folders if _exists(f"{x}/lib/libcudart.so.{major}")]


def _usable(cuda: Cuda, why: str) -> Cuda:
    if "nvrtc" not in cuda.parts:
        reason = f"{why} asks for it, and" if why else "no CUDA is installed:"
        raise ToolchainError(
            f"CUDA {cuda.major} is missing: {reason} neither the Python path nor a toolkit has "
            f"{cuda.wheels['nvrtc']}; run: pip install 'tvmffi-cubin[cu{cuda.major}]'"
        )
    return cuda


def _version(cuda: Cuda) -> str:
    """Name the wheels by the names of their metadata folders: exact, and one listing a site."""
    prefixes: dict[str, set[str]] = {}
    for part, site in cuda.sites.items():
        prefixes.setdefault(site, set()).add(cuda.wheels[part].replace("-", "_") + "-")
    found = [
        entry.removesuffix(".dist-info")
        for site, wanted in prefixes.items()
        for entry in os.listdir(site)
        if entry.startswith(tuple(wanted)) and entry.endswith(".dist-info")
    ]
    others = {x for part, x in cuda.parts.items() if part not in cuda.sites}
    folders = {x.partition("/lib/")[0].partition("/include")[0] for x in others}
    return ", ".join((*sorted(found), *(f"the toolkit in {x}" for x in sorted(folders))))


# Libraries that are loaded


def identity(name: str, major: int, path: Path) -> str:
    """Return the build of a library, the same text on every machine; found with short reads."""
    return f"{name} {major}{_build_of(path)}"


def replacement() -> str:
    """Return what says that a library is no longer the one that was loaded; else nothing."""
    for path, build in tuple(_noted.items()):
        try:
            is_same = _build_of(path) == build
        except OSError:
            is_same = False
        if not is_same:
            return f"{path} was replaced while it was in use: start the process again"
    return ""


def load(path: Path, title: str) -> ctypes.CDLL:
    """Load a library; `title` is what messages call it."""
    import ctypes

    try:
        _noted.setdefault(path, _build_of(path))
        # To map 100 MB takes 20 ms, for which ctypes.CDLL would keep Python's lock.
        ctypes.CDLL(None).dlopen(os.fsencode(path), os.RTLD_NOW)
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise ToolchainError(
            f"{title} could not be loaded from {path}: {error}; reinstall its wheel, run: "
            "pip install --force-reinstall 'tvmffi-cubin[cu12]' (or [cu13])"
        ) from error


class Library:
    """A library that ctypes calls; a subclass says which.

    cuda-python has both of those that are called so. Its `nvjitlink` frees the names of inputs
    that nvJitLink goes on to read, so that messages name none; its `nvfatbin` is not in the
    releases that torch asks for.
    """

    title: ClassVar[str]
    prefix: ClassVar[str]

    def __init__(self, path: Path) -> None:
        self.path = path
        self.calls = load(path, self.title)

    @classmethod
    def of(cls: type[_L], path: Path) -> _L:
        """Return the library of a path, loaded once a process."""
        found = _loaded.get(path)
        if not isinstance(found, cls):
            found = _loaded[path] = cls(path)
        return found

    def version(self) -> tuple[int, int]:
        """Return the library's version, major and minor."""
        import ctypes

        major, minor = ctypes.c_int(), ctypes.c_int()
        self.call("Version", ctypes.byref(major), ctypes.byref(minor))
        return major.value, minor.value

    def call(self, function: str, *arguments: object) -> None:
        """Call a function that is not expected to fail."""
        result = self.result(function, *arguments)
        if result != 0:
            name = f"{self.prefix}{function} of {self.path}"
            raise CubinError(f"{name} failed with error {result}")

    def result(self, function: str, *arguments: object) -> int:
        """Call a function and return its result."""
        try:
            return int(getattr(self.calls, f"{self.prefix}{function}")(*arguments))
        except AttributeError as error:
            raise ToolchainError(
                f"{self.title} could not be loaded from {self.path}: {error}"
            ) from None


def _build_of(path: Path) -> str:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        build = _build_in(os.read(descriptor, _READ))
        if not build:
            # Who makes wheels moves the notes of most NVRTCs behind all else.
            size = os.fstat(descriptor).st_size
            build = _build_in(os.pread(descriptor, _READ, max(size - _READ, 0)))
        return build or f" of {size} bytes"
    finally:
        os.close(descriptor)


def _build_in(data: bytes) -> str:
    at = data.find(_BUILD_ID)
    start = at + len(_BUILD_ID)
    return f", build {data[start : start + _BUILD_ID_SIZE].hex()}" if at >= 0 else ""
