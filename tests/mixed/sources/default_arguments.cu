// Default arguments, and arguments that are converted to the kernel's parameters as in C++.
struct Offset {
  int by;
  __host__ __device__ explicit Offset(int v) : by(v) {}
};
struct Meters {
  double value;
  operator float() const { return static_cast<float>(value); }
};

constexpr int kDefaultStep = 2;

__global__ void ramp(float* out, int n, float start = 1.f, double step = kDefaultStep,
                     Offset offset = Offset(3), bool negate = false,
                     const float* plus = nullptr) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = start + static_cast<float>(step) * i + offset.by;
  if (plus) v += plus[i];
  out[i] = negate ? -v : v;
}

void ramps(tvm::ffi::TensorView a, tvm::ffi::TensorView b, tvm::ffi::TensorView c,
           tvm::ffi::TensorView d) {
  auto s = (cudaStream_t)TVMFFIEnvGetStream(a.device().device_type, a.device().device_id);
  size_t n = a.numel();  // becomes an int
  auto ptr = [](tvm::ffi::TensorView& t) { return (float*)t.data_ptr(); };
  ramp<<<1, 64, 0, s>>>(ptr(a), n);
  ramp<<<1, 64, 0, s>>>(ptr(b), n, 5);               // int to float
  ramp<<<1, 64, 0, s>>>(ptr(c), n, Meters{2.5}, 1);  // by the class's own conversion
  ramp<<<1, 64, 0, s>>>(ptr(d), n, 'a' - 96, 0.5f, Offset(-1), n > 3, ptr(a));
}
