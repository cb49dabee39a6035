"""Mixed sources on a real device: streams, several devices, graphs, and several files."""

from __future__ import annotations

import pytest

import tvmffi_cubin as tc

torch = pytest.importorskip("torch", reason="the GPU tests compare with torch, which is missing")

from .counting import all_devices, synchronize  # noqa: E402

TENTH = 200_000_000  # cycles, about a tenth of a second

SOURCE = r"""
#include <tvm/ffi/extra/cuda/device_guard.h>

using tvm::ffi::TensorView;

__device__ int launches;

__global__ void add(float* x, float value, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += value;
  if (i == 0) atomicAdd(&launches, 1);
}

__global__ void slow_add(float* x, long long cycles) {
  long long start = clock64();
  while (clock64() - start < cycles) {
  }
  x[0] += 1;
}

static cudaStream_t stream_of(TensorView x) {
  return static_cast<cudaStream_t>(
      TVMFFIEnvGetStream(x.device().device_type, x.device().device_id));
}

static void launch(TensorView x, float value, cudaStream_t stream) {
  const int n = static_cast<int>(x.numel());
  add<<<(n + 255) / 256, 256, 0, stream>>>(static_cast<float*>(x.data_ptr()), value, n);
}

void on_stream(TensorView x, double value) { launch(x, value, stream_of(x)); }
void slow(TensorView x, int64_t cycles) {
  slow_add<<<1, 1, 0, stream_of(x)>>>(static_cast<float*>(x.data_ptr()), cycles);
}

// Where launches go, and device variables are.
void both(TensorView x, TensorView y) {
  for (TensorView z : {x, y}) {
    tvm::ffi::CUDADeviceGuard guard(z.device().device_id);
    launch(z, 2, nullptr);
  }
}
int launches_on(int device) {
  tvm::ffi::CUDADeviceGuard guard(device);
  int count = -1;
  TVM_FFI_ICHECK_EQ(cudaMemcpyFromSymbol(&count, launches, sizeof(count)), cudaSuccess);
  return count;
}

// Several launches, and a copy between them.
void steps(TensorView x, TensorView y) {
  launch(x, 1, stream_of(x));
  cudaMemcpyAsync(y.data_ptr(), x.data_ptr(), x.numel() * sizeof(float), cudaMemcpyDeviceToDevice,
                  stream_of(x));
  for (int i = 0; i < 3; ++i) launch(y, 10, stream_of(x));
}

"""
FUNCTIONS = ["on_stream", "slow", "both", "launches_on", "steps"]


@pytest.fixture(scope="module")
def mod() -> tc.Module:
    return tc.load_inline("gpu_mixed_modules", SOURCE, functions=FUNCTIONS)


def zeros(device: object = "cuda") -> torch.Tensor:
    x = torch.zeros(1000, device=device)
    torch.cuda.synchronize(x.device)
    return x


def test_host_code_is_given_torchs_current_stream(mod):
    x, side = zeros(), torch.cuda.Stream()
    with torch.cuda.stream(side):
        mod.slow(x, TENTH)
        mod.on_stream(x, 2.0)
    assert not side.query()
    side.synchronize()
    assert (x[0].item(), x[1].item()) == (3, 2)


def test_one_function_launches_on_every_device_where_its_stream_or_the_current_one_says(mod):
    for device in all_devices():
        x, y, side = zeros(), zeros(device), torch.cuda.Stream(device)
        before = mod.launches_on(device.index)
        mod.both(x, y)
        synchronize()
        with torch.cuda.stream(side), torch.cuda.device(0):
            mod.on_stream(y, 4.0)
            assert torch.cuda.current_device() == 0
        side.synchronize()
        assert (x == 2).all()
        assert (y == 6).all()
        assert mod.launches_on(device.index) == before + (2 if device.index else 3)


@pytest.mark.parametrize("loaded", [True, False])
def test_what_a_function_does_is_captured_in_a_graph(loaded, mod):
    x, y = zeros(), zeros()
    if loaded:
        mod.steps(zeros(), zeros())
        torch.cuda.synchronize()
    else:
        mod.unload()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        mod.steps(x, y)
    assert x.sum().item() == 0
    graph.replay()
    graph.replay()
    torch.cuda.synchronize()
    assert (x == 2).all()
    assert (y == 2 + 30).all()


HEADER = """#pragma once
#include <cuda_runtime.h>
__constant__ float by;
template <typename T> __global__ void shift(T* x, T value) { x[threadIdx.x] += value; }
__global__ void negate(float* x);
void scale_one(float* x, float value);
"""
ONE = """#include "common.h"
static __global__ void scale(float* x) { x[threadIdx.x] *= by; }
__global__ void negate(float* x) { x[threadIdx.x] = -x[threadIdx.x]; }
void scale_one(float* x, float value) {
  cudaMemcpyToSymbol(by, &value, sizeof(value));
  scale<<<1, 256>>>(x);
  shift<float><<<1, 256>>>(x, 1.0f);
}
"""
TWO = """#include "common.h"
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/function.h>
static __global__ void scale(float* x) { x[threadIdx.x] *= 10 * by; }
void run(tvm::ffi::TensorView x) {
  auto* data = static_cast<float*>(x.data_ptr());
  float value = 3;
  cudaMemcpyToSymbol(by, &value, sizeof(value));
  scale_one(data, 2);
  scale<<<1, 256>>>(data);
  negate<<<1, 256>>>(data);
  shift<float><<<1, 256>>>(data, 5.0f);
}
TVM_FFI_DLL_EXPORT_TYPED_FUNC(run, run);
"""


def test_each_file_has_its_own_kernels_and_constants(tmp_path):
    for name, text in {"common.h": HEADER, "one.cu": ONE, "two.cu": TWO}.items():
        (tmp_path / name).write_text(text)
    x = torch.arange(256, dtype=torch.float32, device="cuda")
    wanted = -((x * 2 + 1) * 30) + 5
    torch.cuda.synchronize()
    tc.load("units", sources=[tmp_path / "one.cu", tmp_path / "two.cu"]).run(x)
    torch.cuda.synchronize()
    assert torch.equal(x, wanted)
