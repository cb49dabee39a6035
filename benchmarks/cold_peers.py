"""The front ends: each sets up what is not timed, and returns how to get from source to result."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import kernels
import tools
from section import Skip

N = 1000
BLOCKS = (N + 255) // 256


@dataclass(frozen=True)
class Trial:
    """`run` goes from the source to the result; `value` reads y[-1] back (None: nothing launched),
    `artifact` says whether what `run` returned is what was wanted."""

    run: Callable[[], Any]
    value: Callable[[], float] | None
    artifact: Callable[[Any], bool]


def is_made(made: Any) -> bool:
    return made is not None


def is_image(made: Any) -> bool:
    return bytes(made[:4]) == b"\x7fELF"


def is_file(made: Any) -> bool:
    return os.path.getsize(made) > 0


def arrays(gpu: bool) -> tuple[Any, Any, Callable[[], None], Callable[[], float] | None]:
    """Return x = 1 and y = 0 as torch's tensors, how to wait, and how to read y[-1]."""
    if not gpu:
        return None, None, lambda: None, None
    torch = tools.need("torch")
    x, y = torch.ones(N, device="cuda"), torch.zeros(N, device="cuda")
    torch.cuda.synchronize()
    return x, y, torch.cuda.synchronize, lambda: y[-1].item()


def ours(source: str | list[str], function: str, gpu: bool, **options: Any) -> Trial:
    tools.need("tvm_ffi")
    tc = tools.need("tvmffi_cubin")
    x, y, wait, value = arrays(gpu)
    # With a GPU its architecture is asked for, as for a user who names none.
    arch = None if gpu else tools.DEFAULT_ARCH

    def run() -> Any:
        mod = tc.load_inline("bench", source, arch=arch, **options)
        if gpu:
            getattr(mod, function)(x, y)
            wait()
        return mod

    return Trial(run, value, lambda mod: hasattr(mod, function))


def tvmffi_cubin(salt: int, gpu: bool) -> Trial:
    tc = tools.need("tvmffi_cubin")
    launch = tc.Launch(grid="ceil_div(x.numel, 256)", block=256, args={"n": "x.numel"})
    return ours(kernels.salted(kernels.AXPY, salt), "axpy", gpu, functions={"axpy": launch})


def tvmffi_cubin_wrapper(salt: int, gpu: bool) -> Trial:
    sources = [kernels.salted(kernels.AXPY, salt), kernels.wrapper(["axpy"], salt)]
    return ours(sources, "axpy_host", gpu)


def tvmffi_cubin_compile(salt: int, gpu: bool) -> Trial:
    nvrtc = tools.need("tvmffi_cubin").nvrtc
    source = kernels.salted(kernels.AXPY, salt)
    return Trial(lambda: nvrtc.compile(source, arch=tools.DEFAULT_ARCH).image, None, is_image)


def nvrtc(salt: int, gpu: bool) -> Trial:
    source = kernels.salted(kernels.AXPY, salt)
    arch = tools.device_arch() if gpu else tools.DEFAULT_ARCH
    arrays(gpu)
    compile_ = tools.nvrtc()
    return Trial(lambda: compile_(source, arch), None, is_image)


def cupy(salt: int, gpu: bool) -> Trial:
    numpy, cupy = tools.need("numpy"), tools.need("cupy")
    tools.need_gpu(gpu, "CuPy compiles for the current device")
    # Copies, where cupy.ones would compile a kernel and so load the compiler before the clock runs.
    x = cupy.asarray(numpy.ones(N, dtype=numpy.float32))
    y = cupy.asarray(numpy.zeros(N, dtype=numpy.float32))
    cupy.cuda.Device().synchronize()
    source = kernels.salted(kernels.AXPY, salt)

    def run() -> Any:
        kernel = cupy.RawKernel(source, "axpy")
        kernel((BLOCKS,), (256,), (x, y, numpy.int32(N)))
        cupy.cuda.Device().synchronize()
        return kernel

    return Trial(run, lambda: float(y.get()[-1]), is_made)


def cuda_core(salt: int, gpu: bool) -> Trial:
    core = tools.cuda_core()
    x, y, wait, value = arrays(gpu)
    source = kernels.salted(kernels.AXPY, salt)
    if gpu:
        device = core.Device()
        device.set_current()

    def compiled(arch: str) -> Any:
        options = core.ProgramOptions(std="c++17", arch=arch)
        return core.Program(source, code_type="c++", options=options).compile("cubin")

    def run() -> Any:
        if not gpu:
            return compiled(tools.DEFAULT_ARCH).code
        major, minor = device.compute_capability
        kernel = compiled(f"sm_{major}{minor}").get_kernel("axpy")
        config = core.LaunchConfig(grid=BLOCKS, block=256)
        arguments = (x.data_ptr(), y.data_ptr(), ctypes.c_int(N))
        core.launch(device.default_stream, config, kernel, *arguments)
        wait()
        return kernel

    return Trial(run, value, is_made if gpu else is_image)


def module_of(text: str, name: str) -> Any:
    """Import a text as a module: Triton reads the source of its kernels from their file."""
    path = Path(tempfile.gettempdir()) / f"{name}.py"
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def triton(salt: int, gpu: bool) -> Trial:
    triton = tools.need("triton")
    x, y, wait, value = arrays(gpu)
    text = kernels.salted(kernels.AXPY_TRITON, salt)
    kernel = module_of(text, f"bench_axpy_{salt}").axpy

    def launched() -> Any:
        kernel[(BLOCKS,)](x, y, N, BLOCK=256)
        wait()
        return kernel

    def compiled() -> Any:
        from triton.backends.compiler import GPUTarget
        from triton.compiler import ASTSource

        types = {"x": "*fp32", "y": "*fp32", "n": "i32", "BLOCK": "constexpr"}
        source = ASTSource(kernel, types, {"BLOCK": 256})
        return triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm["cubin"]

    return Trial(launched, value, is_made) if gpu else Trial(compiled, None, is_image)


def torch_kernel(salt: int, gpu: bool) -> Trial:
    torch = tools.need("torch")
    if not hasattr(torch.cuda, "_compile_kernel"):
        raise Skip(f"torch {torch.__version__} has no torch.cuda._compile_kernel")
    tools.need_gpu(gpu, "torch compiles for the current device")
    x, y, wait, value = arrays(gpu)
    source = kernels.salted(kernels.AXPY, salt)

    def run() -> Any:
        kernel = torch.cuda._compile_kernel(source, "axpy")
        kernel(grid=(BLOCKS, 1, 1), block=(256, 1, 1), args=[x, y, N])
        wait()
        return kernel

    return Trial(run, value, is_made)


def tvm_ffi(build: Callable[[Callable[..., Any]], Any], gpu: bool) -> Trial:
    """Return a trial of tvm_ffi.cpp: `build` calls the function that it is given."""
    cpp = tools.need("tvm_ffi.cpp")
    x, y, wait, value = arrays(gpu)
    if not gpu:
        os.environ.setdefault("TVM_FFI_CUDA_ARCH_LIST", "9.0a")

    def run() -> Any:
        made = build(cpp.load_inline if gpu else cpp.build_inline)
        if gpu:
            made.axpy_host(x, y)
            wait()
        return made

    return Trial(run, value, is_made if gpu else is_file)


def tvm_ffi_image(salt: int, gpu: bool) -> bytes:
    from tvm_ffi.cpp import nvrtc

    source = kernels.salted(kernels.AXPY, salt)
    return nvrtc.nvrtc_compile(source, arch=None if gpu else tools.DEFAULT_ARCH)


def tvm_ffi_gxx(salt: int, gpu: bool) -> Trial:
    tools.need("cuda.bindings")
    if gpu:
        tools.toolkit()
    options = tools.tvm_ffi_gxx()
    text = kernels.wrapper(["axpy"], salt)

    def build(function: Callable[..., Any]) -> Any:
        image = tvm_ffi_image(salt, gpu)
        return function("bench", cpp_sources=text, embed_cubin={"kernels": image}, **options)

    return tvm_ffi(build, gpu)


def tvm_ffi_cubin(salt: int, gpu: bool) -> Trial:
    tools.need("cuda.bindings")
    tools.toolkit()
    text = kernels.wrapper(["axpy"], salt)

    def build(function: Callable[..., Any]) -> Any:
        image = tvm_ffi_image(salt, gpu)
        return function("bench", cuda_sources=text, embed_cubin={"kernels": image})

    return tvm_ffi(build, gpu)


def tvm_ffi_nvcc(salt: int, gpu: bool) -> Trial:
    tools.toolkit()
    text = kernels.salted(kernels.AXPY_MIXED, salt)
    return tvm_ffi(
        lambda function: function("bench", cuda_sources=text, functions=["axpy_host"]), gpu
    )


def torch_inline(salt: int, gpu: bool) -> Trial:
    torch = tools.need("torch")
    tools.need_gpu(gpu, "torch's own extension builder wants one")
    tools.toolkit()
    extension = tools.need("torch.utils.cpp_extension")
    x, y, wait, value = arrays(gpu)
    major, minor = torch.cuda.get_device_capability()
    os.environ.setdefault("TORCH_CUDA_ARCH_LIST", f"{major}.{minor}")

    def run() -> Any:
        made = extension.load_inline(
            f"bench_{salt}",
            cpp_sources="void axpy_host(torch::Tensor x, torch::Tensor y);",
            cuda_sources=kernels.salted(kernels.AXPY_TORCH, salt),
            functions=["axpy_host"],
        )
        made.axpy_host(x, y)
        wait()
        return made

    return Trial(run, value, is_made)
