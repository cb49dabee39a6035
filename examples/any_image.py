"""Any image: kernels of a cubin from elsewhere as functions, their parameters declared or not."""

import struct
import tempfile
from pathlib import Path

from gpu import arch, no_launch

import tvmffi_cubin as tc

KERNELS = r"""
struct Line { float slope, offset; };

extern "C" __global__ void line(Line of, const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = of.slope * x[i] + of.offset;
}

extern "C" __global__ void scale(float* x, float by, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= by;
}
"""

# Whoever made it: nvcc, CUTLASS, TileLang, ... Here it is NVRTC, and the source is forgotten.
file = Path(tempfile.mkdtemp()) / "lines.cubin"
file.write_bytes(tc.nvrtc.nvrtc_compile(KERNELS, arch=arch()))

# [docs:declared]
mod = tc.load_inline(
    "any_image",
    functions={
        "line": tc.Launch(
            image=file,  # a pathlib.Path; or bytes, or a tc.Cubin
            params="Line of, const float* x, float* y, int n",
            grid="ceil_div(n, 256)",
            block=256,
            args={"n": "x.numel"},
        ),
    },
)
# [docs:end]

# [docs:sizes]
raw = tc.load_inline("any_image_by_size", embed_cubin=file)  # every kernel of the image
assert raw.scale.signature == "scale(8 bytes arg0, 4 bytes arg1, 4 bytes arg2)"
# [docs:end]


def main() -> None:
    print(mod.line.signature)
    if reason := no_launch():
        print(f"built, not launched: {reason}")
        return
    import torch

    x = torch.randn(1000, device="cuda")
    y = torch.empty_like(x)
    mod.line(struct.pack("ff", 3.0, -1.0), x, y)
    raw.scale[4, 256](y, 0.5, 1000)
    torch.testing.assert_close(y, 0.5 * (3 * x - 1))
    print("launched: the numbers are torch's")


if __name__ == "__main__":
    main()
