// One template, four dtypes: a switch macro that runs a lambda in which `scalar_t` is the type.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#define PRIVATE_CASE(CODE, BITS, TYPE, ...)               \
  if (dtype_.code == (CODE) && dtype_.bits == (BITS)) {   \
    using scalar_t [[maybe_unused]] = TYPE;               \
    return __VA_ARGS__();                                 \
  }

#define DISPATCH_FLOATING(DTYPE, NAME, ...)                                           \
  [&] {                                                                               \
    const DLDataType dtype_ = (DTYPE);                                                \
    PRIVATE_CASE(kDLFloat, 32, float, __VA_ARGS__)                                    \
    PRIVATE_CASE(kDLFloat, 64, double, __VA_ARGS__)                                   \
    PRIVATE_CASE(kDLFloat, 16, __half, __VA_ARGS__)                                   \
    PRIVATE_CASE(kDLBfloat, 16, __nv_bfloat16, __VA_ARGS__)                           \
    TVM_FFI_THROW(TypeError) << NAME << ": no kernel for code " << int(dtype_.code)   \
                             << " of " << int(dtype_.bits) << " bits";                \
  }()

template <typename T>
struct Accumulate {
  using type = float;
};
template <>
struct Accumulate<double> {
  using type = double;
};
template <typename T>
using accumulate_t = typename Accumulate<T>::type;

template <typename scalar_t>
__global__ void silu_kernel(const scalar_t* __restrict__ x, scalar_t* __restrict__ y, int64_t n) {
  using acc_t = accumulate_t<scalar_t>;
  int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (i >= n) return;
  acc_t v = static_cast<acc_t>(x[i]);
  y[i] = static_cast<scalar_t>(v / (acc_t(1) + exp(-v)));
}

void silu(tvm::ffi::TensorView x, tvm::ffi::TensorView y) {
  TVM_FFI_CHECK(x.dtype() == y.dtype(), TypeError) << "x and y have different dtypes";
  const int64_t n = x.numel();
  auto stream = (cudaStream_t)TVMFFIEnvGetStream(x.device().device_type, x.device().device_id);
  const int threads = 256;
  const int64_t blocks = (n + threads - 1) / threads;
  DISPATCH_FLOATING(x.dtype(), "silu", [&] {
    silu_kernel<scalar_t><<<blocks, threads, 0, stream>>>(
        static_cast<const scalar_t*>(x.data_ptr()), static_cast<scalar_t*>(y.data_ptr()), n);
  });
}
