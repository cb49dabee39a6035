"""Kernels, host functions and `<<<>>>` in one source, as written for nvcc, without nvcc."""

from gpu import arch, no_launch

import tvmffi_cubin as tc

# [docs:source]
SOURCE = r"""
#include <cuda_fp16.h>

template <typename T>
__global__ void scaled_add(const T* x, const T* y, T* out, int64_t n, float by = 1) {
  int64_t i = blockIdx.x * int64_t{256} + threadIdx.x;
  if (i < n) out[i] = static_cast<T>(static_cast<float>(x[i]) + by * static_cast<float>(y[i]));
}

template <typename T>
void launch(tvm::ffi::TensorView x, tvm::ffi::TensorView y, tvm::ffi::TensorView out, double by) {
  auto stream = static_cast<cudaStream_t>(
      TVMFFIEnvGetStream(x.device().device_type, x.device().device_id));
  scaled_add<<<(x.numel() + 255) / 256, 256, 0, stream>>>(
      static_cast<const T*>(x.data_ptr()), static_cast<const T*>(y.data_ptr()),
      static_cast<T*>(out.data_ptr()), x.numel(), by);  // a double for a float
}

void add(tvm::ffi::TensorView x, tvm::ffi::TensorView y, tvm::ffi::TensorView out, double by) {
  TVM_FFI_CHECK(x.numel() == y.numel(), ValueError) << "x and y differ in length";
  if (x.dtype().bits == 16) return launch<__half>(x, y, out, by);
  launch<float>(x, y, out, by);
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
        mod.add(x, y, out, 2.0)  # on torch's current stream
        torch.testing.assert_close(out, x + 2 * y)
    print("launched: the numbers are torch's")


if __name__ == "__main__":
    main()
