// The runtime's own launch functions: cudaLaunchKernel, cudaLaunchKernelEx with attributes.
#include <cuda_runtime.h>

__global__ void scale(float* x, float by, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= by;
}

template <typename T, int kPlus>
__global__ void plus(T* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += T(kPlus);
}

// Waits for the kernel before it, where it was launched so that it may begin early.
__global__ void dependent(float* x, int n) {
#if __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] -= 1.f;
}

static void check(cudaError_t error) {
  if (error != cudaSuccess) TVM_FFI_THROW(RuntimeError) << cudaGetErrorString(error);
}

void launches(tvm::ffi::TensorView x) {
  float* data = (float*)x.data_ptr();
  int n = (int)x.numel();
  auto stream = (cudaStream_t)TVMFFIEnvGetStream(x.device().device_type, x.device().device_id);
  dim3 grid((n + 63) / 64), block(64);

  float by = 3.f;
  void* args[] = {(void*)&data, (void*)&by, (void*)&n};
  check(cudaLaunchKernel((const void*)scale, grid, block, args, 0, stream));

  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = 0;
  config.stream = stream;
  check(cudaLaunchKernelEx(&config, plus<float, 10>, data, n));

  cudaLaunchAttribute attribute[1];
  attribute[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute[0].val.programmaticStreamSerializationAllowed = 1;
  config.attrs = attribute;
  config.numAttrs = 1;
  check(cudaLaunchKernelEx(&config, dependent, data, n));
}
