// Names of the C++ library, and of the compiler's own functions, in kernels and their parameters too, and no include that brings them.
struct Shifts {
  std::array<int, 3> by;
  std::tuple<char, float, int> weights;
};

// Called by the kernel with what only it knows: nvcc's --expt-relaxed-constexpr.
struct Counter {
  int value;
  constexpr explicit Counter(int start) : value(start) {}
  constexpr int next() { return ++value; }
};

template <typename T, std::enable_if_t<std::is_same_v<T, float>, int> = 0>
__device__ T limited(T x, std::pair<T, T> range) {
  if (x == INFINITY) return std::numeric_limits<T>::max();
  return std::min(std::max(x, range.first), range.second);
}

template <typename T>
__global__ void shift(const T* x, T* y, int64_t n, std::pair<T, T> range, Shifts shifts) {
  uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= std::min<std::size_t>(n, INT_MAX)) return;
  T read;
  __builtin_memcpy(&read, x + i, sizeof(T));
  std::conditional_t<std::is_floating_point<T>::value, T, int> value = limited(read, range);
  auto [character, factor, offset] = shifts.weights;
  Counter counter(static_cast<int>(n));
  y[i] = value * factor + counter.next() + shifts.by[i % shifts.by.size()] + offset + (character == 'c');
}

void shifted(tvm::ffi::TensorView x, tvm::ffi::TensorView y, double low, double high) {
  auto stream =
      (cudaStream_t)TVMFFIEnvGetStream(x.device().device_type, x.device().device_id);
  Shifts shifts{{10, 20, 30}, {'c', 0.5f, 100}};
  int64_t n = x.numel();
  shift<float><<<(n + 63) / 64, 64, 0, stream>>>((float*)x.data_ptr(), (float*)y.data_ptr(), n,
                                                 std::pair<float, float>(low, high), shifts);
}
