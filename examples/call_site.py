"""Set grid and block at the call; pass arguments by keyword; choose streams."""

from gpu import arch, no_launch

# [docs:build]
import tvmffi_cubin as tc

mod = tc.load_inline(
    "call_site",
    cuda_sources=r"""
    __global__ void scale(const float* x, float* y, float by, int n) {
      for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        y[i] = by * x[i];
    }""",  # no `functions`: every kernel is exported
    arch=arch(),  # [docs:skip]
)
# [docs:end]


def main() -> None:
    if reason := no_launch():
        print(f"built, not launched: {reason}")
        return
    # [docs:call]
    import torch

    x = torch.arange(1000.0, device="cuda")
    y = torch.empty_like(x)

    mod.scale[4, 256](x, y, 3.0, 1000)  # [grid, block]
    torch.testing.assert_close(y, 3 * x)

    mod.scale[(2, 1, 1), (128, 1, 1)].call(x=x, y=y, by=4.0, n=1000)
    torch.testing.assert_close(y, 4 * x)

    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    mod.scale[4, 256].on(stream)(x, y, 5.0, 1000)
    with tc.use_stream(stream):  # for everything in the block, your own wrappers too
        mod.scale[4, 256](y, y, 2.0, 1000)
    stream.synchronize()
    torch.testing.assert_close(y, 10 * x)
    # [docs:end]
    print("launched: the numbers are torch's")


if __name__ == "__main__":
    main()
