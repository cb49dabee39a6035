"""A reduction in shared memory: one function, two launches, the second sums the blocks' sums."""

from gpu import arch, no_launch

import tvmffi_cubin as tc

SOURCE = r"""
__device__ float BlockSum(float sum) {
  __shared__ float warps[32];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(~0u, sum, step);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x >= 32) return 0;
  sum = threadIdx.x < blockDim.x / 32 ? warps[threadIdx.x] : 0;
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(~0u, sum, step);
  return sum;
}

extern "C" __global__ void partial_sums(const float* x, float* partial, long long n) {
  float sum = 0;
  const long long first = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x;
  for (long long i = first; i < n; i += gridDim.x * blockDim.x) sum += x[i];
  sum = BlockSum(sum);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

extern "C" __global__ void last_sum(const float* partial, float* out, int count) {
  float sum = 0;
  for (int i = threadIdx.x; i < count; i += blockDim.x) sum += partial[i];
  sum = BlockSum(sum);
  if (threadIdx.x == 0) out[0] = sum;
}
"""

# [docs:build]
mod = tc.load_inline(
    "reduction",
    cuda_sources=SOURCE,
    functions={
        "sum": [
            tc.Launch(
                kernel="partial_sums", grid="partial.numel", block=256, args={"n": "x.numel"}
            ),
            tc.Launch(kernel="last_sum", grid=1, block=256, args={"count": "partial.numel"}),
        ],
    },
    arch=arch(),  # [docs:skip]
)
# [docs:end]


def main() -> None:
    print(mod.sum.signature)
    if reason := no_launch():
        print(f"built, not launched: {reason}")
        return
    import torch

    partial, out = torch.empty(512, device="cuda"), torch.empty(1, device="cuda")
    for n in (1, 1000, (1 << 24) + 1):
        x = torch.rand(n, device="cuda")
        mod.sum(x, partial, out)
        torch.testing.assert_close(out[0], x.double().sum().float(), rtol=1e-5, atol=0)
    print("launched: the numbers are torch's")


if __name__ == "__main__":
    main()
