"""Ways of writing a mixed source that real ones have."""

from __future__ import annotations

import pytest

import tvmffi_cubin as tc
from tvmffi_cubin.cuda.libraries import find_cuda
from tvmffi_cubin.host.forwarders import _shared

SOURCES = {
    "templates and types": """
#include <type_traits>
// Comparisons within template arguments, and within an array's bound.
constexpr int table[2] = {1, 2};
template <int N> struct Numbers { int values[N]; };
template <bool B> struct Is {};
template <int N> __global__ void compared(Numbers<table[N > 1]> x, Is<N == 2>, int* y) {
  *y = x.values[0];
}
template <typename T, int N> struct Storage {
  std::conditional_t<(N < 4), T[N > 0 ? N : 1], T[1]> values;
};
template <int N> __global__ void stored(Storage<float, N> x, float* y) { *y = x.values[0]; }
// A template's member that is called by its arguments alone.
struct Twice { template <class T> __host__ __device__ T of(T x) const { return 2 * x; } };
template <class By> __global__ void scaled(By by, const By* other, int* x) {
  *x = by.template of(*x) + other->template of(*x);
}
// Functions as template arguments.
__device__ float relu(float x) { return x > 0 ? x : 0; }
template <int N> __device__ float times(float x) { return N * x; }
template <float (*F)(float)> __global__ void map(float* x) { *x = F(*x); }
// Members called as their types are.
using Element = float;
struct Params { using Element = Element; Element* x; };
__global__ void membered(Params params) { *params.x = 1; }
// A constructor for the host alone.
struct Divisor {
  __host__ __device__ Divisor() : by(1) {}
  __host__ explicit Divisor(int by) : by(by) {}
  int by;
};
__global__ void divided(int* x, Divisor divisor) { *x /= divisor.by; }
// A name of arrays.
constexpr int kSize = 4;
typedef float Row[kSize];
__global__ void rowed(Row* x) { (*x)[0] = 1; }
// A kernel that is declared with other parameters, too.
__global__ void declared(int* x);
__global__ void declared(int* x, int by) { *x = by; }
void run() {
  compared<2><<<1, 1>>>(Numbers<2>(), Is<true>(), nullptr);
  stored<0><<<1, 1>>>(Storage<float, 0>(), nullptr);
  scaled<Twice><<<1, 1>>>(Twice(), nullptr, nullptr);
  map<relu><<<1, 1>>>(nullptr);
  map<times<3>><<<1, 1>>>(nullptr);
  membered<<<1, 1>>>(Params());
  divided<<<1, 1>>>(nullptr, Divisor(3));
  rowed<<<1, 1>>>(nullptr);
  declared<<<1, 1>>>(nullptr, 1);
}
""",
    "constants of the C library's macros": """
#include <cmath>
#include <cstddef>
struct Pair { int first; double second; };
struct Constants {
  static constexpr size_t kOffset = offsetof(Pair, second);
  static constexpr float kLow = float{-INFINITY};
  static constexpr double kHigh = HUGE_VAL, kNone = NAN;
};
static_assert(Constants::kOffset == 8 && Constants::kLow < 0);
__global__ void k(double* x) { *x = Constants::kLow + Constants::kHigh + Constants::kNone; }
void run() { k<<<1, 1>>>(nullptr); }
""",
    "the C++ library": """
#include <array>
#include <exception>
#include <fstream>
#include <iterator>
#ifdef __cpp_consteval
consteval int one() { return 1; }
#else
constexpr int one() { return 1; }
#endif
__constant__ float weights[5];
__global__ void k(double* x) {
  std::array<float, 3> own = {1, 2, 3};
  for (auto at = std::begin(own); at != std::end(own); ++at) *x += *at;
  for (float weight : weights) *x += weight;
  *x += std::size(own) + std::size(weights) + *std::data(own) + std::empty(weights);
  *x += one();
}
struct Failed : std::exception {
  const char* what() const noexcept override { return "failed"; }
};
void run() {
  std::ofstream file("/dev/null");
  if (!(file << one())) throw Failed();
  k<<<1, 1>>>(nullptr);
}
""",
    "CUDA's headers": """
#include <cooperative_groups.h>
#include <cuda.h>
#include <cuda/atomic>
#include <thrust/random.h>
extern
#line 7 "other.h"
"C" { void other(); }
namespace cg = ::cooperative_groups;
using namespace cg;
struct Maps { CUtensorMap maps[2]; };
__global__ void mapped(const __grid_constant__ CUtensorMap map, const __grid_constant__ Maps maps) {
}
__global__ void grouped(int* x, unsigned by) {
  register auto warp = tiled_partition<32>(this_thread_block());
  x[threadIdx.x] = by + cg::binary_partition(warp, threadIdx.x % 3 == 0).size();
}
#if CUDART_VERSION >= 13000  // whose wheels have all of mma.h
#include <mma.h>
using namespace nvcuda;
__global__ void multiplied(const half* x, float* y) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> b;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
  wmma::fill_fragment(c, 0.0f);
  wmma::load_matrix_sync(a, x, 16);
  wmma::load_matrix_sync(b, x, 16);
  wmma::mma_sync(c, a, b, c);
  wmma::store_matrix_sync(y, c, 16, wmma::mem_row_major);
}
#else
__global__ void multiplied(const void* x, float* y) {}
#endif
void run() {
  thrust::minstd_rand random;
  mapped<<<1, 1>>>(CUtensorMap(), Maps());
  grouped<<<1, 32>>>(nullptr, random());
  multiplied<<<1, 32>>>(nullptr, nullptr);
}
""",
    "a device variable of functions, and no kernel": """
typedef float (*Callback)(void*);
__device__ float one(void*) { return 1; }
__device__ Callback callback = one;
void run() {
  Callback own;
  cudaMemcpyFromSymbol(&own, callback, sizeof(own));
}
""",
    "a class of the host's with code for the device": """
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>
struct Base {
  virtual ~Base() = default;
  virtual std::string name() const = 0;
  std::shared_ptr<int> counts;
};
class Layer : public Base {
 public:
  struct Scale {
    float by;
    __device__ float operator()(float x) const { return by * x; }
  };
  static constexpr int kBlock = 32;
  __host__ __device__ static int rounded(int n) { return n / kBlock * kBlock; }
  explicit Layer(std::string name) : name_(std::move(name)), sizes_(1, 32) {}
  std::string name() const override { return name_; }
  void run();

 private:
  using Strings = std::vector<std::string>;
  std::string name_ = "layer";
  std::vector<int> sizes_;
  std::map<std::string, Strings> more_;
  Strings strings_;
  std::unique_ptr<float[]> kept_;
  std::function<void(int)> callback_;
};
template <typename T>
struct Net {
  using Element = T;
  std::vector<T> weights;
  T* data;
};
template <typename F, typename N>
__global__ void k(typename N::Element* x, F f) {
  if (threadIdx.x < Layer::rounded(40)) *x = f(*x);
}
__device__ float scaled(Layer::Scale s) { return s(1); }
__global__ void scale(float* x, Layer::Scale s) { *x = scaled(s); }
void Layer::run() {
  k<Scale, Net<float>><<<1, kBlock>>>(nullptr, Scale{2});
  scale<<<1, 1>>>(nullptr, Scale{2});
}
void run() { Layer("a").run(); }
""",
}


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES.keys())
def test_a_source_as_people_write_it_is_built(source, monkeypatch):
    monkeypatch.delenv("TVMFFI_CUBIN_CUDART")
    tc.build_inline("written", source, functions=["run"], arch="sm_90")


def test_cudas_own_runtime_is_linked_and_called(monkeypatch, caplog):
    monkeypatch.delenv("TVMFFI_CUBIN_CUDART")
    _shared.cache_clear()
    source = """
__global__ void k() {}
int run(bool launches) {
  int version = 0;
  if (launches) k<<<1, 1>>>();
  return cudaRuntimeGetVersion(&version) == cudaSuccess ? version : 0;
}"""
    for name in ("one", "two"):
        mod = tc.load_inline(name, source, functions=["run"], arch="sm_90")
        assert mod.run(False) // 1000 == find_cuda().major
    # The oldest wheels have no other.
    has_static = find_cuda().require("cudart").with_name("libcudart_static.a").exists()
    said = [x for x in caplog.messages if "no static CUDA runtime beside" in x]
    assert len(said) == (0 if has_static else 1)
