// What host and device both call: plain functions, members, operators.
#include <algorithm>

struct Complex {
  float re, im;
  __host__ __device__ Complex(float r = 0.f, float i = 0.f) : re(r), im(i) {}
  __host__ __device__ float norm() const;
};

__host__ __device__ inline Complex operator*(const Complex& a, const Complex& b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
__host__ __device__ float Complex::norm() const { return re * re + im * im; }

inline __device__ __host__ float norm_of_power(Complex c, int n) {
  Complex z(1.f);
  for (int i = 0; i < n; ++i) z = z * c;
  return z.norm();
}

__global__ void norms_of(float* out, int n, Complex c) {
  int i = threadIdx.x + blockIdx.x * blockDim.x;
  if (i < n) out[i] = norm_of_power(c, i);
}

double norms(tvm::ffi::TensorView out, double re, double im) {
  auto s = (cudaStream_t)TVMFFIEnvGetStream(out.device().device_type, out.device().device_id);
  const int n = std::min(static_cast<int>(out.numel()), 1000);
  const Complex c(static_cast<float>(re), static_cast<float>(im));
  norms_of<<<(n + 31) / 32, 32, 0, s>>>((float*)out.data_ptr(), n, c);
  return norm_of_power(c, 2);
}
