"""Import this module to build FlashInfer's `JitSpec`s through this package.

Prebuilt modules that FlashInfer ships still come first. Builds that need more than one compilation
of each file (device code linked across files, per-file flags, cubins in objects) stay with
FlashInfer's own nvcc.
"""

from __future__ import annotations

import logging
import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import CacheError
from ..inline.calls import build
from . import part_of

_NAMES = {
    "core": "JitSpecNvcc",
    "cpp_ext": "build_common_cflags build_cflags build_cuda_cflags parse_env_flags",
}
_core, _flags = (
    part_of("flashinfer", "FlashInfer 0.7.2", f"jit.{module}", names)
    for module, names in _NAMES.items()
)
_logger = logging.getLogger("tvmffi_cubin")
_Spec = _core.JitSpecNvcc
_their_try_load, _their_build = _Spec.try_load, _Spec.build
_their_path = _Spec.jit_library_path
_OF_NVCC = ("needs_device_linking", "extra_cuda_cflags_by_source", "embedded_cubin_factory")


def _options(spec: Any) -> dict[str, Any]:
    """Return the flags of FlashInfer's build file, except for CUDA's own folders."""
    folders = _flags.build_common_cflags("", spec.extra_include_dirs)
    common = [flag for flag in folders if "$cuda_home" not in flag]

    def words(given: Sequence[str]) -> list[str]:
        return shlex.split(" ".join(given).replace("$common_cflags", " ".join(common)))

    cuda = words(_flags.build_cuda_cflags(common, spec.extra_cuda_cflags))
    if cuda[0] == "-ccbin":  # nvcc's host compiler is CC there, and CXX here
        del cuda[:2]
    return {
        "extra_cflags": words(_flags.build_cflags(common, spec.extra_cflags)),
        "extra_cuda_cflags": cuda,
        "extra_ldflags": words(
            [*_flags.parse_env_flags("FLASHINFER_EXTRA_LDFLAGS"), *(spec.extra_ldflags or ())]
        ),
    }


def _of_nvcc(spec: Any) -> str:
    """Return the properties of a build that only FlashInfer's own nvcc supports."""
    return ", ".join(name for name in _OF_NVCC if getattr(spec, name))


def _build(spec: Any, verbose: bool | None = None, need_lock: bool = False) -> None:
    if reason := _of_nvcc(spec):
        _logger.warning("%s is built by nvcc, because of: %s", spec.name, reason)
        _their_build(spec, verbose, need_lock)
        return
    path = build(
        spec.name, sources=spec.sources, **_options(spec), compiler="auto", verbose=verbose
    )
    spec.tvmffi_cubin_path = Path(path)


def _try_load(spec: Any) -> Any:
    found = _their_try_load(spec)
    if found is None and not _of_nvcc(spec):
        try:
            spec.build()
        except CacheError as error:  # builds are off; what comes next reports that, but not why
            _logger.warning("%s", error)
            return None
        found = spec.load()
    return found


def _path(spec: Any) -> Any:
    return getattr(spec, "tvmffi_cubin_path", None) or _their_path.fget(spec)


# FlashInfer's equivalent of TVMFFI_CUBIN_CACHE.
if os.environ.get("FLASHINFER_DISABLE_JIT"):
    os.environ["TVMFFI_CUBIN_CACHE"] = "require"

_Spec.try_load, _Spec.build, _Spec.jit_library_path = _try_load, _build, property(_path)
