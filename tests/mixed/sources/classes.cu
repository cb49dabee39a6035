// Classes with members of either side: static __device__ functions, policies, operators, friends.
template <typename T, int kSize>
class Ring {
 public:
  __host__ __device__ explicit Ring(T* data) : data_(data) {}
  __device__ T& operator[](int i) { return data_[wrap(i)]; }
  __device__ const T& operator[](int i) const;
  static __device__ int wrap(int i) { return (i % kSize + kSize) % kSize; }
  static constexpr int size() { return kSize; }

 private:
  T* data_;
};

template <typename T, int kSize>
__device__ const T& Ring<T, kSize>::operator[](int i) const {
  return data_[wrap(i)];
}

template <int kThreads_, int kRadius_>
struct StencilPolicy {
  static constexpr int kThreads = kThreads_, kRadius = kRadius_;
  using Element = float;

  struct Weight {
    __device__ __forceinline__ static float of(int distance) { return 1.f / (1 + abs(distance)); }
  };
};

template <typename Policy, int kSize>
__global__ void stencil(Ring<const typename Policy::Element, kSize> in,
                        Ring<typename Policy::Element, kSize> out) {
  int i = blockIdx.x * Policy::kThreads + threadIdx.x;
  if (i >= kSize) return;
  float sum = 0.f;
#pragma unroll
  for (int k = -Policy::kRadius; k <= Policy::kRadius; ++k)
    sum += in[i + k] * Policy::Weight::of(k);
  out[i] = sum;
}

class Stencil {
 public:
  using Policy = StencilPolicy<64, 2>;
  static constexpr int kSize = 150;

  explicit Stencil(tvm::ffi::TensorView x)
      : stream_((cudaStream_t)TVMFFIEnvGetStream(x.device().device_type, x.device().device_id)) {}

  void run(tvm::ffi::TensorView x, tvm::ffi::TensorView y) const {
    Ring<const float, kSize> in(static_cast<const float*>(x.data_ptr()));
    Ring<float, kSize> out(static_cast<float*>(y.data_ptr()));
    stencil<Policy><<<(in.size() + Policy::kThreads - 1) / Policy::kThreads, Policy::kThreads, 0,
                      stream_>>>(in, out);
  }

 private:
  cudaStream_t stream_;
};

void smoothed(tvm::ffi::TensorView x, tvm::ffi::TensorView y) { Stencil(x).run(x, y); }
