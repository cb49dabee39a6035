#include <cuda_runtime.h>

#include <map>
#include <string>
#include <vector>

enum class Mode : int { kAdd, kMul };
enum { kRows = 4, kCols = 8 };
typedef float Scalar;
using Index = long long;
template <typename T>
using Pointer = T*;

struct Options {
  std::string name;
  std::map<std::string, int> values;
};

struct Params {
  Params() = default;
  Params(const Options& options, Index size) : n(size), title_size(options.name.size()) {}
  __host__ __device__ Index rows() const { return n / kCols; }
  __device__ Index at(Index row) const TVMFFI_CUBIN_DEVICE_ONLY;
  std::vector<Index> shape() const { return {rows(), kCols}; }
  constexpr Index cols() const { return kCols; }
  friend __device__ Index operator+(const Params& params, Index more) TVMFFI_CUBIN_DEVICE_ONLY;

  Index n = 0;
  size_t title_size = 0;
};





























template <Mode kMode>
__global__ void reduce(Params params, Pointer<const Scalar> x, Scalar* out) TVMFFI_CUBIN_STUB((static_cast<void (*)(decltype(params), decltype(x), decltype(out))>(&reduce<kMode>)), params, x, out)





Index run(const Scalar* x, Scalar* out, const Options& options, Mode mode) {
  Params params(options, kRows * kCols);
  switch (mode) {
    case Mode::kAdd: (::tvmffi_cubin::KernelLaunch(1, 1), reduce<Mode::kAdd>(params, x, out)); break;
    case Mode::kMul: (::tvmffi_cubin::KernelLaunch(1, 1), reduce<Mode::kMul>(params, x, out)); break;
  }
  return params.shape()[0];
}
