"""Tables as TVM writes them on a real device: a grid-wide barrier, and a dependent pair."""

from __future__ import annotations

import ctypes
import json

import pytest
from tvm_kit import module_bytes, table_json

import tvmffi_cubin as tc
from tvmffi_cubin.formats.tvm import FunctionInfo, FunctionTable

torch = pytest.importorskip("torch", reason="the GPU tests compare with torch, which is missing")

SOURCE = r"""
#include <cooperative_groups.h>

// y = x / sum(x); *total is 0 before.
extern "C" __global__ void normalize(const float* x, float* y, float* total, int n) {
  extern __shared__ float partial[];
  auto grid = cooperative_groups::this_grid();
  float sum = 0;
  for (int i = grid.thread_rank(); i < n; i += grid.size()) sum += x[i];
  partial[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 1; i < blockDim.x; ++i) sum += partial[i];
    atomicAdd(total, sum);
  }
  grid.sync();
  for (int i = grid.thread_rank(); i < n; i += grid.size()) y[i] = x[i] / *total;
}

// The second kernel may begin while the first one spins, and waits for its results.
extern "C" __global__ void first(const float* x, float* t, int n, long long ns) {
  cudaTriggerProgrammaticLaunchCompletion();
  long long start, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)); while (now - start < ns);
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) t[i] = x[i] * x[i];
}
extern "C" __global__ void second(const float* t, float* y, int n, float scale) {
  cudaGridDependencySynchronize();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = t[i] * scale;
}
"""
AXES = ("blockIdx.x", "threadIdx.x")
TABLE = FunctionTable(
    [
        FunctionInfo(
            "normalize",
            ("handle", "handle", "handle", "int32"),
            ("tir.use_cooperative_launch", *AXES, "tir.use_dyn_shared_memory"),
        ),
        FunctionInfo("first", ("handle", "handle", "int32", "int64"), AXES),
        FunctionInfo(
            "second",
            ("handle", "handle", "int32", "float32"),
            (*AXES, "tir.use_programtic_dependent_launch"),
        ),
    ]
)


@pytest.fixture(scope="module", params=["json", "binary"])
def mod(request, tmp_path_factory) -> tc.Module:
    """The module, by way of files as TVM writes them."""
    folder = tmp_path_factory.mktemp(request.param)
    code = tc.nvrtc.compile(SOURCE).image
    if request.param == "binary":
        return tc.tvm.load(module_bytes(code, TABLE.values()))
    (folder / "k.cubin").write_bytes(code)
    (folder / "k.tvm_meta.json").write_text(json.dumps(table_json(*TABLE.values())))
    return tc.tvm.load(folder / "k.cubin")


def test_a_cooperative_kernel_of_a_table(mod):
    x = torch.rand(1_000_003, device="cuda")
    y, total = torch.empty_like(x), torch.zeros(1, device="cuda")
    mod.normalize(x, y, total, x.numel(), 64, 256, 1024)
    torch.testing.assert_close(y, x / x.double().sum().float(), rtol=1e-3, atol=0)
    most = mod.normalize.occupancy((256,), 1024).max_cooperative_blocks
    with pytest.raises(tc.LaunchLimitError, match="cooperative grid"):
        mod.normalize(x, y, total, x.numel(), most + 1, 256, 1024)


def test_a_dependent_pair_of_a_table(mod):
    if torch.cuda.get_device_capability() < (9, 0):
        pytest.skip("the GPU has no dependent launches, which begin with sm_90")
    x = torch.rand(5000, device="cuda")
    t, y = torch.zeros_like(x), torch.zeros_like(x)
    for ns in (1, 2_000_000):
        t.zero_()
        mod.first(x, t, x.numel(), ns, 20, 256)
        # As TVM's own host code passes them: addresses.
        t_at, y_at = (ctypes.c_void_p(a.data_ptr()) for a in (t, y))
        mod.second(t_at, y_at, x.numel(), 0.5, 20, 256)
        torch.testing.assert_close(y, x * x * 0.5)
