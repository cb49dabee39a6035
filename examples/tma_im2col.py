"""TMA in im2col mode: the patches of a convolution, straight from the image, padding included."""

from __future__ import annotations

import gpu

import tvmffi_cubin as tc

KERNEL = r"""
#include <cuda.h>

// One block for each place (r, s) in a filter of 3 x 3: the pixels that it meets, 32 channels each.
extern "C" __global__ void patches(const __grid_constant__ CUtensorMap image, float* out) {
  __shared__ alignas(128) float pixels[128 * 32];
  __shared__ alignas(8) unsigned long long arrived;
  const unsigned short r = blockIdx.y, s = blockIdx.x;
  const unsigned barrier = __cvta_generic_to_shared(&arrived);
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier));
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 ::"r"(barrier), "r"((unsigned)sizeof(pixels)) : "memory");
    // Channel 0 of the filter's first place, -1 by -1 in image 0; then the offset in the filter.
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx"
                 "::bytes [%0], [%1, {%2, %3, %3, %2}], [%4], {%5, %6};"
                 ::"r"((unsigned)__cvta_generic_to_shared(pixels)), "l"(&image), "r"(0), "r"(-1),
                   "r"(barrier), "h"(s), "h"(r) : "memory");
  }
  __syncthreads();
  for (unsigned done = 0; !done;)
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; "
                 "selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(barrier) : "memory");
  for (int i = threadIdx.x; i < 128 * 32; i += blockDim.x)
    out[(r * 3 + s) * 128 * 32 + i] = pixels[i];
}
"""


def main() -> None:
    """Build, and where there is a GPU launch and compare with torch."""
    # [docs:launch]
    image = tc.TensorMap(
        lower_corner=(-1, -1),  # minus the padding
        upper_corner=(-1, -1),  # the padding, minus the filter's size - 1
        channels_per_pixel=32,
        pixels_per_column=128,
    )
    launch = tc.Launch(grid=(3, 3), block=128, args={"image": image})
    mod = tc.load_inline(
        "tma_im2col",
        KERNEL,
        functions={"patches": launch},
        arch=gpu.arch(),  # [docs:skip]
    )
    # [docs:end]
    reason = gpu.no_launch()
    if reason:
        print(f"built, not launched: {reason}")
        return
    import torch

    x = torch.randn(2, 8, 8, 32, device="cuda")  # N, H, W, C
    out = torch.empty(3, 3, 128, 32, device="cuda")
    mod.patches(x, out)
    unfolded = torch.nn.functional.unfold(x.permute(0, 3, 1, 2), 3, padding=1)
    wanted = unfolded.view(2, 32, 3, 3, 64).permute(2, 3, 0, 4, 1).reshape(3, 3, 128, 32)
    torch.testing.assert_close(out, wanted)
    print("launched: the numbers are torch's")


if __name__ == "__main__":
    main()
