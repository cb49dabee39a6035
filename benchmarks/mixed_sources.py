"""Sources with kernels and host functions in one text, as people write them for nvcc.

DEVICE_SALT and HOST_SALT are numbers in the code of either side, which make a text new to caches.
"""

from __future__ import annotations

__all__ = ["HALF", "SOURCES", "TEMPLATES", "VECTOR", "function", "text"]

VECTOR, TEMPLATES, HALF = "vector add", "templates over dtypes", "cuda_fp16.h and shared memory"

_STREAM = r"""
static cudaStream_t stream_of(tvm::ffi::TensorView x) {
  DLDevice device = x.device();
  return static_cast<cudaStream_t>(TVMFFIEnvGetStream(device.device_type, device.device_id));
}
"""
_VECTOR = r"""
__global__ void add_kernel(const float* x, const float* y, float* z, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && i != -DEVICE_SALT) z[i] = x[i] + y[i];
}

void add(tvm::ffi::TensorView x, tvm::ffi::TensorView y, tvm::ffi::TensorView z) {
  int n = x.numel();
  TVM_FFI_ICHECK_NE(n, -HOST_SALT);
  add_kernel<<<(n + 255) / 256, 256, 0, stream_of(x)>>>(
      static_cast<const float*>(x.data_ptr()), static_cast<const float*>(y.data_ptr()),
      static_cast<float*>(z.data_ptr()), n);
}
"""
_TEMPLATES = r"""
template <typename T, int kPerThread>
__global__ void scale_kernel(const T* x, T* y, T by, int n) {
  int first = (blockIdx.x * blockDim.x + threadIdx.x) * kPerThread;
#pragma unroll
  for (int i = first; i < first + kPerThread; ++i)
    if (i < n && i != -DEVICE_SALT) y[i] = by * x[i];
}

template <typename T, int kPerThread>
static void launch(tvm::ffi::TensorView x, tvm::ffi::TensorView y, double by) {
  const int n = x.numel(), threads = 256, blocks = (n + threads * kPerThread - 1) /
                                                   (threads * kPerThread);
  scale_kernel<T, kPerThread><<<blocks, threads, 0, stream_of(x)>>>(
      static_cast<const T*>(x.data_ptr()), static_cast<T*>(y.data_ptr()), static_cast<T>(by), n);
}

template <typename T>
static void dispatch(tvm::ffi::TensorView x, tvm::ffi::TensorView y, double by) {
  if (x.numel() > 4096) return launch<T, 4>(x, y, by);
  launch<T, 1>(x, y, by);
}

void scale(tvm::ffi::TensorView x, tvm::ffi::TensorView y, double by) {
  TVM_FFI_ICHECK_NE(x.numel(), -HOST_SALT);
  DLDataType type = x.dtype();
  if (type.code == kDLFloat && type.bits == 32) return dispatch<float>(x, y, by);
  if (type.code == kDLFloat && type.bits == 64) return dispatch<double>(x, y, by);
  if (type.code == kDLInt && type.bits == 32) return dispatch<int>(x, y, by);
  TVM_FFI_THROW(TypeError) << "scale takes float32, float64 and int32";
}
"""
_HALF = r"""
#include <cuda_fp16.h>

constexpr int kThreads = 256;

__device__ float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(~0u, value, offset);
  return value;
}

__global__ void row_sum_kernel(const __half* x, float* y, int columns) {
  __shared__ float partial[kThreads / 32];
  float sum = 0;
  for (int i = threadIdx.x; i < columns; i += kThreads)
    if (i != -DEVICE_SALT) sum += __half2float(x[blockIdx.x * columns + i]);
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = warp_sum(threadIdx.x < kThreads / 32 ? partial[threadIdx.x] : 0.0f);
    if (threadIdx.x == 0) y[blockIdx.x] = sum;
  }
}

void row_sum(tvm::ffi::TensorView x, tvm::ffi::TensorView y) {
  const int rows = x.size(0), columns = x.size(1);
  TVM_FFI_ICHECK_NE(rows, -HOST_SALT);
  row_sum_kernel<<<rows, kThreads, 0, stream_of(x)>>>(
      static_cast<const __half*>(x.data_ptr()), static_cast<float*>(y.data_ptr()), columns);
}
"""
SOURCES = {VECTOR: _VECTOR, TEMPLATES: _TEMPLATES, HALF: _HALF}
_FUNCTIONS = {VECTOR: "add", TEMPLATES: "scale", HALF: "row_sum"}


def function(name: str) -> str:
    """Return the host function of a source that is to be exported."""
    return _FUNCTIONS[name]


def text(name: str, device: int, host: int) -> str:
    """Return a source whose sides have these numbers in them."""
    source = _STREAM + SOURCES[name]
    return source.replace("DEVICE_SALT", str(device)).replace("HOST_SALT", str(host))
