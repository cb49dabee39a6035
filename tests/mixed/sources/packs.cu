// Parameter packs: any number of inputs, functors in a pack, unnamed parameters, enable_if.
#include <type_traits>

template <typename... Ts>
__device__ float total(Ts... values) {
  return (0.f + ... + static_cast<float>(values));
}

template <typename Out, typename... Ins>
__global__ void sum_of(Out* out, int n, const Ins*... ins) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = static_cast<Out>(total(ins[i]...));
}

template <typename... Fs>
__global__ void chain(float* x, int n, Fs... fs) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) ((x[i] = fs(x[i])), ...);
}

struct AddTwo {
  __device__ float operator()(float v) const { return v + 2.f; }
};
struct Times {
  float by;
  __device__ float operator()(float v) const { return v * by; }
};

template <int... kOffsets>
__global__ void offsets(float* x, int) {
  if (threadIdx.x == 0) x[0] += (0 + ... + kOffsets);
}

template <typename T, std::enable_if_t<std::is_integral_v<T>, int> = 0>
__global__ void store_kind(T* out) {
  *out = 1;
}
template <typename T, std::enable_if_t<std::is_floating_point_v<T>, int> = 0>
__global__ void store_kind(T* out) {
  *out = T(2.5);
}

void every_pack(tvm::ffi::TensorView a, tvm::ffi::TensorView b, tvm::ffi::TensorView out,
                tvm::ffi::TensorView kind, tvm::ffi::TensorView floating) {
  auto s = (cudaStream_t)TVMFFIEnvGetStream(a.device().device_type, a.device().device_id);
  const int n = static_cast<int>(a.numel());
  auto* pa = static_cast<const float*>(a.data_ptr());
  auto* pb = static_cast<const int*>(b.data_ptr());
  auto* po = static_cast<float*>(out.data_ptr());
  sum_of<<<1, 64, 0, s>>>(po, n, pa, pb, pb);
  chain<<<1, 64, 0, s>>>(po, n, AddTwo(), Times{0.5f}, AddTwo{});
  offsets<1, 20, 300><<<1, 1, 0, s>>>(po, 0);
  store_kind<<<1, 1, 0, s>>>(static_cast<int*>(kind.data_ptr()));
  store_kind<<<1, 1, 0, s>>>(static_cast<float*>(floating.data_ptr()));
}
