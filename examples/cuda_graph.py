"""Launches captured in a CUDA graph by torch, replayed on new data."""

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
    arch=arch(),
)


def main() -> None:
    if reason := no_launch():
        print(f"built, not launched: {reason}")
        return
    import torch

    x = torch.empty(1000, device="cuda")  # every replay works on this memory
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):  # torch's current stream is the one that is captured
        for _ in range(3):
            mod.decay(x, 0.5)  # the very first launch may be here; 0.5 becomes part of the graph

    for data in (torch.rand(1000), torch.rand(1000)):
        x.copy_(data)
        graph.replay()
        torch.testing.assert_close(x.cpu(), data * 0.5**3)
    print("launched: the numbers are torch's")


if __name__ == "__main__":
    main()
