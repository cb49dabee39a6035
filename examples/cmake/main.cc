// Launches the embedded kernel and checks its result. Exit status: 0 right or no GPU, 1 wrong.
#include <cuda_runtime.h>
#include <tvm/ffi/error.h>
#include <tvmffi_cubin/tvmffi_cubin.h>

#include <cstdio>
#include <vector>

EMBED_CUBIN(kernels);

namespace {

void Check(cudaError_t error) {
  if (error != cudaSuccess) TVM_FFI_THROW(RuntimeError) << cudaGetErrorString(error);
}

bool Saxpy(int n) {
  using tvmffi_cubin::CheckDriver;
  using tvmffi_cubin::LaunchConfig;
  const std::vector<float> ones(n, 1.0f);
  const size_t bytes = n * sizeof(float);
  float *x = nullptr, *y = nullptr;
  Check(cudaMalloc(reinterpret_cast<void**>(&x), bytes));
  Check(cudaMalloc(reinterpret_cast<void**>(&y), bytes));
  Check(cudaMemcpy(x, ones.data(), bytes, cudaMemcpyHostToDevice));
  Check(cudaMemcpy(y, ones.data(), bytes, cudaMemcpyHostToDevice));

  static auto kernel = EMBED_CUBIN_GET_KERNEL(kernels, "saxpy");
  LaunchConfig config((n + 255) / 256, 256);
  CheckDriver(kernel.Launch(config, 2.0f, x, y, n));

  std::vector<float> result(n);
  Check(cudaMemcpy(result.data(), y, bytes, cudaMemcpyDeviceToHost));
  Check(cudaFree(x));
  Check(cudaFree(y));
  for (float value : result) {
    if (value != 3.0f) {
      std::printf("saxpy gave %g, not 3\n", value);
      return false;
    }
  }
  std::printf("saxpy gave 3 for each of %d elements\n", n);
  return true;
}

}  // namespace

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::printf("built, not launched: there is no GPU here\n");
    return 0;
  }
  try {
    return Saxpy(1 << 20) ? 0 : 1;
  } catch (const tvm::ffi::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
