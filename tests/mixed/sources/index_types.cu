// The same kernel over 32-bit and 64-bit indices, and over an int64 tensor of indices.
#include <cstdint>
#include <limits>

template <typename T, typename index_t>
__global__ void gather(const T* __restrict__ table, const index_t* __restrict__ indices,
                       T* __restrict__ out, index_t rows, index_t width) {
  for (index_t i = blockIdx.x * static_cast<index_t>(blockDim.x) + threadIdx.x; i < rows * width;
       i += static_cast<index_t>(gridDim.x) * blockDim.x)
    out[i] = table[indices[i / width] * width + i % width];
}

template <typename T>
struct index_name;
template <>
struct index_name<int32_t> {
  static constexpr const char* value = "int32";
};
template <>
struct index_name<int64_t> {
  static constexpr const char* value = "int64";
};

template <typename T, typename F>
decltype(auto) with_index_type(DLDataType dtype, F&& f) {
  if (dtype.bits == 64) return f(int64_t{});
  return f(int32_t{});
}

tvm::ffi::String gathered(tvm::ffi::TensorView table, tvm::ffi::TensorView indices,
                          tvm::ffi::TensorView out) {
  auto stream = (cudaStream_t)TVMFFIEnvGetStream(out.device().device_type, out.device().device_id);
  TVM_FFI_ICHECK_LT(out.numel(), std::numeric_limits<int32_t>::max());
  return with_index_type<float>(indices.dtype(), [&](auto zero) -> tvm::ffi::String {
    using index_t = decltype(zero);
    const index_t rows = static_cast<index_t>(indices.numel());
    const index_t width = static_cast<index_t>(table.size(1));
    gather<float, index_t><<<2, 64, 0, stream>>>(
        static_cast<const float*>(table.data_ptr()), static_cast<const index_t*>(indices.data_ptr()),
        static_cast<float*>(out.data_ptr()), rows, width);
    return index_name<index_t>::value;
  });
}
