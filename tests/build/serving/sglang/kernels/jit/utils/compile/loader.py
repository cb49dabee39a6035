from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any, NamedTuple


def _own_build(*args: Any, **named: Any) -> Any:
    raise AssertionError("SGLang builds itself")


def _flag(name: str) -> Any:
    return SimpleNamespace(get=lambda: bool(os.environ.get(name)))


FLAGS = ("SGLANG_CRASH_ON_JIT_COMPILE", "SGLANG_JIT_FORCE_RECOMPILE")
envs = SimpleNamespace(**{name: _flag(name) for name in FLAGS})
ninja = SimpleNamespace(generate=_own_build)
cache = SimpleNamespace(compute_build_key=_own_build, build_key_dir=_own_build)


class Unit(NamedTuple):
    filename: str
    is_cuda: bool
    source: str | None = None


class Spec(NamedTuple):
    module_name: str
    units: tuple[Unit, ...]
    cuda_cflags: tuple[str, ...]
    include_paths: tuple[str, ...]
    cflags: tuple[str, ...] = ("-std=c++20", "-O3")
    ldflags: tuple[str, ...] = ()

    def translation_units(self):
        return list(self.units)


def load_jit(name, *units, cuda_cflags=(), include_paths=()):
    spec = Spec(name, units, ("-std=c++20", "-O3", *cuda_cflags), include_paths)
    build_file = ninja.generate(spec)
    build_key = cache.compute_build_key(spec, build_file=build_file)
    scope = cache.build_key_dir(module_name=spec.module_name, build_key=build_key)
    prebuilt = _find_prebuilt(spec=spec, scope=scope)
    return _own_build() if prebuilt is None else _load(prebuilt)


def _find_prebuilt(*, spec, scope):
    return None


def _load(library):
    import tvm_ffi

    return tvm_ffi.load_module(str(library))
