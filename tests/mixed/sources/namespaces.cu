// Kernels of one name in several namespaces: nested, inline, unnamed, static, by alias and using.
namespace kernels {
__device__ float unit() { return 1.f; }

__global__ void add(float* x, int n) {
  if (threadIdx.x < n) x[threadIdx.x] += unit();
}

namespace detail {
__device__ float unit() { return 10.f; }
__global__ void add(float* x, int n) {
  if (threadIdx.x < n) x[threadIdx.x] += unit();
}
template <typename T>
__global__ void add_typed(T* x, int n) {
  if (threadIdx.x < n) x[threadIdx.x] += T(100);
}
}  // namespace detail

inline namespace v2 {
__global__ void add_versioned(float* x, int n) {
  if (threadIdx.x < n) x[threadIdx.x] += 1000.f;
}
}  // namespace v2

namespace deep::deeper {
static __global__ void add(float* x, int n) {
  if (threadIdx.x < n) x[threadIdx.x] += 10000.f;
}
}  // namespace deep::deeper
}  // namespace kernels

namespace {
__device__ float unit() { return 100000.f; }
__global__ void add_unnamed(float* x, int n) {
  if (threadIdx.x < n) x[threadIdx.x] += unit();
}
struct Local {
  float by;
};
template <typename L>
__global__ void add_local(float* x, L local, int n) {
  if (threadIdx.x < n) x[threadIdx.x] += local.by;
}
}  // namespace

static __global__ void add_static(float* x, int n) {
  if (threadIdx.x < n) x[threadIdx.x] += 1000000.f;
}

namespace inner = kernels::deep::deeper;

namespace kernels::host {
void everything(tvm::ffi::TensorView x) {
  using detail::add_typed;
  auto* p = static_cast<float*>(x.data_ptr());
  int n = static_cast<int>(x.size(0));
  auto s = (cudaStream_t)TVMFFIEnvGetStream(x.device().device_type, x.device().device_id);
  add<<<1, n, 0, s>>>(p, n);  // kernels::add, by lookup
  detail::add<<<1, n, 0, s>>>(p, n);
  add_typed<float><<<1, n, 0, s>>>(p, n);
  kernels::add_versioned<<<1, n, 0, s>>>(p, n);
  inner::add<<<1, n, 0, s>>>(p, n);
  ::add_unnamed<<<1, n, 0, s>>>(p, n);
  add_static<<<1, n, 0, s>>>(p, n);
  add_local<<<1, n, 0, s>>>(p, Local{0.5f}, n);
}
}  // namespace kernels::host

void everything(tvm::ffi::TensorView x) { kernels::host::everything(x); }
