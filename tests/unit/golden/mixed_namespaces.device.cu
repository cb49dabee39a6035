#include <cuda_runtime.h>



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




struct Tile {
  Shape Shape;
};
}  // namespace lib

namespace {
__global__ void hidden(float* x, lib::Tile tile) {
  if (threadIdx.x < tile.Shape.rows) x[threadIdx.x] = lib::detail::twice(x[threadIdx.x]);
}

}  // namespace

namespace short_name = lib::detail;


__global__ void lib::declared(float* x) { x[threadIdx.x] += short_name::kThreads; }

namespace a::b {
// A parameter that hides its kernel.
static __global__ void offset(float* x, float offset) { x[threadIdx.x] += offset; }
}  // namespace a::b

using namespace lib;
using a::b::offset;









