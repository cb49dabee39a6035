"""Several files with kernels and host functions in one module, on a real device."""

from __future__ import annotations

import pytest

import tvmffi_cubin as tc

torch = pytest.importorskip("torch", reason="the GPU tests compare with torch, which is missing")

HEADER = """#pragma once
#include <cuda_runtime.h>
__constant__ float by;
template <typename T>
__global__ void shift(T* x, int n, T value) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += value;
}
__global__ void negate(float* x, int n);
void scale_one(float* x, int n, float value);
"""
ONE = """#include "common.h"
static __global__ void scale(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= by;
}
__global__ void negate(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = -x[i];
}
void scale_one(float* x, int n, float value) {
  cudaMemcpyToSymbol(by, &value, sizeof(value));
  scale<<<(n + 127) / 128, 128>>>(x, n);
  shift<float><<<(n + 127) / 128, 128>>>(x, n, 1.0f);
}
"""
TWO = """#include "common.h"
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/function.h>
static __global__ void scale(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= 10 * by;
}
void run(tvm::ffi::TensorView x) {
  auto* data = static_cast<float*>(x.data_ptr());
  int n = static_cast<int>(x.numel());
  float value = 3;
  cudaMemcpyToSymbol(by, &value, sizeof(value));
  scale_one(data, n, 2);
  scale<<<(n + 127) / 128, 128>>>(data, n);
  negate<<<(n + 127) / 128, 128>>>(data, n);
  shift<float><<<(n + 127) / 128, 128>>>(data, n, 5.0f);
}
TVM_FFI_DLL_EXPORT_TYPED_FUNC(run, run);
"""


@pytest.fixture
def sources(tmp_path):
    for name, text in {"common.h": HEADER, "one.cu": ONE, "two.cu": TWO}.items():
        (tmp_path / name).write_text(text)
    return [tmp_path / "one.cu", tmp_path / "two.cu"]


def check(mod) -> None:
    x = torch.arange(1000, dtype=torch.float32, device="cuda")
    wanted = -((x * 2 + 1) * 30) + 5
    torch.cuda.synchronize()
    mod.run(x)
    torch.cuda.synchronize()
    assert torch.equal(x, wanted)


def test_each_file_has_its_own_kernels_and_constants(sources) -> None:
    check(tc.load("units", sources=sources))
