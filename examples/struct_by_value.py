"""A struct that a kernel takes by value, passed as bytes in its C layout; constants in `args`."""

import struct

from gpu import arch, no_launch

import tvmffi_cubin as tc

mod = tc.load_inline(
    "struct_by_value",
    cuda_sources=r"""
    struct Line { float slope, offset; int n; };

    __global__ void line(Line of, const float* x, float* y, bool negate) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i >= of.n) return;
      float value = of.slope * x[i] + of.offset;
      y[i] = negate ? -value : value;
    }""",
    functions={
        "line": tc.Launch(grid="ceil_div(x.numel, 256)", block=256, args={"negate": False}),
    },
    arch=arch(),
)


def main() -> None:
    print(mod.line.signature)
    if reason := no_launch():
        print(f"built, not launched: {reason}")
        return
    import torch

    x = torch.arange(1000.0, device="cuda")
    y = torch.empty_like(x)
    mod.line(struct.pack("ffi", 3.0, -1.0, 1000), x, y)
    torch.testing.assert_close(y, 3 * x - 1)
    print("launched: the numbers are torch's")


if __name__ == "__main__":
    main()
