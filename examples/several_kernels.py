"""Several kernels in one function: one check of the arguments, then launches in order."""

from gpu import arch, no_launch

import tvmffi_cubin as tc

mod = tc.load_inline(
    "several_kernels",
    cuda_sources=r"""
    // One block a row: its largest element.
    __global__ void row_max(const float* x, float* largest, int columns) {
      __shared__ float warps[8];
      float most = -INFINITY;
      for (int i = threadIdx.x; i < columns; i += 256)
        most = fmaxf(most, x[(size_t)blockIdx.x * columns + i]);
      for (int k = 16; k; k /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, k));
      if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = most;
      __syncthreads();
      for (int w = 0; w < 8; ++w) most = fmaxf(most, warps[w]);
      if (threadIdx.x == 0) largest[blockIdx.x] = most;
    }

    __global__ void quantize(const float* x, const float* largest, int8_t* q, int columns, int n) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) q[i] = (int8_t)rintf(x[i] / largest[i / columns] * 127.0f);
    }""",
    functions={
        "quantize_rows": [
            tc.Launch(
                kernel="row_max", grid="x.shape[0]", block=256, args={"columns": "x.shape[1]"}
            ),
            tc.Launch(
                kernel="quantize",
                grid="ceil_div(n, 256)",
                block=256,
                args={"columns": "x.shape[1]", "n": "x.numel"},
            ),
        ]
    },
    arch=arch(),
)


def main() -> None:
    if reason := no_launch():
        print(f"built, not launched: {reason}")
        return
    import torch

    x = torch.rand(100, 1000, device="cuda")
    largest = torch.empty(100, device="cuda")
    q = torch.empty(100, 1000, dtype=torch.int8, device="cuda")
    mod.quantize_rows(x, largest, q)  # what both kernels take, by name: (x, largest, q)
    torch.testing.assert_close(largest, x.amax(dim=1))
    wanted = (x / largest[:, None] * 127).round().to(torch.int8)
    torch.testing.assert_close(q, wanted, atol=1, rtol=0)
    print("launched: the numbers are torch's")


if __name__ == "__main__":
    main()
