"""A pipeline of a description: TMA loads, a dependent launch, kernels told by parts of names."""

from __future__ import annotations

import json

import pytest

import tvmffi_cubin as tc

torch = pytest.importorskip("torch", reason="the GPU tests compare with torch, which is missing")

if torch.cuda.is_available() and torch.cuda.get_device_capability() < (9, 0):
    pytest.skip("the GPU has no TMA, which begins with sm_90", allow_module_level=True)

# The first kernel sums up rows, 64 x 32 boxes at a time, and lets the second begin before it has.
KERNELS = r"""
#include <cuda.h>
extern "C" __global__ void kernel_acme_main_kernel_f32_0(
    const __grid_constant__ CUtensorMap x, float* sums, int rows, int columns, int delay) {
  extern __shared__ float memory[];
  __shared__ alignas(8) unsigned long long arrived;
  float* box = memory + (128 - __cvta_generic_to_shared(memory) % 128) % 128 / 4;
  const unsigned place = __cvta_generic_to_shared(box), first = blockIdx.x * 64;
  const unsigned barrier = __cvta_generic_to_shared(&arrived);
  cudaTriggerProgrammaticLaunchCompletion();
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier));
  __syncthreads();
  float sum = 0;
  for (int column = 0, phase = 0; column < columns; column += 32, phase ^= 1) {
    if (threadIdx.x == 0) {
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 8192;" ::"r"(barrier));
      asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
                   "[%0], [%1, {%2, %3}], [%4];"
                   ::"r"(place), "l"(&x), "r"(column), "r"(first), "r"(barrier) : "memory");
    }
    for (unsigned done = 0; !done;)
      asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; "
                   "selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(barrier), "r"(phase) : "memory");
    for (int i = 0; i < 32; ++i) sum += box[threadIdx.x * 32 + (threadIdx.x + i) % 32];
    __syncthreads();
  }
  for (const long long start = clock64(); clock64() - start < delay;) {}
  if (first + threadIdx.x < rows) sums[first + threadIdx.x] = sum;
}
extern "C" __global__ void kernel_acme_main_kernel_1_f32_0(
    const float* x, const float* sums, float* y, int columns, int64_t pitch) {
  cudaGridDependencySynchronize();
  for (int i = threadIdx.x; i < columns; i += blockDim.x)
    y[blockIdx.x * columns + i] = x[blockIdx.x * pitch + i] - sums[blockIdx.x];
}
"""
DESCRIPTION = {
    "schema": "2.0",
    "functions": {
        "follow": [
            {
                "kernel": "main_kernel",
                "grid": "ceil_div(x.shape[0], 64)",
                "block": 64,
                "dynamic_smem_bytes": 60 * 1024,
                "params": "const float* x, float* sums, int rows, int columns, int delay",
                "args": {
                    "x": {"TensorMap": {"box_dim": [64, 32]}},
                    "rows": "x.shape[0]",
                    "columns": "x.shape[1]",
                },
            },
            {
                "kernel": "main_kernel_1",
                "grid": "x.shape[0]",
                "block": 128,
                "params": "const float* x, const float* sums, float* y, int columns, int64_t pitch",
                "args": {"columns": "x.shape[1]", "pitch": "x.stride[0]"},
                "programmatic_dependent_launch": True,
            },
        ],
    },
}


@pytest.fixture(scope="module")
def mod() -> tc.Module:
    cubin = tc.nvrtc.nvrtc_compile(KERNELS)
    return tc.load_description(
        json.dumps(DESCRIPTION).encode(), name="gpu_described", embed_cubin=cubin
    )


def arrays(rows: int, columns: int):
    """A matrix whose rows lie apart, room for sums and for the result."""
    wide = torch.randn(rows, columns + 12, device="cuda")
    return wide[:, 4 : 4 + columns], torch.empty_like(wide[:, 0]), wide.new_empty(rows, columns)


def check(x, sums, y):
    torch.testing.assert_close(sums, x.sum(1), rtol=1e-4, atol=1e-3)
    torch.testing.assert_close(y, x - sums[:, None], rtol=0, atol=0)


@pytest.mark.parametrize("shape", [(1, 4), (64, 32), (1000, 512), (777, 300)])
def test_a_pipeline_gives_what_torch_gives(mod, shape):
    x, sums, y = arrays(*shape)
    mod.follow(x, sums, 0, y)
    check(x, sums, y)


def test_the_second_kernel_waits_for_the_first_s_results(mod):
    """However late they are, on new data each time, with nothing between the calls."""
    inputs = [arrays(256, 96) for _ in range(20)]
    for position, (x, sums, y) in enumerate(inputs):
        mod.follow(x, sums, 200_000 * (position % 3), y)
    for each in inputs:
        check(*each)


def test_it_is_captured_in_a_graph(mod):
    x, sums, y = arrays(128, 64)
    mod.follow(x, sums, 0, y)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        mod.follow(x, sums, 0, y)
    x.normal_()
    graph.replay()
    check(x, sums, y)
