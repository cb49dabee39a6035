#include <cuda_runtime.h>

#include <cstdint>
#include <string>

struct OnDevice {
  float4 value;
  __device__ float first() const { return value.x; }
};
struct OnHost {
  std::string text;
};
struct OnBoth {
  uint32_t bits;
};
static_assert(sizeof(OnDevice) == 16, "OnDevice");
static_assert(sizeof(OnHost) >= 8, "OnHost");
static_assert(sizeof(OnBoth) == 4, "OnBoth");

template <typename T>
struct Traits;
template <>
struct Traits<float> {
  static constexpr int kWidth = 4;
  using Wide = OnDevice;
};
template <typename T>
struct Traits<T*> {
  static constexpr int kWidth = 8;
};

template <typename T>
__host__ __device__ inline T clamped(T x) {
  return x < T(0) ? T(0) : x;
}
template float clamped<float>(float);

using std::string;
using Wide = Traits<float>::Wide;

__global__ void read(const void* data, float* out, OnBoth both) {
  *out = clamped(static_cast<const Wide*>(data)->first()) * Traits<float>::kWidth + both.bits;
}

template <class T>
struct Holder {
  Holder(T value) : value(value) {}
  T value;
};
template <class T>
Holder(T) -> Holder<T>;

size_t run(const void* data, float* out) {
  read<<<1, 1>>>(data, out, OnBoth{1});
  Holder holder(OnHost{string("x")});
  return holder.value.text.size();
}
