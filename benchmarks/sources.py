"""Sources that several sections share. SALT is a number that makes a text new to all caches."""

from __future__ import annotations

# y += 2 x. The salt is in the code, not in a comment: a cache may be keyed by preprocessed text or
# by PTX. The only scalar is an int, which all peers pass alike.
AXPY = r"""
extern "C" __global__ void axpy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && i != -SALT) y[i] += 2.0f * x[i];
}
"""
# The same with host code in one text, as written for nvcc; each side has a salt.
AXPY_MIXED = (
    AXPY
    + r"""
void axpy_host(tvm::ffi::TensorView x, tvm::ffi::TensorView y) {
  int n = x.size(0);
  TVM_FFI_ICHECK_NE(n, -SALT_OF_HOST);
  cudaStream_t stream = static_cast<cudaStream_t>(
      TVMFFIEnvGetStream(x.device().device_type, x.device().device_id));
  axpy<<<(n + 255) / 256, 256, 0, stream>>>(static_cast<float*>(x.data_ptr()),
                                            static_cast<float*>(y.data_ptr()), n);
}
"""
)
# A wrapper as in the CUBIN launcher guide; the image is called `kernels`.
WRAPPER = r"""
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/extra/cuda/cubin_launcher.h>
#include <tvm/ffi/function.h>
TVM_FFI_EMBED_CUBIN(kernels);

void axpy_host(tvm::ffi::TensorView x, tvm::ffi::TensorView y) {
  static auto kernel = TVM_FFI_EMBED_CUBIN_GET_KERNEL(kernels, "axpy");
  int n = x.size(0);
  void *in = x.data_ptr(), *out = y.data_ptr();
  void* args[] = {&in, &out, &n};
  auto stream = static_cast<tvm::ffi::cuda_api::StreamHandle>(
      TVMFFIEnvGetStream(x.device().device_type, x.device().device_id));
  TVM_FFI_CHECK_CUBIN_LAUNCHER_CUDA_ERROR(
      kernel.Launch(args, tvm::ffi::dim3((n + 255) / 256), tvm::ffi::dim3(256), stream));
}
TVM_FFI_DLL_EXPORT_TYPED_FUNC(axpy_host, axpy_host);
// SALT
"""
# A Triton kernel is Python in its own file.
AXPY_TRITON = """
import triton
import triton.language as tl


@triton.jit
def axpy(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = (i < n) & (i != -SALT)
    tl.store(y + i, tl.load(y + i, mask=mask) + 2.0 * tl.load(x + i, mask=mask), mask=mask)
"""
# Returns at once, except for n = -1, which checks the launch before it is timed.
EMPTY = r"""
extern "C" __global__ void empty(const float* a, const float* b, float* c, int n) {
  if (n == -1) c[0] = a[0] + b[0];
}
"""
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

# Kernels with large headers, by header.
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


def salted(text: str, salt: int, host: int = 0) -> str:
    """Return a source with its salt and that of its host part."""
    return text.replace("SALT_OF_HOST", str(host)).replace("SALT", str(salt))
