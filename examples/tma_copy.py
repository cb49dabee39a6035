"""TMA: boxes of a matrix to shared memory and back, with tensor maps encoded at each call."""

from __future__ import annotations

import gpu

import tvmffi_cubin as tc

KERNEL = r"""
#include <cuda.h>
#include <cuda_fp16.h>
#define MAP const __grid_constant__ CUtensorMap

// Doubles a matrix, a box of 64 x 64 a block. What lies beyond its end is neither read nor written.
extern "C" __global__ void twice(MAP x, MAP y) {
  __shared__ alignas(1024) __half box[64 * 64];  // in any order: each element is doubled in place
  __shared__ alignas(8) unsigned long long arrived;
  const int column = blockIdx.x * 64, row = blockIdx.y * 64;  // innermost first, as in PTX
  const unsigned place = __cvta_generic_to_shared(box);
  const unsigned barrier = __cvta_generic_to_shared(&arrived);
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier));
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 ::"r"(barrier), "r"((unsigned)sizeof(box)) : "memory");
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3}], [%4];"
                 ::"r"(place), "l"(&x), "r"(column), "r"(row), "r"(barrier) : "memory");
  }
  __syncthreads();
  for (unsigned done = 0; !done;)
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; "
                 "selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(barrier) : "memory");
  for (int i = threadIdx.x; i < 64 * 64; i += blockDim.x) box[i] = __hadd(box[i], box[i]);
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // TMA reads what threads wrote
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];"
                 ::"l"(&y), "r"(column), "r"(row), "r"(place) : "memory");
    asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
  }
}
"""


def main() -> None:
    """Build; with a GPU, launch and compare with torch."""
    # [docs:launch]
    box = {"box_dim": (64, 64), "swizzle": "128B"}
    launch = tc.Launch(
        grid=("ceil_div(x.shape[1], 64)", "ceil_div(x.shape[0], 64)"),
        block=128,
        args={"x": tc.TensorMap(**box), "y": tc.TensorMap(**box)},
    )
    mod = tc.load_inline(
        "tma_copy",
        KERNEL,
        functions={"twice": launch},
        arch=gpu.arch(),  # [docs:skip]
    )
    # [docs:end]
    reason = gpu.no_launch()
    if reason:
        print(f"built, not launched: {reason}")
        return
    import torch

    # [docs:call]
    wide = torch.randn(1000, 1024, device="cuda").half()
    x = wide[:, 96:600]  # rows of 504 columns, 1024 apart: the map has the stride
    y = torch.empty(1000, 504, device="cuda", dtype=torch.float16)
    mod.twice(x, y)
    torch.testing.assert_close(y, 2 * x)
    # [docs:end]
    print("launched: the numbers are torch's")


if __name__ == "__main__":
    main()
