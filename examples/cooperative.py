"""A cooperative launch: all blocks of the largest grid that fits synchronize with each other."""

from gpu import arch, no_launch

import tvmffi_cubin as tc

mod = tc.load_inline(
    "cooperative",
    cuda_sources=r"""
    #include <cooperative_groups.h>

    // y = x / sum(x) in one launch; *total is 0 before.
    __global__ void normalize(const float* x, float* y, float* total, int n) {
      auto grid = cooperative_groups::this_grid();
      float sum = 0;
      for (int i = grid.thread_rank(); i < n; i += grid.size()) sum += x[i];
      for (int half = 16; half > 0; half /= 2) sum += __shfl_xor_sync(~0u, sum, half);
      if (threadIdx.x % 32 == 0) atomicAdd(total, sum);
      grid.sync();
      for (int i = grid.thread_rank(); i < n; i += grid.size()) y[i] = x[i] / *total;
    }""",
    functions={
        "normalize": tc.Launch(
            grid="min(max_cooperative_blocks, ceil_div(n, 256))",
            block=256,
            cooperative=True,
            args={"n": "x.numel"},
        )
    },
    arch=arch(),
)


def main() -> None:
    if reason := no_launch():
        print(f"built, not launched: {reason}")
        return
    import torch

    x = torch.rand(10_000_000, device="cuda")
    y = torch.empty_like(x)
    total = torch.zeros(1, device="cuda")
    mod.normalize(x, y, total)

    most = mod.normalize.occupancy().max_cooperative_blocks
    try:
        mod.normalize[most + 1, 256](x, y, total)
    except tc.LaunchLimitError as error:
        print(error)  # the most blocks that the device can hold; nothing was launched
    torch.testing.assert_close(y, x / x.double().sum().float(), rtol=1e-4, atol=0)
    print("launched: the numbers are torch's")


if __name__ == "__main__":
    main()
