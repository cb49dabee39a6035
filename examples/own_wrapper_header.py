"""Your own C++ around a kernel with this package's header: launches checked, any device."""

from gpu import arch, no_launch

import tvmffi_cubin as tc

KERNELS = r"""
extern "C" __global__ void add_one(const float* x, float* y, long long n) {
  long long i = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x;
  if (i < n) y[i] = x[i] + 1;
}
"""

WRAPPER = r"""
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/function.h>
#include <tvmffi_cubin/tvmffi_cubin.h>

EMBED_CUBIN(kernels);

void AddOne(tvm::ffi::TensorView x, tvm::ffi::TensorView y) {
  static auto kernel = EMBED_CUBIN_GET_KERNEL(kernels, "add_one");
  void *in = x.data_ptr(), *out = y.data_ptr();
  int64_t n = x.size(0);
  void* args[] = {&in, &out, &n};
  DLDevice device = x.device();
  tvmffi_cubin::LaunchConfig config((n + 255) / 256, 256);
  config.SetStream(
      static_cast<CUstream>(TVMFFIEnvGetStream(device.device_type, device.device_id)));
  tvmffi_cubin::CheckDriver(kernel.Launch(args, config, device.device_id));
}

TVM_FFI_DLL_EXPORT_TYPED_FUNC(add_one, AddOne);
"""

mod = tc.load_inline("own_wrapper_header", cuda_sources=[KERNELS, WRAPPER], arch=arch())


def main() -> None:
    if reason := no_launch():
        print(f"built, not launched: {reason}")
        return
    import torch

    x = torch.rand(1000, device="cuda")
    y = torch.empty_like(x)
    mod.add_one(x, y)
    torch.testing.assert_close(y, x + 1)
    print("launched: the numbers are torch's")


if __name__ == "__main__":
    main()
