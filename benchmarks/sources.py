"""The sources that several sections share. SALT is a number that makes a text new to all caches."""

from __future__ import annotations

# y += 2 x. The salt is in the code, not in a comment: a cache may be keyed by what comes after the
# preprocessor, or by PTX. No scalar but an int, which all peers pass alike.
AXPY = r"""
extern "C" __global__ void axpy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && i != -SALT) y[i] += 2.0f * x[i];
}
"""
# The host side of AXPY for compilers that take both in one text (nvcc).
AXPY_MIXED = (
    AXPY
    + r"""
void axpy_host(tvm::ffi::TensorView x, tvm::ffi::TensorView y) {
  int n = x.size(0);
  cudaStream_t stream = static_cast<cudaStream_t>(
      TVMFFIEnvGetStream(x.device().device_type, x.device().device_id));
  axpy<<<(n + 255) / 256, 256, 0, stream>>>(static_cast<float*>(x.data_ptr()),
                                            static_cast<float*>(y.data_ptr()), n);
}
"""
)
# As the CUBIN launcher guide writes a wrapper; the image is called `kernels`.
WRAPPER_HEAD = r"""
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/extra/cuda/cubin_launcher.h>
#include <tvm/ffi/function.h>
TVM_FFI_EMBED_CUBIN(kernels);
"""
WRAPPER_FUNCTION = r"""
void NAME_host(tvm::ffi::TensorView x, tvm::ffi::TensorView y) {
  static auto kernel = TVM_FFI_EMBED_CUBIN_GET_KERNEL(kernels, "NAME");
  int n = x.size(0);
  void *in = x.data_ptr(), *out = y.data_ptr();
  void* args[] = {&in, &out, &n};
  auto stream = static_cast<tvm::ffi::cuda_api::StreamHandle>(
      TVMFFIEnvGetStream(x.device().device_type, x.device().device_id));
  TVM_FFI_CHECK_CUBIN_LAUNCHER_CUDA_ERROR(
      kernel.Launch(args, tvm::ffi::dim3((n + 255) / 256), tvm::ffi::dim3(256), stream));
}
TVM_FFI_DLL_EXPORT_TYPED_FUNC(NAME_host, NAME_host);
"""
# A Triton kernel is Python in a file of its own.
AXPY_TRITON = """
import triton
import triton.language as tl


@triton.jit
def axpy(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = (i < n) & (i != -SALT)
    tl.store(y + i, tl.load(y + i, mask=mask) + 2.0 * tl.load(x + i, mask=mask), mask=mask)
"""
# Returns at once, but for n = -1, by which the launch is checked before it is timed.
EMPTY = r"""
extern "C" __global__ void empty(const float* a, const float* b, float* c, int n) {
  if (n == -1) c[0] = a[0] + b[0];
}
"""
# The empty kernel, of which one function is made over several types; float is the last.
EMPTY_OF_TYPES = r"""
template <class T> __global__ void empty(const T* a, const T* b, T* c, int n) {
  if (n == -1) c[0] = a[0] + b[0];
}
"""
TYPES = ("double", "int", "int64_t", "int16_t", "int8_t", "uint8_t", "uint16_t", "float")
EMPTY_TRITON = """
import triton
import triton.language as tl


@triton.jit
def empty(a, b, c, n):
    if n == -1:
        tl.store(c, tl.load(a) + tl.load(b))
"""
ADD_TRITON = """
import triton
import triton.language as tl


@triton.jit
def add(a, b, c, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(c + i, tl.load(a + i, mask=i < n) + tl.load(b + i, mask=i < n), mask=i < n)
"""
# The floor: a C++ loop over cuLaunchKernelEx with nothing else in it.
EMPTY_FLOOR = r"""
#include <cuda.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/cuda/cubin_launcher.h>
#include <tvm/ffi/function.h>
TVM_FFI_EMBED_CUBIN(kernels);
void floor_loop(tvm::ffi::TensorView a, tvm::ffi::TensorView b, tvm::ffi::TensorView c, int n,
                int64_t count) {
  static auto kernel = TVM_FFI_EMBED_CUBIN_GET_KERNEL(kernels, "empty");
  void *pa = a.data_ptr(), *pb = b.data_ptr(), *pc = c.data_ptr();
  void* args[] = {&pa, &pb, &pc, &n};
  CUlaunchConfig config = {};
  config.gridDimX = config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = 32, config.blockDimY = config.blockDimZ = 1;
  int failed = 0;
  for (int64_t i = 0; i < count; ++i)
    failed |= cuLaunchKernelEx(&config, (CUfunction)kernel.GetHandle(), args, nullptr);
  TVM_FFI_CHECK(failed == 0, RuntimeError) << "cuLaunchKernelEx failed";
}
TVM_FFI_DLL_EXPORT_TYPED_FUNC(floor_loop, floor_loop);
"""
EMPTY_WRAPPER = r"""
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/extra/cuda/cubin_launcher.h>
#include <tvm/ffi/function.h>
TVM_FFI_EMBED_CUBIN(kernels);
void run(tvm::ffi::TensorView a, tvm::ffi::TensorView b, tvm::ffi::TensorView c, int n) {
  static auto kernel = TVM_FFI_EMBED_CUBIN_GET_KERNEL(kernels, "empty");
  void *pa = a.data_ptr(), *pb = b.data_ptr(), *pc = c.data_ptr();
  void* args[] = {&pa, &pb, &pc, &n};
  auto stream = static_cast<tvm::ffi::cuda_api::StreamHandle>(
      TVMFFIEnvGetStream(a.device().device_type, a.device().device_id));
  TVM_FFI_CHECK_CUBIN_LAUNCHER_CUDA_ERROR(
      kernel.Launch(args, tvm::ffi::dim3(1), tvm::ffi::dim3(32), stream));
}
TVM_FFI_DLL_EXPORT_TYPED_FUNC(run, run);
"""

# What includes much: a kernel by the header that it takes.
HEADERS = {
    "cuda_fp16.h": r"""
#include <cuda_fp16.h>
extern "C" __global__ void scale(__half* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && i != -SALT) x[i] = __hmul(x[i], __float2half(2.0f));
}
""",
    "cooperative_groups.h": r"""
#include <cooperative_groups.h>
extern "C" __global__ void scale(float* x, int n) {
  auto block = cooperative_groups::this_thread_block();
  int i = blockIdx.x * blockDim.x + block.thread_rank();
  if (i < n && i != -SALT) x[i] *= 2.0f;
  block.sync();
}
""",
    "cub/block/block_scan.cuh": r"""
#include <cub/block/block_scan.cuh>
extern "C" __global__ void scale(int* x, int n) {
  using Scan = cub::BlockScan<int, 256>;
  __shared__ typename Scan::TempStorage storage;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int value = i < n && i != -SALT ? x[i] : 0;
  Scan(storage).InclusiveSum(value, value);
  if (i < n) x[i] = value;
}
""",
}
# Kernels and host functions in one text, as people write them for nvcc; either side has a salt.
_STREAM = r"""
static cudaStream_t stream_of(tvm::ffi::TensorView x) {
  DLDevice device = x.device();
  return static_cast<cudaStream_t>(TVMFFIEnvGetStream(device.device_type, device.device_id));
}
"""
_VECTOR = r"""
__global__ void add_kernel(const float* x, const float* y, float* z, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && i != -SALT) z[i] = x[i] + y[i];
}

void add(tvm::ffi::TensorView x, tvm::ffi::TensorView y, tvm::ffi::TensorView z) {
  int n = x.numel();
  TVM_FFI_ICHECK_NE(n, -SALT_OF_HOST);
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
    if (i < n && i != -SALT) y[i] = by * x[i];
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
  TVM_FFI_ICHECK_NE(x.numel(), -SALT_OF_HOST);
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
    if (i != -SALT) sum += __half2float(x[blockIdx.x * columns + i]);
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
  TVM_FFI_ICHECK_NE(rows, -SALT_OF_HOST);
  row_sum_kernel<<<rows, kThreads, 0, stream_of(x)>>>(
      static_cast<const __half*>(x.data_ptr()), static_cast<float*>(y.data_ptr()), columns);
}
"""
# By what they are: the host function that is exported, and the text.
MIXED = {
    "vector add": ("add", _STREAM + _VECTOR),
    "templates over dtypes": ("scale", _STREAM + _TEMPLATES),
    "cuda_fp16.h and shared memory": ("row_sum", _STREAM + _HALF),
}


def salted(text: str, salt: int, host: int = 0) -> str:
    """Return a source with its salt, and one of its host part."""
    return text.replace("SALT_OF_HOST", str(host)).replace("SALT", str(salt))


def wrapper(names: list[str], salt: int) -> str:
    """Return a hand-written wrapper of kernels with axpy's parameters."""
    functions = "".join(WRAPPER_FUNCTION.replace("NAME", name) for name in names)
    return f"{WRAPPER_HEAD}{functions}// {salt}\n"
