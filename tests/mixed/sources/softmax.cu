// Softmax of rows in one pass over the maximum and the sum, merged by a struct's operator.
#include <cfloat>
#include <cmath>

struct __align__(8) MaxSum {
  float most;
  float sum;
};

__device__ __forceinline__ MaxSum merge(MaxSum a, MaxSum b) {
  bool a_is_more = a.most > b.most;
  MaxSum more = a_is_more ? a : b, less = a_is_more ? b : a;
  return MaxSum{more.most, more.sum + less.sum * __expf(less.most - more.most)};
}

template <int THREADS>
__device__ MaxSum block_merge(MaxSum v) {
  __shared__ MaxSum warps[THREADS / 32];
  for (int mask = 16; mask >= 1; mask >>= 1) {
    MaxSum other;
    other.most = __shfl_xor_sync(~0u, v.most, mask);
    other.sum = __shfl_xor_sync(~0u, v.sum, mask);
    v = merge(v, other);
  }
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = v;
  __syncthreads();
  v = warps[0];
  for (int w = 1; w < THREADS / 32; ++w) v = merge(v, warps[w]);
  return v;
}

template <int THREADS>
__global__ void online_softmax(const float* __restrict__ x, float* __restrict__ y, int cols) {
  x += blockIdx.x * cols;
  y += blockIdx.x * cols;
  MaxSum v{-FLT_MAX, 0.f};
  for (int c = threadIdx.x; c < cols; c += THREADS) v = merge(v, {x[c], 1.f});
  v = block_merge<THREADS>(v);
  for (int c = threadIdx.x; c < cols; c += THREADS) y[c] = __expf(x[c] - v.most) / v.sum;
}

#define ONLINE_SOFTMAX(THREADS)                                                   \
  online_softmax<THREADS><<<rows, THREADS, 0, stream>>>(                          \
      static_cast<const float*>(x.data_ptr()), static_cast<float*>(y.data_ptr()), cols)

void softmax(tvm::ffi::TensorView x, tvm::ffi::TensorView y) {
  const int rows = x.size(0), cols = x.size(1);
  auto stream = (cudaStream_t)TVMFFIEnvGetStream(x.device().device_type, x.device().device_id);
  if (cols <= 64) {
    ONLINE_SOFTMAX(32);
  } else if (cols <= 256) {
    ONLINE_SOFTMAX(128);
  } else {
    ONLINE_SOFTMAX(256);
  }
}
