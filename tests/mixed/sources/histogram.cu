// A histogram: cleared by cudaMemsetAsync, counted in shared memory, added up atomically.
#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

const int kBins = 64;

__global__ void histogram_kernel(const unsigned char* __restrict__ x, unsigned int* bins, size_t n) {
  __shared__ unsigned int local[kBins];
  for (int b = threadIdx.x; b < kBins; b += blockDim.x) local[b] = 0;
  __syncthreads();
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n;
       i += size_t(blockDim.x) * gridDim.x)
    atomicAdd(local + (x[i] & (kBins - 1)), 1u);
  __syncthreads();
  for (int b = threadIdx.x; b < kBins; b += blockDim.x) atomicAdd(&bins[b], local[b]);
}

static void throw_on_error(cudaError_t code, const char* file, int line) {
  if (code != cudaSuccess)
    throw std::runtime_error(std::string(file) + ":" + std::to_string(line) + ": " +
                             cudaGetErrorString(code));
}
#define CK(x) throw_on_error((x), __FILE__, __LINE__)

void histogram(tvm::ffi::TensorView x, tvm::ffi::TensorView bins) {
  TVM_FFI_CHECK(bins.numel() == kBins, ValueError) << "bins has to have " << kBins << " elements";
  auto stream = (cudaStream_t)TVMFFIEnvGetStream(x.device().device_type, x.device().device_id);
  auto* out = static_cast<unsigned*>(bins.data_ptr());
  CK(cudaMemsetAsync(out, 0, kBins * sizeof(*out), stream));
  const size_t n = x.numel();
  const unsigned blocks = n < 4 * 256 ? 1 : 4;
  histogram_kernel<<<blocks, 256, 0, stream>>>(static_cast<const unsigned char*>(x.data_ptr()), out,
                                               n);
  CK(cudaGetLastError());
}
