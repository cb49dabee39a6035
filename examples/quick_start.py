"""A kernel, a line that says how to launch it, and a call."""

from gpu import arch, no_launch

# [docs:build]
import tvmffi_cubin as tc

mod = tc.load_inline(
    "quick_start",
    cuda_sources=r"""
    extern "C" __global__ void saxpy(float a, const float* x, float* y, int n) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) y[i] = a * x[i] + y[i];
    }""",
    functions={
        "saxpy": tc.Launch(grid="ceil_div(n, 256)", block=256, args={"n": "x.numel"}),
    },
    arch=arch(),  # [docs:skip]
)
# [docs:end]


def main() -> None:
    print(mod.saxpy.signature)
    if reason := no_launch():
        print(f"built, not launched: {reason}")
        return

    # [docs:call]
    import torch

    x = torch.rand(1_000_000, device="cuda")
    y = torch.rand_like(x)
    expected = 2.0 * x + y

    mod.saxpy(2.0, x, y)  # on torch's current stream; n is computed
    torch.testing.assert_close(y, expected)
    # [docs:end]
    print("launched: the numbers are torch's")


if __name__ == "__main__":
    main()
