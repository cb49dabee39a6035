#include <cuda_runtime.h>

#include <string>

namespace lib {
struct Shape;
__global__ void declared(float* x);
namespace detail {
constexpr int kThreads = 64;
__device__ __forceinline__ float twice(float x) { return 2 * x; }
}  // namespace detail
struct Shape {
  int rows, cols;
};
// Members called as what they are made of.
struct Image {
  using Shape = Shape;
  Shape size;
};
struct Tile {
  Shape Shape;
};
}  // namespace lib

namespace {
__global__ void hidden(float* x, lib::Tile tile) {
  if (threadIdx.x < tile.Shape.rows) x[threadIdx.x] = lib::detail::twice(x[threadIdx.x]);
}
std::string title(const lib::Shape& shape) { return std::to_string(shape.rows); }
}  // namespace

namespace short_name = lib::detail;
namespace text = std;

__global__ void lib::declared(float* x) { x[threadIdx.x] += short_name::kThreads; }

namespace a::b {
// A parameter that hides its kernel.
static __global__ void offset(float* x, float offset) { x[threadIdx.x] += offset; }
}  // namespace a::b

using namespace lib;
using a::b::offset;

int run(float* x) {
  text::string shown = title(Shape{1, 2});
  declared<<<1, detail::kThreads>>>(x);
  hidden<<<1, 32>>>(x, Tile{Image::Shape{8, 8}});
  a::b::offset<<<1, 32>>>(x, 1.0f);
  ::lib::declared<<<1, 1>>>(x);
  return static_cast<int>(shown.size());
}
