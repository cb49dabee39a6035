"""Half precision: an instance of a template; two at a time by `__half2`; overloads by `params`."""

from gpu import arch, no_launch

import tvmffi_cubin as tc

GRID = {"grid": "ceil_div(n, 256)", "block": 256}

mod = tc.load_inline(
    "templates",
    cuda_sources=r"""
    #include <cuda_fp16.h>

    template <class T, int kTimes>
    __global__ void scale(const T* x, T* y, T by, int n) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) y[i] = x[i] * by * T(kTimes);
    }

    __global__ void scale_pairs(const __half2* x, __half2* y, __half by, int pairs) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < pairs) y[i] = __hmul2(x[i], __half2half2(by));  // two numbers in one instruction
    }

    __global__ void twice(const float* x, float* y, int n) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) y[i] = 2 * x[i];
    }
    __global__ void twice(const int* x, int* y, int n) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) y[i] = 2 * x[i];
    }""",
    functions={
        "scale_half": tc.Launch(kernel="scale<__half, 2>", **GRID),
        "scale_float": tc.Launch(kernel="scale<float, 2>", **GRID),
        "scale_pairs": tc.Launch(
            grid="ceil_div(pairs, 256)", block=256, args={"pairs": "x.numel // 2"}
        ),
        "twice_int": tc.Launch(kernel="twice", params="const int* x, int* y, int n", **GRID),
    },
    arch=arch(),
)


def main() -> None:
    for name in mod:
        print(mod[name].signature)
    if reason := no_launch():
        print(f"built, not launched: {reason}")
        return
    import torch

    n = 1000
    for dtype, function in ((torch.half, mod.scale_half), (torch.float, mod.scale_float)):
        x = torch.randn(n, device="cuda", dtype=dtype)
        y = torch.empty_like(x)
        function(x, y, 1.5, n)  # a Python float goes to __half as well
        torch.testing.assert_close(y, x * 1.5 * 2)
    x = torch.randn(n, device="cuda", dtype=torch.half)
    y = torch.empty_like(x)
    mod.scale_pairs(x, y, 1.5)  # `__half2*` takes halves; that they are aligned is checked
    torch.testing.assert_close(y, x * 1.5)
    x = torch.arange(n, device="cuda", dtype=torch.int32)
    y = torch.empty_like(x)
    mod.twice_int(x, y, n)
    torch.testing.assert_close(y, 2 * x)
    print("launched: the numbers are torch's")


if __name__ == "__main__":
    main()
