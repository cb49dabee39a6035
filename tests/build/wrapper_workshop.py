"""The wrappers of tests/cpp: how they are built, and loaded anew for each test."""

import shutil
from pathlib import Path
from typing import Any

import tvm_ffi

import tvmffi_cubin as tc
import tvmffi_cubin.module
from tvmffi_cubin import nvrtc
from tvmffi_cubin.cuda.libraries import find_cuda
from tvmffi_cubin.host.tools import include_dir, tvm_ffi_paths

CPP = Path(__file__).parent.parent / "cpp"
INCLUDE = include_dir()
# Unused parameters are tvm-ffi's own: its export macro has one.
WARNINGS = ("-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter")
DRIVER_DIALECT = "-DTVM_FFI_CUBIN_LAUNCHER_USE_DRIVER_API=1"
RUNTIME_DIALECT = "-DTVM_FFI_CUBIN_LAUNCHER_USE_DRIVER_API=0"


def include_flags() -> list[str]:
    system = [tvm_ffi_paths().include, *find_cuda().include_dirs]
    ours = [INCLUDE / "tvmffi_cubin" / "compat", INCLUDE]
    return [f"-I{folder}" for folder in ours] + [
        word for folder in system for word in ("-isystem", str(folder))
    ]


def load_anew(path: Path, folder: Path) -> tvm_ffi.Module:
    """Load a copy: what its static variables hold is no other test's."""
    return tvm_ffi.load_module(shutil.copy(path, folder))


class Workshop:
    """Builds the wrappers of tests/cpp, which have tests/cpp/kernels.cu embedded as `kernels`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.image = nvrtc.compile((CPP / "kernels.cu").read_text(), arch="sm_90").image
        (folder / "kernel_bytes.inc").write_text(",".join(map(str, self.image)))

    def build(self, source: str, *flags: str, name: str | None = None, **options: Any) -> Path:
        made = tc.build(
            name or Path(source).stem,
            sources=CPP / source,
            embed_cubin={"kernels": self.image},
            extra_cflags=[*WARNINGS, *flags],
            extra_include_paths=[self.folder],
            use_pch=False,
            **options,
        )
        return Path(made)
