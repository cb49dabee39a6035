"""A fused softmax: one block per row, the row in dynamic shared memory, sizes read from tensors."""

from gpu import arch, no_launch

import tvmffi_cubin as tc

SOURCE = r"""
template <class Combine>
__device__ float BlockReduce(float value, Combine combine) {
  __shared__ float warps[32];
  for (int step = 16; step > 0; step /= 2)
    value = combine(value, __shfl_xor_sync(~0u, value, step));
  __syncthreads();
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
  __syncthreads();
  value = warps[0];
  for (int i = 1; i < blockDim.x / 32; ++i) value = combine(value, warps[i]);
  return value;
}

extern "C" __global__ void softmax(const float* x, float* y, int columns) {
  extern __shared__ float row[];
  x += static_cast<long long>(blockIdx.x) * columns;
  y += static_cast<long long>(blockIdx.x) * columns;
  float largest = -INFINITY;
  for (int i = threadIdx.x; i < columns; i += blockDim.x)
    largest = fmaxf(largest, row[i] = x[i]);
  largest = BlockReduce(largest, [](float a, float b) { return fmaxf(a, b); });
  float sum = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x)
    sum += row[i] = expf(row[i] - largest);
  sum = BlockReduce(sum, [](float a, float b) { return a + b; });
  for (int i = threadIdx.x; i < columns; i += blockDim.x) y[i] = row[i] / sum;
}
"""

mod = tc.load_inline(
    "softmax",
    cuda_sources=SOURCE,
    functions={
        "softmax": tc.Launch(
            grid="x.shape[0]",
            block=256,
            dynamic_smem_bytes="4 * x.shape[1]",
            args={"columns": "x.shape[1]"},
        ),
    },
    arch=arch(),
)


def main() -> None:
    print(mod.softmax.signature)
    if reason := no_launch():
        print(f"built, not launched: {reason}")
        return
    import torch

    for columns in (33, 1024, 30_000):  # the last one needs 117 KB of shared memory
        x = torch.randn(64, columns, device="cuda")
        y = torch.empty_like(x)
        mod.softmax(x, y)
        torch.testing.assert_close(y, torch.softmax(x, dim=1))

    # [docs:compile]
    tc.load_module(mod.path, torch_library="mine")  # or load_inline(..., torch_library="mine")

    @torch.compile(fullgraph=True)
    def doubled(x):
        y = torch.empty_like(x)
        torch.ops.mine.softmax(x, y)
        return 2 * y

    torch.testing.assert_close(doubled(x), 2 * torch.softmax(x, dim=1))
    # [docs:end]
    print("launched: the numbers are torch's")


if __name__ == "__main__":
    main()
