#include <cuda_runtime.h>

#include <string>

namespace lib {
struct Shape;
__global__ void declared(float* x);
namespace detail {
constexpr int kThreads = 64;

}  // namespace detail
struct Shape {
  int rows, cols;
};
// Members called as what they are made of.
struct Image {
  using Shape = ::lib::Shape;
  Shape size;
};
struct Tile {
  ::lib::Shape Shape;
};
}  // namespace lib

namespace {
__global__ void hidden(float* x, lib::Tile tile) TVMFFI_CUBIN_STUB((static_cast<void (*)(decltype(x), decltype(tile))>(&hidden)), x, tile)


std::string title(const lib::Shape& shape) { return std::to_string(shape.rows); }
}  // namespace


namespace text = std;

__global__ void lib::declared(float* x) TVMFFI_CUBIN_STUB((static_cast<void (*)(decltype(x))>(&declared)), x)

namespace a::b {
// A parameter that hides its kernel.
static __global__ void offset(float* x, float offset) TVMFFI_CUBIN_STUB((static_cast<void (*)(decltype(x), decltype(offset))>(&::a::b::offset)), x, offset)
}  // namespace a::b

using namespace lib;
using a::b::offset;

int run(float* x) {
  text::string shown = title(Shape{1, 2});
  (::tvmffi_cubin::KernelLaunch(1, detail::kThreads), declared(x));
  (::tvmffi_cubin::KernelLaunch(1, 32), hidden(x, Tile{Image::Shape{8, 8}}));
  (::tvmffi_cubin::KernelLaunch(1, 32), a::b::offset(x, 1.0f));
  (::tvmffi_cubin::KernelLaunch(1, 1), ::lib::declared(x));
  return static_cast<int>(shown.size());
}
