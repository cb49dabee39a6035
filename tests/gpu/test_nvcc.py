"""compiler="nvcc" on a real device: what only nvcc compiles runs, and errors are CUDA's own."""

from __future__ import annotations

import pytest

import tvmffi_cubin as tc
from tvmffi_cubin.cuda import nvcc

torch = pytest.importorskip("torch", reason="the GPU tests compare with torch, which is missing")

MIXED = r"""
#include <thrust/device_ptr.h>
#include <thrust/sort.h>
#include <tvm/ffi/extra/c_env_api.h>

template <class F> __global__ void apply(float* x, int n, F f) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = f(x[i]);
}

cudaStream_t stream_of(tvm::ffi::TensorView x) {
  DLDevice device = x.device();
  return static_cast<cudaStream_t>(TVMFFIEnvGetStream(device.device_type, device.device_id));
}

void scale(tvm::ffi::TensorView x, double by) {
  const int n = x.numel();
  const float factor = by;
  apply<<<(n + 255) / 256, 256, 0, stream_of(x)>>>(
      static_cast<float*>(x.data_ptr()), n, [=] __device__(float v) { return factor * v; });
  TVM_FFI_ICHECK_EQ(cudaGetLastError(), cudaSuccess);
}

void sort(tvm::ffi::TensorView x) {
  thrust::device_ptr<float> first(static_cast<float*>(x.data_ptr()));
  thrust::sort(first, first + x.numel());
}
"""


@pytest.fixture(scope="module")
def mod() -> tc.Module:
    try:
        nvcc.locate()
    except tc.ToolchainError as error:
        pytest.skip(str(error))
    return tc.load_inline(
        "gpu_nvcc",
        MIXED,
        functions=["scale", "sort"],
        extra_cuda_cflags=["--extended-lambda"],
        compiler="nvcc",
    )


def test_extended_lambdas_run_on_the_current_stream(mod):
    x = torch.arange(1000, dtype=torch.float32, device="cuda")
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        mod.scale(x, 3.0)
    stream.synchronize()
    torch.testing.assert_close(x, 3 * torch.arange(1000, dtype=torch.float32, device="cuda"))


def test_thrust_sorts_from_the_host(mod):
    x = torch.randn(10_000, device="cuda")
    wanted = torch.sort(x).values
    torch.cuda.synchronize()
    mod.sort(x)
    torch.testing.assert_close(x, wanted)
