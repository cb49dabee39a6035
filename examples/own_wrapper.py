"""Your own C++ around a kernel, as in tvm-ffi's CUBIN launcher guide; no toolkit needed."""

from gpu import arch, no_launch

import tvmffi_cubin as tc

# [docs:kernels]
KERNELS = r"""
extern "C" __global__ void add_one(const float* x, float* y, long long n) {
  long long i = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x;
  if (i < n) y[i] = x[i] + 1;
}"""
# [docs:end]

WRAPPER = r"""
// [docs:wrapper]
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/extra/cuda/cubin_launcher.h>
#include <tvm/ffi/function.h>

TVM_FFI_EMBED_CUBIN(kernels);

void AddOne(tvm::ffi::TensorView x, tvm::ffi::TensorView y) {
  TVM_FFI_CHECK(x.size(0) == y.size(0), ValueError) << "x and y differ in length";
  static auto kernel = TVM_FFI_EMBED_CUBIN_GET_KERNEL(kernels, "add_one");
  void* in = x.data_ptr();
  void* out = y.data_ptr();
  int64_t n = x.size(0);
  void* args[] = {&in, &out, &n};
  DLDevice device = x.device();
  auto stream = static_cast<tvm::ffi::cuda_api::StreamHandle>(
      TVMFFIEnvGetStream(device.device_type, device.device_id));
  tvm::ffi::dim3 grid((n + 255) / 256), block(256);
  TVM_FFI_CHECK_CUBIN_LAUNCHER_CUDA_ERROR(kernel.Launch(args, grid, block, stream));
}

TVM_FFI_DLL_EXPORT_TYPED_FUNC(add_one, AddOne);
// [docs:end]
"""

mod = tc.load_inline(
    "own_wrapper",
    cuda_sources=[KERNELS, WRAPPER],  # the kernels' image is embedded under the name `kernels`
    arch=arch(),  # [docs:skip]
)


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
