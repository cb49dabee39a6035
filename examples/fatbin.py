"""One module for several architectures: a cubin for each, PTX for what comes after them."""

from gpu import no_launch

import tvmffi_cubin as tc

mod = tc.load_inline(
    "fatbin",
    cuda_sources=r"""
    __global__ void twice(const float* x, float* y, int* compiled_for, int n) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) y[i] = 2 * x[i];
      if (i == 0) *compiled_for = __CUDA_ARCH__ / 10;
    }""",
    functions={
        "twice": tc.Launch(grid="ceil_div(x.numel, 256)", block=256, args={"n": "x.numel"}),
    },
    arch=["sm_80", "sm_89", "sm_90a", "compute_80"],  # PTX is for all others from 8.0 on
)


def main() -> None:
    image = mod.cubins["kernels"]
    print(f"one image of {len(image.image)} bytes for {image.arch}")
    if reason := no_launch():
        print(f"built, not launched: {reason}")
        return
    import torch

    x = torch.randn(1000, device="cuda")
    y = torch.empty_like(x)
    compiled_for = torch.zeros(1, dtype=torch.int32, device="cuda")
    mod.twice(x, y, compiled_for)

    major, minor = torch.cuda.get_device_capability()
    if major * 10 + minor in (80, 89, 90):
        assert compiled_for.item() == major * 10 + minor
    torch.testing.assert_close(y, 2 * x)
    print("launched: the numbers are torch's")


if __name__ == "__main__":
    main()
