"""NVIDIA's wheels: which CUDA families are installed, and the one that this process uses."""

from __future__ import annotations

import os
import sys
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from . import config
from .errors import ToolchainError
from .library_build import library_identity

__all__ = ["MAJORS", "Cuda", "find_cuda", "reset"]

MAJORS = (12, 13)
"""The CUDA families that can be used, oldest first."""


class Cuda(NamedTuple):
    """One CUDA family as its wheels install it, all parts of the same major version.

    Attributes
    ----------
    major : int
        12 or 13.
    nvrtc : Path
        ``libnvrtc.so.<major>``.
    include : Path
        The folder of ``cuda.h`` and ``cuda_fp16.h``.
    cccl : Path or None
        The folder of ``cub/`` and ``cuda/std/``, None where that wheel is missing.
    cudart : Path or None
        ``libcudart.so.<major>``, None where it is missing.
    sites : tuple of (str, str)
        Each part that is installed and the folder of the Python path that holds its wheel.
    more_includes : tuple of Path
        Header folders of further wheels, where they are installed: CUDA 12's ``crt/``, cuRAND.
    nvjitlink, nvfatbin : Path or None
        ``libnvJitLink.so.<major>`` and ``libnvfatbin.so.<major>``, None where they are missing.
    """

    major: int
    nvrtc: Path
    include: Path
    cccl: Path | None
    cudart: Path | None
    sites: tuple[tuple[str, str], ...]
    more_includes: tuple[Path, ...] = ()
    nvjitlink: Path | None = None
    nvfatbin: Path | None = None

    @property
    def include_dirs(self) -> tuple[Path, ...]:
        """The folders to search for CUDA's headers, in order."""
        cccl = () if self.cccl is None else (self.cccl,)
        return (self.include, *cccl, *self.more_includes)

    @property
    def roots(self) -> dict[str, str]:
        """The header folders by a token for each, such as ``"$CURAND"``."""
        roots = {f"${path.parent.name.upper()}": str(path) for path in self.more_includes}
        cccl = {} if self.cccl is None else {"$CCCL": str(self.cccl)}
        return {**roots, **cccl, "$CUDA": str(self.include)}

    @property
    def identity(self) -> str:
        """The build of NVRTC, the same text on every machine; found with short reads."""
        return library_identity("NVRTC", self.major, self.nvrtc)

    def require(self, part: str) -> Path:
        """Return the library of the part ``"nvjitlink"`` or ``"nvfatbin"``.

        Raises
        ------
        ToolchainError
            Its wheel is not installed; the message says how to install it.
        """
        path: Path | None = {"nvjitlink": self.nvjitlink, "nvfatbin": self.nvfatbin}[part]
        if path is None:
            raise ToolchainError(
                f"CUDA {self.major}: the Python path has no {self.wheels[part]}; "
                f"run: pip install {self.wheels[part]}"
            )
        return path

    @property
    def version(self) -> str:
        """The wheels' names and versions, as people read them."""
        return _version(dict(self.sites), self.major)

    @property
    def wheels(self) -> dict[str, str]:
        """The names of the wheels that bring the parts ``"nvrtc"``, ``"cccl"``, ``"crt"``, ..."""
        return {name: part.wheel for name, part in _parts(self.major).items()}


class _Part(NamedTuple):
    """One wheel of a family: its folder under ``nvidia/`` and the file that shows it is there."""

    wheel: str
    folder: str
    marker: str
    optional: bool = False


@cache
def _parts(major: int) -> dict[str, _Part]:
    if major == 12:
        runtime, headers = "nvidia-cuda-runtime-cu12", "include/"
        return {
            "nvrtc": _Part("nvidia-cuda-nvrtc-cu12", "cuda_nvrtc", "lib/libnvrtc.so.12"),
            "runtime": _Part(runtime, "cuda_runtime", headers + "cuda_fp16.h"),
            "cudart": _Part(runtime, "cuda_runtime", "lib/libcudart.so.12", True),
            "cccl": _Part("nvidia-cuda-cccl-cu12", "cuda_cccl", headers + "cuda/std/cstdint", True),
            "crt": _Part("nvidia-cuda-nvcc-cu12", "cuda_nvcc", headers + "crt/mma.h", True),
            "curand": _Part("nvidia-curand-cu12", "curand", headers + "curand_kernel.h", True),
            "nvjitlink": _Part(
                "nvidia-nvjitlink-cu12", "nvjitlink", "lib/libnvJitLink.so.12", True
            ),
            "nvfatbin": _Part("nvidia-nvfatbin-cu12", "nvfatbin", "lib/libnvfatbin.so.12", True),
        }
    folder = f"cu{major}"
    return {
        "nvrtc": _Part("nvidia-cuda-nvrtc", folder, f"lib/libnvrtc.so.{major}"),
        "runtime": _Part("nvidia-cuda-runtime", folder, "include/cuda_fp16.h"),
        "crt": _Part("nvidia-cuda-crt", folder, "include/crt/mma.h"),
        "cudart": _Part("nvidia-cuda-runtime", folder, f"lib/libcudart.so.{major}", True),
        "cccl": _Part("nvidia-cuda-cccl", folder, "include/cccl/cuda/std/cstdint", True),
        "curand": _Part("nvidia-curand", folder, "include/curand_kernel.h", True),
        "nvjitlink": _Part("nvidia-nvjitlink", folder, f"lib/libnvJitLink.so.{major}", True),
        "nvfatbin": _Part("nvidia-nvfatbin", folder, f"lib/libnvfatbin.so.{major}", True),
    }


def find_cuda() -> Cuda:
    """Return the CUDA family to use.

    ``TVMFFI_CUBIN_CUDA`` decides. Without it: of the completely installed families the newest
    that the driver supports; without a driver, 12 where it is installed. A family that is alone is
    used without a question to the driver.

    Raises
    ------
    ToolchainError
        No family is installed, or one is only in part; the message names what to install.
    ValueError
        ``TVMFFI_CUBIN_CUDA`` names no family.
    """
    override = config.get("TVMFFI_CUBIN_CUDA")
    return _find(override, config.get("TVMFFI_CUBIN_DRIVER"), tuple(sys.path))


def reset() -> None:
    """Forget what was found, as a new process would; for changes on disk under the same paths."""
    _find.cache_clear()


@lru_cache(maxsize=8)
def _find(override: str | None, _driver: str | None, paths: tuple[str, ...]) -> Cuda:
    # sys.path and not nvidia.__path__: several wheels put an __init__.py into nvidia/, which then
    # hides the same package in every later folder of the path.
    sites = [path for path in map(_absolute, paths) if path and _exists(path + "/nvidia")]
    if override is not None:
        major = _parse_override(override)
        return _complete(_locate(sites, major), major, f"TVMFFI_CUBIN_CUDA={override} asks for it")
    located = {major: _locate(sites, major, is_optional=False) for major in MAJORS}
    ready = [major for major in MAJORS if not _missing(located[major], major)]
    if not ready:
        started = [major for major in MAJORS if "nvrtc" in located[major]] or [MAJORS[0]]
        return _complete(located[started[0]], started[0], "no CUDA family is completely installed")
    major = ready[0] if len(ready) == 1 else _choose(ready)
    more = _locate(sites, major, is_optional=True)
    return _complete({**located[major], **more}, major, "")


def _absolute(path: str) -> str:
    """Return an absolute path; empty where the current folder it is relative to is deleted."""
    try:
        return os.path.abspath(path)
    except FileNotFoundError:
        return ""


def _exists(path: str) -> bool:
    # Where there is nothing, os.path.exists raises an error inside, which takes twice as long.
    return os.access(path, os.F_OK)


def _parse_override(text: str) -> int:
    if text not in map(str, MAJORS):
        raise ValueError(
            f"TVMFFI_CUBIN_CUDA={text!r} is no CUDA family: set it to "
            f"{' or '.join(map(str, MAJORS))}, or unset it"
        )
    return int(text)


def _choose(ready: list[int]) -> int:
    from . import driver

    version = driver.version()
    if version is None:
        return ready[0]
    return max((major for major in ready if major * 1000 <= version), default=ready[0])


def _locate(sites: list[str], major: int, *, is_optional: bool | None = None) -> dict[str, str]:
    """Return, by part, the folder of the path that holds its wheel; of all parts, or of some."""
    located = {}
    for name, part in _parts(major).items():
        if is_optional not in (None, part.optional):
            continue
        file = f"/nvidia/{part.folder}/{part.marker}"
        site = next((site for site in sites if _exists(site + file)), None)
        if site is not None:
            located[name] = site
    return located


def _missing(located: dict[str, str], major: int) -> list[str]:
    return [
        part.wheel
        for name, part in _parts(major).items()
        if name not in located and not part.optional
    ]


def _complete(located: dict[str, str], major: int, why: str) -> Cuda:
    missing = _missing(located, major)
    parts = _parts(major)
    if missing:
        state = "is incomplete: " if "nvrtc" in located else "is missing: "
        raise ToolchainError(
            f"CUDA {major} {state}{why}, but the Python path has no {' and no '.join(missing)}; "
            f"run: pip install 'tvmffi-cubin[cu{major}]'"
        )

    def folder(name: str, inner: str) -> Path:
        return Path(f"{located[name]}/nvidia/{parts[name].folder}/{inner}")

    def optional(name: str, inner: str) -> Path | None:
        return folder(name, inner) if name in located else None

    include = folder("runtime", "include")
    more = (optional("crt", "include"), optional("curand", "include"))
    return Cuda(
        major=major,
        nvrtc=folder("nvrtc", parts["nvrtc"].marker),
        include=include,
        cccl=optional("cccl", "include" if major == 12 else "include/cccl"),
        cudart=optional("cudart", parts["cudart"].marker),
        more_includes=tuple(path for path in more if path not in (None, include)),
        sites=tuple(located.items()),
        nvjitlink=optional("nvjitlink", parts["nvjitlink"].marker),
        nvfatbin=optional("nvfatbin", parts["nvfatbin"].marker),
    )


def _version(located: dict[str, str], major: int) -> str:
    """Name the wheels by the names of their metadata folders: exact, and one listing a site."""
    parts = _parts(major)
    prefixes: dict[str, set[str]] = {}
    for name, site in located.items():
        prefixes.setdefault(site, set()).add(parts[name].wheel.replace("-", "_") + "-")
    found: list[str] = []
    for site, wanted in prefixes.items():
        start = tuple(wanted)
        found += [
            entry[: -len(".dist-info")]
            for entry in os.listdir(site)
            if entry.startswith(start) and entry.endswith(".dist-info")
        ]
    if len(found) < sum(map(len, prefixes.values())):
        # Files without their metadata (copied, or from a system package): size tells builds apart.
        nvrtc = Path(located["nvrtc"], "nvidia", parts["nvrtc"].folder, parts["nvrtc"].marker)
        found.append(f"libnvrtc of {nvrtc.stat().st_size} bytes")
    return ", ".join(sorted(found))
