#pragma once

#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/c_env_api.h>

#include <cstdint>

namespace whole {

template <typename T, int kBy>
__global__ void scale(const T* x, T* y, uint32_t n) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * T(kBy);
}

template <typename T, int kBy>
struct Scaler {
  static constexpr auto kernel = scale<T, kBy>;

  static void run(tvm::ffi::TensorView x, tvm::ffi::TensorView y) {
    const auto device = x.device();
    auto stream = (cudaStream_t)TVMFFIEnvGetStream(device.device_type, device.device_id);
    const uint32_t n = static_cast<uint32_t>(x.numel());
    cudaLaunchConfig_t config{};
    config.gridDim = dim3((n + 127) / 128);
    config.blockDim = dim3(128);
    config.stream = stream;
    cudaError_t error = cudaLaunchKernelEx(&config, kernel, static_cast<const T*>(x.data_ptr()),
                                           static_cast<T*>(y.data_ptr()), n);
    TVM_FFI_CHECK(error == cudaSuccess, RuntimeError) << cudaGetErrorString(error);
  }
};

}  // namespace whole
