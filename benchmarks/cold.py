"""One measurement of "source to first result" in this process; run.py starts one for each.

    python benchmarks/cold.py PEER [SALT]

Timed: from the call after the imports to the result being there, lazy imports included; a CUDA
context exists already. SALT changes the source, so that nobody's cache has it. Prints seconds.
"""

from __future__ import annotations

import sys
import time

SOURCE = r"""
extern "C" __global__ void axpy(float a, const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
// SALT
"""
MIXED = (
    SOURCE
    + r"""
void axpy_host(double a, tvm::ffi::TensorView x, tvm::ffi::TensorView y) {
  int n = x.size(0);
  cudaStream_t stream = static_cast<cudaStream_t>(
      TVMFFIEnvGetStream(x.device().device_type, x.device().device_id));
  axpy<<<(n + 255) / 256, 256, 0, stream>>>(a, static_cast<float*>(x.data_ptr()),
                                            static_cast<float*>(y.data_ptr()), n);
}
"""
)
WRAPPER = r"""
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/extra/cuda/cubin_launcher.h>
#include <tvm/ffi/function.h>
TVM_FFI_EMBED_CUBIN(image);
void axpy_host(double a, tvm::ffi::TensorView x, tvm::ffi::TensorView y) {
  static auto kernel = TVM_FFI_EMBED_CUBIN_GET_KERNEL(image, "axpy");
  float factor = a;
  int n = x.size(0);
  void *in = x.data_ptr(), *out = y.data_ptr();
  void* args[] = {&factor, &in, &out, &n};
  auto stream = static_cast<tvm::ffi::cuda_api::StreamHandle>(
      TVMFFIEnvGetStream(x.device().device_type, x.device().device_id));
  TVM_FFI_CHECK_CUBIN_LAUNCHER_CUDA_ERROR(
      kernel.Launch(args, tvm::ffi::dim3((n + 255) / 256), tvm::ffi::dim3(256), stream));
}
TVM_FFI_DLL_EXPORT_TYPED_FUNC(axpy_host, axpy_host);
// SALT
"""
N = 1000


def arch() -> str:
    import torch

    major, minor = torch.cuda.get_device_capability()
    return f"sm_{major}{minor}" + ("a" if major >= 9 else "")


def tvmffi_cubin(salt: str) -> float:
    import torch
    import tvm_ffi  # noqa: F401 - part of what is not timed

    import tvmffi_cubin as tc

    x, y = torch.ones(N, device="cuda"), torch.zeros(N, device="cuda")
    target = arch()
    torch.cuda.synchronize()
    start = time.perf_counter()
    launch = tc.Launch(grid="ceil_div(x.numel, 256)", block=256, args={"n": "x.numel"})
    source = SOURCE.replace("SALT", salt)
    mod = tc.load_inline("bench", source, functions={"axpy": launch}, arch=target)
    mod.axpy(2.0, x, y)
    return finish(start, y)


def tvmffi_cubin_load(salt: str) -> float:
    import torch
    import tvm_ffi  # noqa: F401

    import tvmffi_cubin as tc

    target = arch()
    torch.cuda.synchronize()
    launch = tc.Launch(grid="ceil_div(x.numel, 256)", block=256, args={"n": "x.numel"})
    source = SOURCE.replace("SALT", salt)
    start = time.perf_counter()
    tc.load_inline("bench", source, functions={"axpy": launch}, arch=target)
    return time.perf_counter() - start


def tvmffi_cubin_wrapper(salt: str) -> float:
    import torch
    import tvm_ffi  # noqa: F401

    import tvmffi_cubin as tc

    x, y = torch.ones(N, device="cuda"), torch.zeros(N, device="cuda")
    target = arch()
    torch.cuda.synchronize()
    start = time.perf_counter()
    image = tc.nvrtc.nvrtc_compile(SOURCE.replace("SALT", salt), arch=target)
    text = WRAPPER.replace("SALT", salt)
    mod = tc.load_inline("bench", text, embed_cubin={"image": image})
    mod.axpy_host(2.0, x, y)
    return finish(start, y)


def cupy(salt: str) -> float:
    import cupy

    x, y = cupy.ones(N, dtype=cupy.float32), cupy.zeros(N, dtype=cupy.float32)
    cupy.cuda.Device().synchronize()
    start = time.perf_counter()
    kernel = cupy.RawKernel(SOURCE.replace("SALT", salt), "axpy")
    kernel((N // 256 + 1,), (256,), (cupy.float32(2), x, y, cupy.int32(N)))
    cupy.cuda.Device().synchronize()
    seconds = time.perf_counter() - start
    assert float(y[0]) == 2
    return seconds


def tvm_ffi_nvcc(salt: str) -> float:
    import torch
    import tvm_ffi.cpp

    x, y = torch.ones(N, device="cuda"), torch.zeros(N, device="cuda")
    torch.cuda.synchronize()
    start = time.perf_counter()
    mod = tvm_ffi.cpp.load_inline(
        "bench", cuda_sources=MIXED.replace("SALT", salt), functions=["axpy_host"]
    )
    mod.axpy_host(2.0, x, y)
    return finish(start, y)


def tvm_ffi_cubin(salt: str) -> float:
    import torch
    import tvm_ffi.cpp
    from tvm_ffi.cpp import nvrtc

    x, y = torch.ones(N, device="cuda"), torch.zeros(N, device="cuda")
    torch.cuda.synchronize()
    start = time.perf_counter()
    image = nvrtc.nvrtc_compile(SOURCE.replace("SALT", salt))
    mod = tvm_ffi.cpp.load_inline(
        "bench", cuda_sources=WRAPPER.replace("SALT", salt), embed_cubin={"image": image}
    )
    mod.axpy_host(2.0, x, y)
    return finish(start, y)


def finish(start: float, y) -> float:
    import torch

    torch.cuda.synchronize()
    seconds = time.perf_counter() - start
    assert y[0].item() == 2
    return seconds


PEERS = {
    f.__name__: f
    for f in (
        tvmffi_cubin,
        tvmffi_cubin_load,
        tvmffi_cubin_wrapper,
        cupy,
        tvm_ffi_nvcc,
        tvm_ffi_cubin,
    )
}

if __name__ == "__main__":
    print(PEERS[sys.argv[1]](sys.argv[2] if len(sys.argv) > 2 else ""))
