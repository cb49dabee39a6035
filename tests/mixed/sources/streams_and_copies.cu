// Copies, memsets and temporary memory around kernels, on the caller's stream and on stream 0.
#include <cuda_runtime_api.h>

#include <vector>

__global__ void square(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * x[i];
}
__global__ void add_in_place(float* y, const float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += x[i];
}

#define CUDA_OK(call)                                                                    \
  do {                                                                                   \
    auto result = call;                                                                  \
    TVM_FFI_ICHECK(result == cudaSuccess) << #call << ": " << cudaGetErrorString(result); \
  } while (false)

class Scratch {
 public:
  explicit Scratch(size_t bytes) { CUDA_OK(cudaMalloc(&data_, bytes)); }
  ~Scratch() { cudaFree(data_); }
  float* get() const { return static_cast<float*>(data_); }

 private:
  void* data_ = nullptr;
};

// y becomes x * x + host + 0, over memory of its own.
void pipeline(tvm::ffi::TensorView x, tvm::ffi::TensorView y, tvm::ffi::Array<double> host) {
  const int n = static_cast<int>(x.numel());
  const size_t bytes = n * sizeof(float);
  auto stream = (cudaStream_t)TVMFFIEnvGetStream(x.device().device_type, x.device().device_id);
  std::vector<float> values(host.begin(), host.end());
  TVM_FFI_ICHECK_EQ(values.size(), static_cast<size_t>(n));
  Scratch squares(bytes), added(bytes);
  CUDA_OK(cudaMemcpyAsync(added.get(), values.data(), bytes, cudaMemcpyHostToDevice, stream));
  square<<<(n + 31) / 32, 32, 0, stream>>>((const float*)x.data_ptr(), squares.get(), n);
  add_in_place<<<(n + 31) / 32, 32, 0, stream>>>(squares.get(), added.get(), n);
  CUDA_OK(cudaMemsetAsync(added.get(), 0, bytes, stream));
  add_in_place<<<(n + 31) / 32, 32, 0, stream>>>(squares.get(), added.get(), n);
  CUDA_OK(cudaMemcpyAsync(y.data_ptr(), squares.get(), bytes, cudaMemcpyDeviceToDevice, stream));
  CUDA_OK(cudaStreamSynchronize(stream));
}

// On the legacy default stream, with copies that wait.
double first_square(tvm::ffi::TensorView x, tvm::ffi::TensorView y) {
  const int n = static_cast<int>(x.numel());
  CUDA_OK(cudaStreamSynchronize(
      (cudaStream_t)TVMFFIEnvGetStream(x.device().device_type, x.device().device_id)));
  square<<<(n + 31) / 32, 32>>>((const float*)x.data_ptr(), (float*)y.data_ptr(), n);
  float first = -1.f;
  CUDA_OK(cudaMemcpy(&first, y.data_ptr(), sizeof(first), cudaMemcpyDeviceToHost));
  CUDA_OK(cudaDeviceSynchronize());
  return first;
}
