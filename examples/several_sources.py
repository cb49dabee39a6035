"""Device code in several sources: compiled separately, linked to one image; a library of LTO-IR."""

from gpu import arch, no_launch

import tvmffi_cubin as tc

MATH = r"""
__device__ int evaluations;  // one variable, whichever source uses it

__device__ float gelu(float x) {
  atomicAdd(&evaluations, 1);
  return 0.5f * x * (1.0f + erff(x * 0.70710678f));
}"""

KERNELS = r"""
__device__ float gelu(float x);  // both are in the other source
extern __device__ int evaluations;

__global__ void activate(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = gelu(x[i]);
}
__global__ void count(int* out) { *out = evaluations; }"""

functions = {
    "activate": tc.Launch(grid="ceil_div(x.numel, 256)", block=256, args={"n": "x.numel"}),
    "count": tc.Launch(grid=1, block=1),
}
mod = tc.load_inline(
    "several_sources",
    cuda_sources=[MATH, KERNELS],
    functions=functions,
    arch=arch(),
)

library = tc.nvrtc.compile(MATH, target_type="ltoir", arch="sm_80")  # for newer ones, too

with_library = tc.load_inline(
    "with_library",
    cuda_sources=KERNELS,
    functions=functions,
    device_libraries=[library],
    lto=True,  # gelu is inlined
    arch=arch(),
)


def main() -> None:
    for module in (mod, with_library):
        print(f"{module.path}: {len(bytes(module.cubins['kernels']))} bytes of device code")
    if reason := no_launch():
        print(f"built, not launched: {reason}")
        return
    import torch

    x = torch.randn(100_000, device="cuda")
    for module in (mod, with_library):
        y = torch.empty_like(x)
        evaluations = torch.zeros(1, dtype=torch.int32, device="cuda")
        module.activate(x, y)
        module.count(evaluations)

        assert evaluations.item() == x.numel()
        torch.testing.assert_close(y, torch.nn.functional.gelu(x))
    print("launched: the numbers are torch's")


if __name__ == "__main__":
    main()
