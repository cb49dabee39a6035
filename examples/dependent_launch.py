"""Programmatic dependent launch: a kernel begins while the previous one still runs."""

from gpu import arch, no_launch

import tvmffi_cubin as tc

mod = tc.load_inline(
    "dependent_launch",
    cuda_sources=r"""
    __global__ void square(const float* x, float* squares, int n) {
      cudaTriggerProgrammaticLaunchCompletion();  // the next kernel may begin
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) squares[i] = x[i] * x[i];
    }

    __global__ void scale(const float* squares, const float* table, float* y, int n) {
      __shared__ float factors[256];
      factors[threadIdx.x] = table[threadIdx.x];  // depends on no kernel before it
      cudaGridDependencySynchronize();            // from here on, squares are all there
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) y[i] = squares[i] * factors[threadIdx.x];
    }""",
    functions={
        "square_scale": [
            tc.Launch(kernel="square", grid="ceil_div(n, 256)", block=256, args={"n": "x.numel"}),
            tc.Launch(
                kernel="scale",
                grid="ceil_div(n, 256)",
                block=256,
                args={"n": "x.numel"},
                programmatic_dependent_launch=True,
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

    if torch.cuda.get_device_capability() < (9, 0):
        print("built, not launched: the GPU has no dependent launches, which begin with sm_90")
        return
    x = torch.rand(100_000, device="cuda")
    table = torch.rand(256, device="cuda")
    squares, y = torch.empty_like(x), torch.empty_like(x)
    mod.square_scale(x, squares, table, y)

    graph = torch.cuda.CUDAGraph()  # the dependency stays programmatic in a graph
    with torch.cuda.graph(graph):
        mod.square_scale(x, squares, table, y)
    y.zero_()
    graph.replay()
    factors = table.repeat(-(-len(x) // 256))[: len(x)]
    torch.testing.assert_close(y, x * x * factors)
    print("launched: the numbers are torch's")


if __name__ == "__main__":
    main()
