"""Imports of packages without their dependencies, above all torch.

What is not installed, and torch in any case, is `Nothing`: modules, classes, functions and values
that can be imported, named and called, and do nothing.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import re
import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any


class Nothing(ModuleType):
    """A module, class, function, value or decorator of a package that is missing."""

    def __init__(self, *_: Any, **__: Any) -> None:
        super().__init__("nothing")
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self.__dict__.setdefault(name, Nothing())

    def __call__(self, *given: Any, **named: Any) -> Any:
        is_decorator = len(given) == 1 and inspect.isfunction(given[0])
        return given[0] if is_decorator else self

    def __getitem__(self, _: Any) -> Any:
        return self

    __or__ = __ror__ = __getitem__

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __mro_entries__(self, _: Any) -> tuple[()]:
        return ()

    def __bool__(self) -> bool:
        return False


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds `Nothing` for a package that is not installed or must not be imported."""

    def __init__(self, *only: str) -> None:
        self.only = only

    def find_spec(self, name: str, *_: Any) -> importlib.machinery.ModuleSpec | None:
        # What the packages themselves lack is an error, and so their prebuilt parts are missing.
        is_ours = not name.startswith(("sglang", "flashinfer"))
        if self.only:
            is_ours = any(f"{name}.".startswith(f"{x}.") for x in self.only)
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if is_ours else None

    def create_module(self, _: Any) -> ModuleType:
        return Nothing()

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing."""


def stand_in(arch: str, packages: list[str]) -> Any:
    """Make later imports find a torch that has no GPU but reports the capability of `arch`."""
    importlib.import_module("tvm_ffi")  # which detects missing packages itself
    sys.path[:0] = packages
    sys.meta_path.insert(0, Finder("torch", "triton", "sglang.srt"))
    sys.meta_path.append(Finder())
    torch, cuda, c = map(importlib.import_module, ("torch", "torch.cuda", "torch._C"))
    torch.dtype = type("dtype", (), {"is_floating_point": True, "itemsize": 2})
    names = "bool uint8 int8 int16 uint16 int32 uint32 int64 uint64 float16 bfloat16 float32 "
    names += "float64 float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu"
    torch.__dict__.update({name: torch.dtype() for name in names.split()})
    torch.__version__ = "2.9.0"
    torch.version = SimpleNamespace(cuda="13.0", hip=None)
    c._GLIBCXX_USE_CXX11_ABI = True
    digits = re.sub(r"\D", "", arch)
    capability = (int(digits[:-1]), int(digits[-1]))
    cuda.__dict__.update(
        is_available=lambda: False,
        device_count=lambda: 1,
        current_device=lambda: 0,
        get_device_capability=lambda *_: capability,
    )
    without_init("sglang", "flashinfer")
    return torch


def without_init(*packages: str) -> None:
    """Make packages importable without running their ``__init__``."""
    for package in packages:
        spec = importlib.util.find_spec(package)
        if spec is not None and spec.submodule_search_locations:
            module = sys.modules[package] = ModuleType(package)
            module.__spec__, module.__path__ = spec, list(spec.submodule_search_locations)
