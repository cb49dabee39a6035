"""Builds wrappers as the build stage does, with plain compiler calls."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import tvm_ffi

import tvmffi_cubin.module  # noqa: F401 - registers LaunchError
from tvmffi_cubin import nvrtc
from tvmffi_cubin.cuda.libraries import find_cuda
from tvmffi_cubin.functions.assembly import Text, image_text
from tvmffi_cubin.host import forwarders
from tvmffi_cubin.host.tools import find_host_compiler, include_dir, tvm_ffi_paths

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


def run(*command: str | Path, cwd: Path | None = None) -> None:
    done = subprocess.run(
        [str(word) for word in command], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def load_anew(path: Path, folder: Path) -> tvm_ffi.Module:
    """Load a copy: what its static variables hold is no other test's."""
    return tvm_ffi.load_module(shutil.copy(path, folder))


class Workshop:
    """Builds wrappers as the build stage does, with plain compiler calls; each by name, and once.

    Processes may share its folder.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self.compiler = find_host_compiler().command
        with self._alone("workshop"):
            if not (folder / "forwarders.cc.o").exists():
                self._furnish()
        self.image = (folder / "kernels.cubin").read_bytes()

    def _furnish(self) -> None:
        folder = self.folder
        cubin = nvrtc.compile((CPP / "kernels.cu").read_text(), arch="sm_90")
        (folder / "kernels.cubin").write_bytes(cubin.image)
        (folder / "kernel_bytes.inc").write_text(",".join(map(str, cubin.image)))
        machine = os.uname().machine
        text = image_text("kernels", "kernels.cubin", cubin)
        (folder / "kernels.s").write_text(Text(machine).finished(text))
        cuda_h = find_cuda().require("runtime") / "cuda.h"
        (folder / "forwarders.cc").write_text(forwarders.forwarder_unit(cuda_h))
        (folder / "exports.map").write_text(
            "{ local: cu[A-Z]*; cuda[A-Z]*; __tvm_ffi__cubin_*; __tvmffi_cubin_*; "
            "_Z*tvmffi_cubin*; };\n"
        )
        self._compile("kernels.s")
        self._compile("forwarders.cc")

    @contextlib.contextmanager
    def _alone(self, name: str) -> Iterator[None]:
        with (self.folder / f"{name}.lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _compile(self, source: str | Path, *flags: str, name: str | None = None) -> str:
        made = f"{name or Path(source).name}.o"
        run(
            *self.compiler, "-c", "-std=c++17", "-O1", "-fPIC", *flags, *include_flags(),
            f"-I{self.folder}", source, "-o", made, cwd=self.folder,
        )  # fmt: skip
        return made

    def link(
        self,
        name: str,
        objects: Sequence[str],
        extra: Sequence[str] = (),
        image: str = "kernels.s.o",
    ) -> Path:
        paths = tvm_ffi_paths()
        libraries = forwarders.link_flags(extra)
        libraries += forwarders.cudart_flags(
            forwarders.runtime_to_link(find_cuda().require("cudart"))
        )
        run(
            *self.compiler, "-shared", "-o", f"{name}.so", *objects, image,
            "forwarders.cc.o", "-Wl,-z,now", "-Wl,-z,defs", "-Wl,--version-script=exports.map",
            paths.library, *libraries, cwd=self.folder,
        )  # fmt: skip
        return self.folder / f"{name}.so"

    def build(self, source: str, *flags: str, name: str | None = None) -> Path:
        name = name or Path(source).stem
        library = self.folder / f"{name}.so"
        with self._alone(name):
            if not library.exists():
                self.link(name, [self._compile(CPP / source, *WARNINGS, *flags, name=name)])
        return library
