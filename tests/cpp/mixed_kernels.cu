// The device text of a mixed source; mixed_launches.cc is its host text.
#include <cuda_fp16.h>

struct Base {
  int base;
};
struct Derived : Base {
  int own;
};
struct Pair {
  float a;
  int b;
  __host__ __device__ Pair(int b_) : a(0.5f), b(b_) {}
};
enum class Mode : short { kFirst = 1, kSecond };

template <typename T, int N>
__global__ void scale(T* x, float factor, int n = 7) {
  if (threadIdx.x < n) x[threadIdx.x] = x[threadIdx.x] * T(factor) + T(N);
}
template <>
__global__ void scale<double, 9>(double* x, float factor, int n) {
  x[0] = factor + n;
}

namespace shapes {
__global__ void by_value(Pair pair, char letter, double number, Mode mode) {}
namespace {
__global__ void hidden(const Base* base, long count) {}
}  // namespace
__device__ int counter = 5;
}  // namespace shapes

static __global__ void nothing() {}
extern "C" __global__ void plain(float value, unsigned char flag) {}

template <typename... Ts>
__global__ void pack(int first, Ts... rest) {}

template <typename T>
__global__ void typed(T value) {}

template <>
__global__ void typed<int64_t>(int64_t value) {}
__global__ void counted(int64_t first, uint64_t* second) {}
__global__ void counted(long long first, unsigned long long* second) {}

__global__ void overloaded(int value) {}
__global__ void overloaded(float value) {}

__global__ void __launch_bounds__(128) shared(float* out) {
  extern __shared__ float memory[];
  out[threadIdx.x] = memory[threadIdx.x];
}
__global__ void halves(__half value) {}

struct Torn {
#ifdef __CUDA_ARCH__
  int shorter;
#else
  long longer;
#endif
};
__global__ void torn(int first, Torn second) {}

__constant__ float weights[4] = {1, 2, 3, 4};
