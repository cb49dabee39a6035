"""TVM: a cubin with TVM's table of its kernels, called as TVM calls them, without TVM."""

import json
import tempfile
from pathlib import Path

from gpu import arch, no_launch

import tvmffi_cubin as tc

# What TVM writes with module.save("sums.cubin"): the code, and a table next to it.
CODE = r"""
#include <cooperative_groups.h>

extern "C" __global__ void normalize(const float* x, float* y, float* total, int n) {
  auto grid = cooperative_groups::this_grid();
  float sum = 0;
  for (int i = grid.thread_rank(); i < n; i += grid.size()) sum += x[i];
  atomicAdd(total, sum);
  grid.sync();
  for (int i = grid.thread_rank(); i < n; i += grid.size()) y[i] = x[i] / *total;
}"""
# [docs:table]
TABLE = {
    "tvm_version": "0.1.0",
    "func_info": {
        "normalize": {
            "name": "normalize",
            "arg_types": ["handle", "handle", "handle", "int32"],
            "launch_param_tags": ["tir.use_cooperative_launch", "blockIdx.x", "threadIdx.x"],
        }
    },
}
# [docs:end]

folder = Path(tempfile.mkdtemp())
(folder / "sums.cubin").write_bytes(tc.nvrtc.nvrtc_compile(CODE, arch=arch()))
(folder / "sums.tvm_meta.json").write_text(json.dumps(TABLE))

# [docs:load]
mod = tc.tvm.load(folder / "sums.cubin")  # with sums.tvm_meta.json, which lies beside it
# [docs:end]

# [docs:table_alone]
launches = tc.tvm.read_table(folder / "sums.tvm_meta.json")
again = tc.load_inline("again", functions=launches, embed_cubin=folder / "sums.cubin")
# [docs:end]


def main() -> None:
    print(mod.normalize.signature)
    if reason := no_launch():
        print(f"built, not launched: {reason}")
        return
    import torch

    # [docs:call]
    x = torch.rand(1_000_000, device="cuda")
    y = torch.empty_like(x)
    total = torch.zeros(1, device="cuda")
    mod.normalize(x, y, total, x.numel(), 64, 256)  # then blockIdx.x and threadIdx.x
    # [docs:end]
    torch.testing.assert_close(y, x / x.double().sum().float(), rtol=1e-3, atol=0)
    print("launched: the numbers are torch's")


if __name__ == "__main__":
    main()
