"""Instrumentation: three extra parameters count the work of every kernel; no caller passes them."""

import re

from gpu import arch, no_launch

import tvmffi_cubin as tc

SOURCES = (
    r"""
extern "C" __global__ void saxpy(float a, const float* x, float* y, int n) {
  if (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n) y[i] = a * x[i] + y[i];
}
extern "C" __global__ void halve(float* x) { x[blockIdx.x * blockDim.x + threadIdx.x] /= 2; }
""",
    r"""
#include <tvm/ffi/container/tensor.h>
#include <tvmffi_cubin/tvmffi_cubin.h>
EMBED_CUBIN(kernels);
void Halve(tvm::ffi::TensorView x) {  // packs the one argument that the kernel takes itself
  static auto kernel = EMBED_CUBIN_GET_KERNEL(kernels, "halve");
  void *data = x.data_ptr(), *args[] = {&data};
  tvmffi_cubin::CheckDriver(kernel.Launch(args, x.size(0) / 64, 64, nullptr));
}
TVM_FFI_DLL_EXPORT_TYPED_FUNC(halve_in_place, Halve);
""",
)
PARAMETERS = "unsigned long long* counters, unsigned limit, unsigned seed"
COUNT = """
  if (counters != nullptr) {
    unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    atomicAdd(&counters[(block + seed) % limit], 1ULL);  // each thread
  }
"""


def instrument(source: str) -> str:
    """Append the parameters to every kernel in a source, and count in each body."""
    kernel = r"(__global__ void \w+\([^)]*)\) \{"
    return re.sub(kernel, rf"\1, {PARAMETERS}) {{{COUNT}", source)


# [docs:build]
mod = tc.load_inline(
    "instrumented",
    cuda_sources=[instrument(SOURCES[0]), SOURCES[1]],
    functions={"saxpy": tc.Launch(grid="ceil_div(n, 256)", block=256, args={"n": "x.numel"})},
    bound_params=["counters", "limit", "seed"],
    arch=arch(),  # [docs:skip]
)
# [docs:end]


def main() -> None:
    if reason := no_launch():
        print(f"built, not launched: {reason}")
        return
    import torch

    x, y = torch.rand(2, 1024, device="cuda")
    expected = (2 * x + y) / 2
    counters = torch.zeros(16, dtype=torch.int64, device="cuda").view(torch.uint64)
    mod.bind(counters=counters, limit=16, seed=0)
    mod.saxpy(2.0, x, y)  # 4 blocks of 256 threads
    mod.halve_in_place(y)  # 16 blocks of 64, launched in C++
    mod.bind(counters=None)
    mod.saxpy(0.0, x, y)  # passes null: nothing is counted
    assert counters.view(torch.int64).tolist() == [256 + 64] * 4 + [64] * 12
    torch.testing.assert_close(y, expected)
    print("launched, and the threads of all blocks counted: the numbers are torch's")


if __name__ == "__main__":
    main()
