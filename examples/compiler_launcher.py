"""A compiler's back end: it emits a cubin and a description in JSON, and gets a launcher for it."""

import gpu

import tvmffi_cubin as tc

# What a compiler generates; NVRTC stands for it here. It names its kernels as it likes.
DEVICE_CODE = r"""
#include <cuda.h>
// Sums of 32 rows a block; boxes of 32 x 32 elements come in by TMA.
extern "C" __global__ void acme_sums_kernel_f32(
    const __grid_constant__ CUtensorMap x, float* sums, int rows, int columns) {
  __shared__ alignas(128) float box[32][32];
  __shared__ alignas(8) unsigned long long arrived;
  const unsigned place = __cvta_generic_to_shared(box), first = blockIdx.x * 32;
  const unsigned barrier = __cvta_generic_to_shared(&arrived);
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier));
  __syncthreads();
  float sum = 0;
  for (int column = 0, phase = 0; column < columns; column += 32, phase ^= 1) {
    if (threadIdx.x == 0) {
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 4096;" ::"r"(barrier));
      asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
                   "[%0], [%1, {%2, %3}], [%4];"
                   ::"r"(place), "l"(&x), "r"(column), "r"(first), "r"(barrier) : "memory");
    }
    for (unsigned done = 0; !done;)
      asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; "
                   "selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(barrier), "r"(phase) : "memory");
    for (int i = 0; i < 32; ++i) sum += box[threadIdx.x][(threadIdx.x + i) % 32];
    __syncthreads();
  }
  cudaTriggerProgrammaticLaunchCompletion();
  if (first + threadIdx.x < rows) sums[first + threadIdx.x] = sum;
}
// Divides each row by its sum; begins while the sums are still being made.
extern "C" __global__ void acme_sums_kernel_1_f32(const float* x, const float* sums, float* y,
                                                  int columns) {
  cudaGridDependencySynchronize();
  for (int i = threadIdx.x; i < columns; i += blockDim.x)
    y[blockIdx.x * columns + i] = x[blockIdx.x * columns + i] / sums[blockIdx.x];
}
"""
# [docs:description]
# What it knows of the launches: kernels by a part of their names, figures as expressions.
DESCRIPTION = """{
  "schema": "2.0",
  "functions": {"normalize": [
    {"kernel": "sums_kernel", "grid": "ceil_div(x.shape[0], 32)", "block": 32,
     "params": "const float* x, float* sums, int rows, int columns",
     "args": {"x": {"TensorMap": {"box_dim": [32, 32]}}, "rows": "x.shape[0]",
              "columns": "x.shape[1]"},
     "stream": "stream", "device": "gpu"},
    {"kernel": "sums_kernel_1", "grid": "x.shape[0]", "block": 128,
     "params": "const float* x, const float* sums, float* y, int columns, CUstream stream, int gpu",
     "args": {"columns": "x.shape[1]"}, "programmatic_dependent_launch": true,
     "stream": "stream", "device": "gpu"}]}
}"""


def main(arch: str | tuple[str, ...] | None = None) -> None:
    """Build for an architecture, the GPU's at hand by default; launch, and compare with torch."""
    cubin = tc.nvrtc.nvrtc_compile(DEVICE_CODE, arch=arch)
    mod = tc.load_description(DESCRIPTION.encode(), name="acme", embed_cubin=cubin)
    if reason := gpu.no_launch():  # [docs:skip]
        print(f"built, not launched: {reason}")  # [docs:skip]
        return  # [docs:skip]
    import torch

    x = torch.rand(1000, 512, device="cuda")
    sums, y = torch.empty(1000, device="cuda"), torch.empty_like(x)
    mod.normalize(x, sums, y, torch.cuda.current_stream(), x.device.index)
    torch.testing.assert_close(y, x / x.sum(1, keepdim=True))
    # [docs:end]
    print("launched: the numbers are torch's")


if __name__ == "__main__":
    main(gpu.arch())
