// What host texts of mixed sources rely on at compile time; there is nothing to run.
#include <tvmffi_cubin/mixed/qualifiers.h>
TVMFFI_CUBIN_MIXED_UNIT(own)

#include <type_traits>

namespace {

using tvmffi_cubin::KernelLaunch;
using tvmffi_cubin::LaunchShape;
using tvmffi_cubin::LaunchStream;
using tvmffi_cubin::Saturated;

// A launch stays in its expression.
static_assert(!std::is_copy_constructible_v<KernelLaunch>);
static_assert(!std::is_move_constructible_v<KernelLaunch>);

// Two to four operands, the last of which may be left out.
static_assert(std::is_constructible_v<KernelLaunch, int, int>);
static_assert(std::is_constructible_v<KernelLaunch, dim3, unsigned, size_t, cudaStream_t>);
static_assert(!std::is_constructible_v<KernelLaunch, int>);

// Numbers of any type, as they are where they fit; the largest, which nothing allows, elsewhere.
constexpr uint32_t kMost = UINT32_MAX;
static_assert(Saturated(7) == 7 && Saturated(7.9) == 7 && Saturated(true) == 1);
static_assert(Saturated(-1) == kMost && Saturated(int64_t{-4294967295}) == kMost);
static_assert(Saturated(int64_t{1} << 32) == kMost && Saturated(uint64_t{5} << 32) == kMost);
static_assert(Saturated(-0.5) == 0 && Saturated(-1.0) == kMost && Saturated(1e30f) == kMost);
static_assert(Saturated(0.0 / 1.0) == 0 && Saturated(__builtin_nan("")) == kMost);
enum class Scoped : short { kThree = 3, kMinus = -3 };
static_assert(Saturated(Scoped::kThree) == 3 && Saturated(Scoped::kMinus) == kMost);

static_assert(LaunchShape(dim3(1, 2, 3)).size.z == 3);
static_assert(LaunchShape(uint3{4, 5, 6}).size.y == 5);
static_assert(LaunchShape(tvmffi_cubin::Dim3(8)).size.x == 8);
static_assert(LaunchShape(2, 3L).size.y == 3 && LaunchShape(2, 3L).size.z == 1);
struct Shape {
  constexpr operator dim3() const { return dim3(9, 1, 1); }
};
static_assert(LaunchShape(Shape()).size.x == 9);

// A stream or what is one; no number but the literal 0, which is a null pointer.
struct Stream {
  Stream(const Stream&) = delete;
  operator cudaStream_t() const;
};
static_assert(std::is_constructible_v<LaunchStream, Stream>);
static_assert(std::is_constructible_v<LaunchStream, void*>);
static_assert(std::is_constructible_v<LaunchStream, std::nullptr_t>);
static_assert(!std::is_constructible_v<LaunchStream, int>);

// As nvcc's own headers have them, for two types as well.
static_assert(min(1, 2u) == 1 && max(2L, 3L) == 3 && min(1.5f, 1.0) == 1.0 && max(1, -1) == 1);

// Qualifiers leave a declaration as it is.
__device__ __forceinline__ int Twice(int x) { return 2 * x; }
__host__ __device__ __noinline__ int Thrice(int x) { return 3 * x; }
static __constant__ __align__(16) const int kTable[2] = {1, 2};
__global__ __launch_bounds__(128, 2) void Kernel(const __grid_constant__ int x)
    TVMFFI_CUBIN_STUB((static_cast<void (*)(decltype(x))>(&Kernel)), x)
static_assert(std::is_same_v<decltype(&Kernel), void (*)(int)> && alignof(decltype(kTable)) == 4);

}  // namespace

int Use() {
  (KernelLaunch(1, 1), Kernel(1));
  return Twice(1) + Thrice(kTable[0]);
}
