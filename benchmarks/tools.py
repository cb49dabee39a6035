"""What of the peers is installed, and how to reach it; Skip is raised where it is not."""

from __future__ import annotations

import importlib
import importlib.util
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from section import Skip

# What is compiled for where there is no device to ask.
DEFAULT_ARCH = "sm_90a"


def need(*names: str) -> ModuleType:
    """Import modules and return the last."""
    for name in names:
        try:
            found = importlib.util.find_spec(name)
        except ImportError:
            found = None
        if found is None:
            raise Skip(f"{name} is not installed")
    try:
        return [importlib.import_module(name) for name in names][-1]
    except ImportError as error:
        raise Skip(f"{names[-1]} does not import: {error}") from None


def need_gpu(gpu: bool, why: str) -> None:
    if not gpu:
        raise Skip(f"no GPU: {why}")


def cuda_core() -> ModuleType:
    """Return cuda.core, or its namespace of versions before 0.4."""
    core = need("cuda.core")
    return core if hasattr(core, "Program") else need("cuda.core.experimental")


def nvrtc() -> Callable[[str, str], bytes]:
    """Return what compiles a source for an architecture by NVRTC's own calls and no others."""
    binding = need("cuda.bindings.nvrtc")

    def compile_(source: str, arch: str) -> bytes:
        _, program = binding.nvrtcCreateProgram(source.encode(), b"kernel.cu", 0, [], [])
        options = [f"-arch={arch}".encode(), b"-std=c++17", b"-default-device"]
        (status,) = binding.nvrtcCompileProgram(program, len(options), options)
        assert status == binding.nvrtcResult.NVRTC_SUCCESS, status
        _, size = binding.nvrtcGetCUBINSize(program)
        image = bytes(size)
        binding.nvrtcGetCUBIN(program, image)
        binding.nvrtcDestroyProgram(program)
        return image

    return compile_


def device_arch() -> str:
    """Return the architecture of torch's device, with its own features."""
    major, minor = need("torch").cuda.get_device_capability()
    return f"sm_{major}{minor}" + ("a" if major >= 9 else "")


def toolkit() -> Path:
    """Return the folder of a CUDA toolkit that can compile and link host code."""
    home = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH")
    nvcc = shutil.which("nvcc")
    folder = Path(home) if home else Path(nvcc).resolve().parent.parent if nvcc else None
    if folder is None or not (folder / "bin" / "nvcc").exists():
        raise Skip("nvcc is not installed")
    return folder


def tvm_ffi_gxx() -> dict[str, list[str]]:
    """Return the options with which tvm_ffi.cpp builds its own CUBIN launcher by g++.

    Without a toolkit its headers lack `cuda_runtime.h`, for which this package's stands in, and the
    driver's symbols stay undefined: such a module can be built, not launched.
    """
    try:
        home = toolkit()
    except Skip:
        return gxx_without_toolkit()
    return {
        "extra_include_paths": [str(home / "include")],
        "extra_ldflags": [f"-L{home / 'lib64'}", "-lcudart"],
    }


def gxx_without_toolkit() -> dict[str, list[str]]:
    from tvmffi_cubin.cuda.libraries import find_cuda
    from tvmffi_cubin.host.toolchain import include_dir

    own = include_dir()
    folders = (own / "tvmffi_cubin" / "compat", find_cuda().require("runtime"), own)
    return {
        "extra_include_paths": [str(folder) for folder in folders],
        "extra_cflags": ["-DTVM_FFI_CUBIN_LAUNCHER_USE_DRIVER_API=1"],
    }
