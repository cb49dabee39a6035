// `template <typename Op> __global__`: functors with state and without, and one of the standard's
// kind that host and device share.
namespace ops {
struct Square {
  __device__ float operator()(float v) const { return v * v; }
};

struct Affine {
  float scale, shift;
  __host__ __device__ Affine(float a, float b) : scale(a), shift(b) {}
  __host__ __device__ float operator()(float v) const { return scale * v + shift; }
};

template <typename First, typename Second>
struct Compose {
  First first;
  Second second;
  __device__ float operator()(float v) const { return second(first(v)); }
};
}  // namespace ops

template <typename Op>
__global__ void apply(const float* x, float* y, int n, Op op) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    y[i] = op(x[i]);
}

template <typename Op>
void map(const tvm::ffi::TensorView& x, const tvm::ffi::TensorView& y, Op op) {
  auto s = (cudaStream_t)TVMFFIEnvGetStream(x.device().device_type, x.device().device_id);
  apply<<<4, 64, 0, s>>>((const float*)x.data_ptr(), (float*)y.data_ptr(), (int)x.numel(), op);
}

void square(tvm::ffi::TensorView x, tvm::ffi::TensorView y) { map(x, y, ops::Square{}); }

void affine(tvm::ffi::TensorView x, tvm::ffi::TensorView y, double a, double b) {
  map(x, y, ops::Affine(a, b));
}

double affine_of(double v, double a, double b) { return ops::Affine(a, b)(v); }

void square_then_affine(tvm::ffi::TensorView x, tvm::ffi::TensorView y, double a, double b) {
  using Both = ops::Compose<ops::Square, ops::Affine>;
  map<Both>(x, y, Both{{}, {static_cast<float>(a), static_cast<float>(b)}});
}
