#include <cuda_runtime.h>




#define HD __host__ __device__
#define DEVICE_INLINE static __device__ __forceinline__

HD inline int ceil_div(int a, int b) { return (a + b - 1) / b; }

template <typename T>
constexpr T round_up(T a, T b) {
  return (a + b - 1) / b * b;
}



DEVICE_INLINE float fast(float x) { return __expf(x); }

HD float either(float x) {
#ifdef __CUDA_ARCH__
  return fast(x);
#else
  return std::min(x, 1.0f);
#endif
}

HD float2 operator+(float2 a, float2 b) { return {a.x + b.x, a.y + b.y}; }

struct Pair {
  float a, b;
};

HD Pair swapped(Pair pair) { return {pair.b, pair.a}; }





__global__ void run_all(float2* x, Pair* pairs, int n) {
  int i = threadIdx.x;
  if (i < round_up(ceil_div(n, 2), 32)) {
    x[i] = x[i] + x[i];
    x[i].x = either(x[i].y);
    pairs[i] = swapped(pairs[i]);
  }
}





