"""Import this module to make SGLang's `load_jit` build through this package.

SGLang's modules import `load_jit` by name, so the functions it calls are replaced: its lookup
builds and loads, and its earlier steps for its own cache and later ones for ninja do nothing.
"""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ..inline.calls import build, build_inline
from . import part_of

_NAMES = {"loader": "ninja cache envs _find_prebuilt _load", "toolchain": "target_flags"}
_loader, _toolchain = (
    part_of("sglang", "SGLang 0.5.23", f"kernels.jit.utils.compile.{module}", names)
    for module, names in _NAMES.items()
)
_load = _loader._load


def _built(*, spec: Any, scope: object) -> Any:
    """Build and load the module of an SGLang spec."""
    options: dict[str, Any] = {
        "extra_cflags": spec.cflags,
        "extra_cuda_cflags": (*_toolchain.target_flags(), *spec.cuda_cflags),
        "extra_ldflags": spec.ldflags,
        "extra_include_paths": spec.include_paths,
        "compiler": "auto",
    }
    units = spec.translation_units()
    if any(unit.source is None for unit in units):
        path = build(spec.module_name, sources=[unit.filename for unit in units], **options)
    else:
        cuda = [unit.source for unit in units if unit.is_cuda]
        cpp = [unit.source for unit in units if not unit.is_cuda]
        path = build_inline(spec.module_name, cuda, cpp_sources=cpp, **options)
    return _load(Path(path))


# SGLang's equivalents of TVMFFI_CUBIN_CACHE.
if _loader.envs.SGLANG_JIT_FORCE_RECOMPILE.get():
    os.environ["TVMFFI_CUBIN_CACHE"] = "off"
if _loader.envs.SGLANG_CRASH_ON_JIT_COMPILE.get():
    os.environ["TVMFFI_CUBIN_CACHE"] = "require"

_loader.ninja = SimpleNamespace(generate=lambda spec: "")
_loader.cache = SimpleNamespace(
    compute_build_key=lambda spec, **_: "", build_key_dir=lambda **_: None
)
_loader._find_prebuilt = _built
_loader._load = lambda module: module
