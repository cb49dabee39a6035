"""Kernels, host functions and `<<<>>>` in one source, as people write it for nvcc; without nvcc."""

from gpu import arch, no_launch

import tvmffi_cubin as tc

# [docs:source]
SOURCE = r"""
#include <cuda_fp16.h>

constexpr int kThreads = 256;

__host__ __device__ constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

template <typename T, bool kNegate>
__global__ void scaled_add(const T* x, const T* y, T* out, int64_t n, float by = 1.0f) {
  int64_t i = blockIdx.x * static_cast<int64_t>(kThreads) + threadIdx.x;
  if (i >= n) return;
  float sum = static_cast<float>(x[i]) + by * static_cast<float>(y[i]);
  out[i] = static_cast<T>(kNegate ? -sum : sum);
}

template <typename T>
void launch(tvm::ffi::TensorView x, tvm::ffi::TensorView y, tvm::ffi::TensorView out, double by,
            bool negate) {
  auto stream = static_cast<cudaStream_t>(
      TVMFFIEnvGetStream(x.device().device_type, x.device().device_id));
  auto* px = static_cast<const T*>(x.data_ptr());
  auto* py = static_cast<const T*>(y.data_ptr());
  auto* po = static_cast<T*>(out.data_ptr());
  int64_t n = x.numel();
  dim3 grid(ceil_div(n, kThreads));
  if (negate)
    scaled_add<T, true><<<grid, kThreads, 0, stream>>>(px, py, po, n, by);  // a double for a float
  else
    scaled_add<T, false><<<grid, kThreads, 0, stream>>>(px, py, po, n, by);
}

void add(tvm::ffi::TensorView x, tvm::ffi::TensorView y, tvm::ffi::TensorView out, double by,
         bool negate) {
  TVM_FFI_CHECK(x.numel() == y.numel(), ValueError) << "x and y differ in length";
  if (x.dtype().bits == 16) return launch<__half>(x, y, out, by, negate);
  launch<float>(x, y, out, by, negate);
}"""
# [docs:end]

# [docs:build]
mod = tc.load_inline(
    "mixed_source",
    cuda_sources=SOURCE,
    functions=["add"],
    arch=arch(),  # [docs:skip]
)
# [docs:end]


def main() -> None:
    if reason := no_launch():
        print(f"built, not launched: {reason}")
        return
    import torch

    for dtype in (torch.float32, torch.float16):
        x, y = torch.randn(2, 1000, device="cuda", dtype=dtype)
        out = torch.empty_like(x)
        mod.add(x, y, out, 2.0, True)  # on torch's current stream
        torch.testing.assert_close(out, -(x + 2 * y))
    print("launched: the numbers are torch's")


if __name__ == "__main__":
    main()
