"""One function for a template kernel's dtypes and vector widths: the first that fits runs."""

from gpu import arch, no_launch

import tvmffi_cubin as tc

# [docs:build]
mod = tc.load_inline(
    "template_dispatch",
    cuda_sources=r"""
    #include <cuda_fp16.h>

    template <class T, int W>
    struct alignas(sizeof(T) * W) Vector { T at[W]; };

    template <class T, int W>
    __global__ void scale(const T* x, T* y, T by, int n) {  // W elements a thread, at one go
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i >= n / W) return;
      Vector<T, W> v = reinterpret_cast<const Vector<T, W>*>(x)[i];
      for (T& each : v.at) each = each * by;
      reinterpret_cast<Vector<T, W>*>(y)[i] = v;
    }""",
    functions={
        "scale": tc.Dispatch(
            tc.Launch(
                kernel=f"scale<{T}, {W}>",
                grid=f"ceil_div(n, {256 * W})",
                block=256,
                args={"n": "x.numel"},
                multiple_of={"x": W * size, "y": W * size},
                when=f"n % {W} == 0",
            )
            for T, size in (("float", 4), ("__half", 2), ("double", 8))
            for W in (4, 1)
        ),
    },
    arch=arch(),  # [docs:skip]
)
# [docs:end]


def main() -> None:
    print(mod.scale.signature)
    if reason := no_launch():
        print(f"built, not launched: {reason}")
        return
    import torch

    for dtype in (torch.float32, torch.float16, torch.float64):
        whole = torch.randn(1024, device="cuda", dtype=dtype)
        for x in (whole, whole[:1023], whole[1:1021]):  # vectors of four; of one, twice
            y = torch.empty_like(x)
            mod.scale(x, y, 1.5)
            torch.testing.assert_close(y, x * 1.5)
    print("launched: the numbers are torch's")


if __name__ == "__main__":
    main()
