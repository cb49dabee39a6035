// Layer norm: a warp a row, shuffles, types of input and statistics as template arguments.
#include <cuda_fp16.h>

namespace layer {

template <typename T>
__device__ __forceinline__ T warp_sum(T v) {
#pragma unroll
  for (int mask = 16; mask > 0; mask >>= 1) v += __shfl_xor_sync(0xffffffff, v, mask);
  return v;
}

template <typename T, typename Stat = float, int WARPS = 4>
__global__ void __launch_bounds__(WARPS * 32)
    layer_norm_kernel(const T* __restrict__ x, const T* __restrict__ gamma,
                      const T* __restrict__ beta, T* __restrict__ y, Stat* __restrict__ mean,
                      int rows, int cols, Stat eps) {
  const int lane = threadIdx.x & 31, row = blockIdx.x * WARPS + (threadIdx.x >> 5);
  if (row >= rows) return;
  x += static_cast<int64_t>(row) * cols;
  y += static_cast<int64_t>(row) * cols;
  Stat sum = 0, squares = 0;
  for (int c = lane; c < cols; c += 32) {
    const Stat v = static_cast<Stat>(x[c]);
    sum += v;
    squares += v * v;
  }
  sum = warp_sum(sum) / cols;
  squares = warp_sum(squares) / cols - sum * sum;
  const Stat scale = rsqrt(squares + eps);
  for (int c = lane; c < cols; c += 32)
    y[c] = static_cast<T>((static_cast<Stat>(x[c]) - sum) * scale * static_cast<Stat>(gamma[c]) +
                          static_cast<Stat>(beta[c]));
  if (lane == 0) mean[row] = sum;
}

template <typename T, typename Stat>
void launch(const tvm::ffi::TensorView& x, const tvm::ffi::TensorView& gamma,
            const tvm::ffi::TensorView& beta, const tvm::ffi::TensorView& y,
            const tvm::ffi::TensorView& mean, double eps) {
  const int rows = static_cast<int>(x.size(0)), cols = static_cast<int>(x.size(1));
  constexpr int WARPS = 4;
  auto in = [](const tvm::ffi::TensorView& t) { return static_cast<const T*>(t.data_ptr()); };
  layer_norm_kernel<T, Stat>
      <<<(rows + WARPS - 1) / WARPS, WARPS * 32, 0,
         static_cast<cudaStream_t>(
             TVMFFIEnvGetStream(x.device().device_type, x.device().device_id))>>>(
          in(x), in(gamma), in(beta), static_cast<T*>(y.data_ptr()),
          static_cast<Stat*>(mean.data_ptr()), rows, cols, eps);
}

}  // namespace layer

void layer_norm(tvm::ffi::TensorView x, tvm::ffi::TensorView gamma, tvm::ffi::TensorView beta,
                tvm::ffi::TensorView y, tvm::ffi::TensorView mean, double eps) {
  if (x.dtype().bits == 16) layer::launch<half, float>(x, gamma, beta, y, mean, eps);
  else if (x.dtype().bits == 64) layer::launch<double, double>(x, gamma, beta, y, mean, eps);
  else layer::launch<float, float>(x, gamma, beta, y, mean, eps);
}
