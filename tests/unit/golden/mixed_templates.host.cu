#include <cuda_runtime.h>

#include <type_traits>

template <typename T, int N>
struct Vec {
  T data[N];
};

template <typename T, int kUnroll = 4>
__global__ void scale(T* x, T factor, int n, int tvmffi_cubin_p3 /*unused*/ = 0) TVMFFI_CUBIN_STUB((static_cast<void (*)(decltype(x), decltype(factor), decltype(n), decltype(tvmffi_cubin_p3))>(&scale<T, kUnroll>)), x, factor, n, tvmffi_cubin_p3)



template <typename T, typename tvmffi_cubin_t1 = std::enable_if_t<(sizeof(T) > 1)>, int tvmffi_cubin_t2 = 3>
__global__ void unnamed(T* tvmffi_cubin_p0, const Vec<T, 2> tvmffi_cubin_p1) TVMFFI_CUBIN_STUB((static_cast<void (*)(decltype(tvmffi_cubin_p0), decltype(tvmffi_cubin_p1))>(&unnamed<T, tvmffi_cubin_t1, tvmffi_cubin_t2>)), tvmffi_cubin_p0, tvmffi_cubin_p1)

template <typename... Ts>
__global__ void pack(int* out, Ts... values) TVMFFI_CUBIN_STUB((static_cast<void (*)(decltype(out), decltype(values)...)>(&pack<Ts...>)), out, values...)



template <template <typename, int> class Container, typename T>
__global__ void of_template(Container<T, 4> value, T* out) TVMFFI_CUBIN_STUB((static_cast<void (*)(decltype(value), decltype(out))>(&of_template<Container, T>)), value, out)



template <typename T>
__global__ void special(T* x) TVMFFI_CUBIN_STUB((static_cast<void (*)(decltype(x))>(&special<T>)), x)



template <>
__global__ void special<float>(float* x) TVMFFI_CUBIN_STUB((static_cast<void (*)(decltype(x))>(&special<float>)), x)



template __global__ void special<int>(int* x);

template <typename T>
void dispatch(T* x, int n, bool wide) {
  if (wide) {
    (::tvmffi_cubin::KernelLaunch(1, 32), scale<T, 8>(x, T(2), n));
  } else {
    (::tvmffi_cubin::KernelLaunch(1, 32), scale<T>(x, T(2), n));
  }
}

void run(float* x, int* y, int n) {
  dispatch(x, n, n > 100);
  dispatch(y, n, false);
  (::tvmffi_cubin::KernelLaunch(1, 1), unnamed<float>(x, Vec<float, 2>{}));
  (::tvmffi_cubin::KernelLaunch(1, 1), pack(y, 1, 2.0f, 'c'));
  (::tvmffi_cubin::KernelLaunch(1, 1), of_template(Vec<float, 4>{}, x));
  (::tvmffi_cubin::KernelLaunch(1, 1), special(x));
  (::tvmffi_cubin::KernelLaunch(1, 1), special<double>(static_cast<double*>(nullptr)));
}
