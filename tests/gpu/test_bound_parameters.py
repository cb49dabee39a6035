"""Bound parameters on a device: counts per block, from Python and C++, in a graph."""

from __future__ import annotations

import pytest

import tvmffi_cubin as tc

torch = pytest.importorskip("torch", reason="the GPU tests compare with torch, which is missing")

KERNELS = r"""
extern "C" __global__ void add_one(int* x, int n, unsigned long long* counters, unsigned limit) {
  if (counters != nullptr && blockIdx.x < limit) atomicAdd(&counters[blockIdx.x], 1ull);
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += 1;
}
"""
WRAPPER = r"""
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/function.h>
#include <tvmffi_cubin/tvmffi_cubin.h>

EMBED_CUBIN(kernels);

void AddOne(tvm::ffi::TensorView x) {
  static auto kernel = EMBED_CUBIN_GET_KERNEL(kernels, "add_one");
  void* data = x.data_ptr();
  int n = static_cast<int>(x.size(0));
  void* args[] = {&data, &n};
  int device = x.device().device_id;
  tvmffi_cubin::LaunchConfig config((n + 127) / 128, 128);
  config.SetDevice(device);
  config.SetStream(static_cast<CUstream>(TVMFFIEnvGetStream(kDLCUDA, device)));
  tvmffi_cubin::CheckDriver(kernel.Launch(args, config));
}

TVM_FFI_DLL_EXPORT_TYPED_FUNC(add_one_in_cpp, AddOne);
"""


def counters() -> torch.Tensor:
    # torch fills no uint64, and views them.
    return torch.zeros(8, dtype=torch.int64, device="cuda").view(torch.uint64)


def numbers(tensor: torch.Tensor) -> list[int]:
    return tensor.view(torch.int64).tolist()


def test_a_graph_keeps_what_was_bound_when_it_was_captured():
    launch = tc.Launch(grid="ceil_div(n, 128)", block=128, args={"n": "x.numel"})
    mod = tc.load_inline(
        "gpu_bound",
        [KERNELS, WRAPPER],
        functions={"add_one": launch},
        bound_params=["counters", "limit"],
    )
    x = torch.zeros(1024, dtype=torch.int32, device="cuda")
    first, second = counters(), counters()
    mod.bind(counters=first, limit=8)
    mod.add_one(x)
    mod.add_one_in_cpp(x)
    graph = torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        mod.add_one(x)
        mod.add_one_in_cpp(x)
    mod.bind(counters=second)
    graph.replay()
    torch.cuda.synchronize()
    assert numbers(first) == [4 * 128] * 8
    assert numbers(second) == [0] * 8
    mod.add_one(x)
    torch.cuda.synchronize()
    assert numbers(second) == [128] * 8
