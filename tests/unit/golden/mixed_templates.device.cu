#include <cuda_runtime.h>

#include <type_traits>

template <typename T, int N>
struct Vec {
  T data[N];
};

template <typename T, int kUnroll = 4>
__global__ void scale(T* x, T factor, int n, int /*unused*/ = 0) {
  for (int i = threadIdx.x; i < n; i += kUnroll) x[i] *= factor;
}

template <typename T, typename = std::enable_if_t<(sizeof(T) > 1)>, int = 3>
__global__ void unnamed(T*, const Vec<T, 2>) {}

template <typename... Ts>
__global__ void pack(int* out, Ts... values) {
  *out = (0 + ... + static_cast<int>(values));
}

template <template <typename, int> class Container, typename T>
__global__ void of_template(Container<T, 4> value, T* out) {
  *out = value.data[0];
}

template <typename T>
__global__ void special(T* x) {
  *x = T(1);
}

template <>
__global__ void special<float>(float* x) {
  *x = 2.0f;
}

template __global__ void special<int>(int* x);



















