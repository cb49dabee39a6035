// What host and device both call: plain functions, members, operators.
#include <algorithm>
#include <cmath>

struct Complex {
  float re, im;
  __host__ __device__ Complex(float r = 0.f, float i = 0.f) : re(r), im(i) {}
  __host__ __device__ float norm() const;
};

__host__ __device__ inline Complex operator*(const Complex& a, const Complex& b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
__host__ __device__ inline Complex operator+(Complex a, Complex b) {
  return Complex(a.re + b.re, a.im + b.im);
}
__host__ __device__ float Complex::norm() const { return re * re + im * im; }

inline __device__ __host__ int escape(Complex c, int most) {
  Complex z;
  int steps = 0;
  while (steps < most && z.norm() <= 4.f) {
    z = z * z + c;
    ++steps;
  }
  return steps;
}

__global__ void mandelbrot(int* out, int rows, int cols, int most) {
  int c = threadIdx.x + blockIdx.x * blockDim.x, r = threadIdx.y + blockIdx.y * blockDim.y;
  if (r >= rows || c >= cols) return;
  out[r * cols + c] = escape(Complex(-2.f + 3.f * c / cols, -1.5f + 3.f * r / rows), most);
}

void draw(tvm::ffi::TensorView out, int64_t most) {
  auto s = (cudaStream_t)TVMFFIEnvGetStream(out.device().device_type, out.device().device_id);
  int rows = out.size(0), cols = out.size(1);
  dim3 block(16, 8), grid((cols + 15) / 16, (rows + 7) / 8);
  mandelbrot<<<grid, block, 0, s>>>((int*)out.data_ptr(), rows, cols,
                                    std::min(static_cast<int>(most), 1000));
}

int64_t escape_of(double re, double im, int64_t most) {
  return escape(Complex(static_cast<float>(re), static_cast<float>(im)),
                std::min(static_cast<int>(most), 1000));
}
