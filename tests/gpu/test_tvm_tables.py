"""Tables as TVM writes them on a real device: a grid-wide barrier."""

from __future__ import annotations

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
"""
AXES = ("blockIdx.x", "threadIdx.x")
TABLE = FunctionTable(
    [
        FunctionInfo(
            "normalize",
            ("handle", "handle", "handle", "int32"),
            ("tir.use_cooperative_launch", *AXES, "tir.use_dyn_shared_memory"),
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
