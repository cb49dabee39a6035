#include <cuda_runtime.h>

#include <cstdint>
#include <string>





struct OnHost {
  std::string text;
};
struct OnBoth {
  uint32_t bits;
};

static_assert(sizeof(OnHost) >= 8, "OnHost");
static_assert(sizeof(OnBoth) == 4, "OnBoth");



















using std::string;


__global__ void read(const void* data, float* out, OnBoth both) TVMFFI_CUBIN_STUB((static_cast<void (*)(decltype(data), decltype(out), decltype(both))>(&read)), data, out, both)



template <class T>
struct Holder {
  Holder(T value) : value(value) {}
  T value;
};
template <class T>
Holder(T) -> Holder<T>;

size_t run(const void* data, float* out) {
  (::tvmffi_cubin::KernelLaunch(1, 1), read(data, out, OnBoth{1}));
  Holder holder(OnHost{string("x")});
  return holder.value.text.size();
}
