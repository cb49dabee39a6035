from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Any

import tvm_ffi

SHIPPED: dict[str, Any] = {}
"""What is shipped built, by name."""
BUILT: list[str] = []
"""What FlashInfer has built itself."""


class MissingJITCacheError(RuntimeError):
    pass


@dataclasses.dataclass
class JitSpecNvcc:
    name: str
    sources: list[Path]
    extra_cflags: list[str] | None = None
    extra_cuda_cflags: list[str] | None = None
    extra_ldflags: list[str] | None = None
    extra_include_dirs: list[Path] | None = None
    needs_device_linking: bool = False
    embedded_cubin_factory: Any = None
    extra_cuda_cflags_by_source: dict[Path, list[str]] | None = None

    @property
    def jit_library_path(self):
        return Path("/nowhere", self.name)

    def get_library_path(self):
        return self.jit_library_path

    @property
    def is_compiled(self):
        return self.get_library_path().exists()

    def try_load(self):
        return SHIPPED.get(self.name)

    def build(self, verbose=None, need_lock=False):
        BUILT.append(self.name)

    def load(self, so_path=None):
        path = so_path or self.jit_library_path
        return tvm_ffi.load_module(str(path)) if path.exists() else "theirs"

    def build_and_load(self):
        found = self.try_load()
        if found is not None:
            return found
        if os.environ.get("FLASHINFER_DISABLE_JIT"):
            raise MissingJITCacheError(self.name)
        self.build()
        return self.load()
