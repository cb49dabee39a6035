"""Launches captured in a CUDA graph, replayed on new data."""

from gpu import arch, no_launch

import tvmffi_cubin as tc

mod = tc.load_inline(
    "cuda_graph",
    cuda_sources=r"""
    __global__ void decay(float* x, float by, int n) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) x[i] *= by;
    }""",
    functions={"decay": tc.Launch(grid="ceil_div(x.numel, 256)", block=256, args={"n": "x.numel"})},
    arch=arch(),  # [docs:skip]
)


def main() -> None:
    if reason := no_launch():
        print(f"built, not launched: {reason}")
        return
    import torch

    # [docs:call]
    x = torch.ones(1000, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):  # torch's current stream is the one that is captured
        for _ in range(3):
            mod.decay(x, 0.5)
    graph.replay()
    graph.replay()
    torch.testing.assert_close(x, torch.full_like(x, 0.5**6))
    # [docs:end]
    print("launched: the numbers are torch's")


if __name__ == "__main__":
    main()
