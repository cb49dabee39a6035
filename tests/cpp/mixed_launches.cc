// The host text of a mixed source as a build writes it; mixed_kernels.cu is its device text.
#include <cuda_runtime.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/function.h>
#include <tvmffi_cubin/mixed/mixed.h>
// Users' texts begin here.
#include <tvmffi_cubin/mixed/qualifiers.h>
TVMFFI_CUBIN_MIXED_UNIT(mixed_launches)

#include <cuda_fp16.h>

#include <stdexcept>
#include <thread>
#include <vector>

#ifndef __CUDACC__
#error "the text is not told that it is CUDA's"
#endif

// clang-format off
struct Base { int base; };
struct Derived : Base { int own; };
struct Pair {
  float a;
  int b;
  __host__ __device__ Pair(int b_) : a(0.5f), b(b_) {}
};
enum class Mode : short { kFirst = 1, kSecond };

template <typename T, int N>
__global__ void scale(T* x, float factor, int n = 7) TVMFFI_CUBIN_STUB((static_cast<void (*)(decltype(x), decltype(factor), decltype(n))>(&scale<T, N>)), x, factor, n)
template <>
__global__ void scale<double, 9>(double* x, float factor, int n) TVMFFI_CUBIN_STUB((static_cast<void (*)(decltype(x), decltype(factor), decltype(n))>(&scale<double, 9>)), x, factor, n)

namespace shapes {
__global__ void by_value(Pair pair, char letter, double number, Mode mode) TVMFFI_CUBIN_STUB((static_cast<void (*)(decltype(pair), decltype(letter), decltype(number), decltype(mode))>(&by_value)), pair, letter, number, mode)
namespace {
__global__ void hidden(const Base* base, long count) TVMFFI_CUBIN_STUB((static_cast<void (*)(decltype(base), decltype(count))>(&hidden)), base, count)
}
__device__ int counter = 5;
}

static __global__ void nothing() TVMFFI_CUBIN_STUB((static_cast<void (*)()>(&nothing)))
extern "C" __global__ void plain(float value, unsigned char flag) TVMFFI_CUBIN_STUB((static_cast<void (*)(decltype(value), decltype(flag))>(&plain)), value, flag)

template <typename... Ts>
__global__ void pack(int first, Ts... rest) TVMFFI_CUBIN_STUB((static_cast<void (*)(decltype(first), decltype(rest)...)>(&pack<Ts...>)), first, rest...)

template <typename T>
__global__ void typed(T value) TVMFFI_CUBIN_STUB((static_cast<void (*)(decltype(value))>(&typed<T>)), value)

template <>
__global__ void typed<int64_t>(int64_t value) TVMFFI_CUBIN_STUB((static_cast<void (*)(decltype(value))>(&typed<int64_t>)), value)
__global__ void counted(int64_t first, uint64_t* second) TVMFFI_CUBIN_STUB((static_cast<void (*)(decltype(first), decltype(second))>(&counted)), first, second)
__global__ void counted(long long first, unsigned long long* second) TVMFFI_CUBIN_STUB((static_cast<void (*)(decltype(first), decltype(second))>(&counted)), first, second)

__global__ void overloaded(int value) TVMFFI_CUBIN_STUB((static_cast<void (*)(decltype(value))>(&overloaded)), value)
__global__ void overloaded(float value) TVMFFI_CUBIN_STUB((static_cast<void (*)(decltype(value))>(&overloaded)), value)

__global__ void __launch_bounds__(128) shared(float* out) TVMFFI_CUBIN_STUB((static_cast<void (*)(decltype(out))>(&shared)), out)
__global__ void halves(__half value) TVMFFI_CUBIN_STUB((static_cast<void (*)(decltype(value))>(&halves)), value)

struct Torn {
#ifdef __CUDA_ARCH__
  int shorter;
#else
  long longer;
#endif
};
__global__ void torn(int first, Torn second) TVMFFI_CUBIN_STUB((static_cast<void (*)(decltype(first), decltype(second))>(&torn)), first, second)

__constant__ float weights[4] = {1, 2, 3, 4};
// clang-format on

namespace {

using tvm::ffi::TensorView;
using tvmffi_cubin::KernelLaunch;

// A stream of one's own, as at::cuda::CUDAStream is: it converts, and cannot be copied here.
class OwnStream {
 public:
  explicit OwnStream(int64_t number) : stream_(reinterpret_cast<cudaStream_t>(number)) {}
  OwnStream(const OwnStream&) = delete;
  operator cudaStream_t() const { return stream_; }

 private:
  cudaStream_t stream_;
};

struct Limits {
  static const int kThreads = 96;
};
enum Sizes { kSmall = 12 };

void Conversions(TensorView x) {
  float* data = static_cast<float*>(x.data_ptr());
  Derived derived{};
  (KernelLaunch(1, 32), scale<float, 4>(data, 3));
  (KernelLaunch(1, 32), scale<double, 9>(nullptr, true, 'A'));
  (KernelLaunch(1, 32), shapes::by_value(3, 65, 2, Mode::kSecond));
  (KernelLaunch(1, 32), shapes::hidden(&derived, 5));
  (KernelLaunch(1, 32), nothing());
  (KernelLaunch(1, 32), plain(1, -1));
  (KernelLaunch(1, 32), pack(1, 2.5, 'c', 3.5f));
  (KernelLaunch(1, 32), halves(1.5f));
  (KernelLaunch(1, 32), overloaded(2));
  (KernelLaunch(1, 32), overloaded(2.f));
}

void Operands(int64_t number, int64_t n) {
  const dim3 grid(2, 3, 4);
  const unsigned short threads = 64;
  OwnStream own(number);
  (KernelLaunch(grid, Limits::kThreads), nothing());
  (KernelLaunch({2, n}, {n, 2, 1}, kSmall, own), nothing());
  (KernelLaunch(ceil(n / 2.0), threads, sizeof(double) * n, reinterpret_cast<void*>(number)),
   nothing());
  (KernelLaunch(uint3{1, 2, 3}, tvmffi_cubin::Dim3(5), 0, 0), nothing());
  (KernelLaunch(n, 1, n, reinterpret_cast<CUstream>(number)), nothing());
  (KernelLaunch(max(n, int64_t{1}), min(n, int64_t{100}), 0, NULL), nothing());
}

void OnStream(int64_t number) {
  (KernelLaunch(1, 1, 100 * 1024, OwnStream(number)), shared(nullptr));
}

int64_t Nested(int64_t depth) {
  if (depth > 0) (KernelLaunch(depth, 1), plain(Nested(depth - 1), 0));
  return depth;
}

void NestedInOne() {
  (KernelLaunch(2, 2), overloaded(((KernelLaunch(3, 3), nothing()), 7)));
}

void ByPointer(bool first) {
  void (*chosen)(float*, float, int) = first ? scale<float, 1> : scale<float, 2>;
  (KernelLaunch(1, 1), chosen(nullptr, 1, 1));
  const auto launch = [](auto kernel, auto... args) { (KernelLaunch(1, 2), kernel(args...)); };
  launch(typed<short>, 3);
}

void ArgumentThrows() {
  const auto fail = []() -> int { throw std::runtime_error("an argument's own"); };
  try {
    (KernelLaunch(5, 5), overloaded(fail()));
  } catch (const std::runtime_error&) {
  }
  (KernelLaunch(1, 1), nothing());
}

void Threads(int count, int times) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([i, times] {
      for (int j = 0; j < times; ++j) (KernelLaunch(i + 1, 1), typed(i));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

int Integers() {
  (KernelLaunch(1, 1), typed(int64_t{1}));
  (KernelLaunch(1, 1), typed(2LL));
  (KernelLaunch(1, 1), typed(uint64_t{3}));
  (KernelLaunch(1, 1), counted(4, static_cast<uint64_t*>(nullptr)));
  (KernelLaunch(1, 1), counted(5, static_cast<unsigned long long*>(nullptr)));
  return 0;
}

int64_t Bad(int64_t grid, int64_t block, int64_t bytes) {
  (KernelLaunch(grid, block, bytes), shared(nullptr));
  return 17;
}

int64_t Taken(int64_t grid) {
  (KernelLaunch(grid, 1), shared(nullptr));
  const int64_t peeked = cudaPeekAtLastError();
  return peeked * 1000 + cudaGetLastError() * 10 + cudaGetLastError();
}

void OwnException(int64_t grid) {
  (KernelLaunch(grid, 1), shared(nullptr));
  TVM_FFI_THROW(ValueError) << "the function's own";
}

void CheckedBoth(tvm::ffi::Function inner, int64_t grid) {
  (KernelLaunch(1, 1), nothing());
  inner(grid, 1, 0);
}

tvm::ffi::Tensor Returned(tvm::ffi::Tensor x, int64_t grid) {
  (KernelLaunch(grid, 1), nothing());
  return x;
}

tvm::ffi::Array<int64_t> MakesArray(int64_t grid) {
  (KernelLaunch(grid, 1), nothing());
  return {1, 2, 3};
}

void NoKernel() { (KernelLaunch(1, 1), Integers()); }
void LaunchTorn() { (KernelLaunch(1, 1), torn(1, Torn{})); }
void Unconfigured() { nothing(); }

int64_t LastError() { return cudaPeekAtLastError(); }
int64_t LeaveError() {
  cudaMalloc(nullptr, 1);
  return cudaPeekAtLastError();
}

// What runtime calls make of addresses; each step's answer by its number.
int64_t Addresses(int step, TensorView x, int64_t stream) {
  float* data = static_cast<float*>(x.data_ptr());
  float factor = 2;
  int n = 3;
  void* args[] = {&data, &factor, &n};
  const auto number = reinterpret_cast<cudaStream_t>(stream);
  cudaFuncAttributes attributes{};
  cudaLaunchConfig_t config{};
  config.gridDim = 2;
  config.blockDim = 64;
  config.stream = number;
  int blocks = 0, threads = 0;
  size_t bytes = 0;
  const char* name = nullptr;
  cudaKernel_t kernel = nullptr;
  cudaFunction_t function = nullptr;
  cudaGraphNode_t added = nullptr;
  cudaKernelNodeParams node{};
  node.gridDim = node.blockDim = 2;
  node.kernelParams = args;
  constexpr auto kSmem = cudaFuncAttributeMaxDynamicSharedMemorySize;
  switch (step) {
    case 0:
      return cudaLaunchKernel(scale<float, 3>, 2, dim3(64), args, 100, number);
    case 1:
      return cudaLaunchKernel((const void*)scale<float, 3>, 2, 64, args, 0, number);
    case 2:
      return cudaLaunchCooperativeKernel(scale<float, 3>, 2, 64, args, 0, number);
    case 3:
      return cudaLaunchKernelEx(&config, scale<float, 3>, data, 2, short{3});
    case 4:
      return cudaLaunchKernelExC(&config, (void*)scale<float, 3>, args);
    case 5:
      return cudaFuncSetAttribute(shared, kSmem, 100 * 1024);
    case 6:
      return cudaFuncSetAttribute((const void*)&shared, kSmem, 1 << 20);
    case 7:
      return cudaFuncGetAttributes(&attributes, shared) * 10000 + attributes.maxThreadsPerBlock;
    case 8:
      return cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, shared, 128, 0) * 100 + blocks;
    case 9:
      cudaOccupancyMaxPotentialBlockSize(&blocks, &threads, shared);
      return threads;
    case 10:
      return cudaOccupancyMaxPotentialBlockSizeVariableSMem(&blocks, &threads, shared,
                                                            [](int t) { return t * 4; }) * 10000 +
             threads;
    case 11:
      return cudaOccupancyMaxActiveClusters(&blocks, shared, &config);
    case 12:
      return cudaOccupancyMaxPotentialClusterSize(&blocks, shared, &config) * 100 + blocks;
    case 13:
      return cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, shared, 2, 128) * 1000000 + bytes;
    case 14:
      return cudaFuncSetCacheConfig(shared, cudaFuncCachePreferShared);
    case 15:
      return cudaFuncGetName(&name, (const void*)plain) * 10 + (strcmp(name, "plain") == 0);
    case 16:
      if (cudaGetKernel(&kernel, (const void*)scale<float, 3>) != cudaSuccess) return -1;
      return cudaLaunchKernel((const void*)kernel, 2, 64, args, 0, number);
    case 17:
      return cudaGetFuncBySymbol(&function, (const void*)plain) * 10 + (function != nullptr);
    case 18:  // no kernel: a function, a variable, nothing
      return cudaLaunchKernel((const void*)&LastError, 1, 1, args, 0, number);
    case 19:
      return cudaFuncSetAttribute((const void*)&weights, kSmem, 1);
    case 20:
      return cudaFuncGetAttributes(&attributes, (const void*)nullptr);
    case 21:
      node.func = (void*)scale<float, 3>;
      return cudaGraphAddKernelNode(&added, reinterpret_cast<cudaGraph_t>(8), nullptr, 0, &node);
    case 22:
      node.func = (void*)shared;
      return cudaGraphKernelNodeSetParams(reinterpret_cast<cudaGraphNode_t>(8), &node) +
             cudaGraphExecKernelNodeSetParams(reinterpret_cast<cudaGraphExec_t>(8),
                                              reinterpret_cast<cudaGraphNode_t>(8), &node);
    case 23:
      node.func = (void*)&LastError;
      return cudaGraphAddKernelNode(&added, reinterpret_cast<cudaGraph_t>(8), nullptr, 0, &node);
    default:
      return -1;
  }
}

int64_t Symbols(int step, TensorView x) {
  float* host = static_cast<float*>(x.data_ptr());
  float* address = nullptr;
  size_t size = 0;
  int count = 0;
  switch (step) {
    case 0:
      return cudaMemcpyToSymbol(weights, host, 3 * sizeof(float), sizeof(float));
    case 1:
      return cudaMemcpyFromSymbol(host, weights, sizeof(weights));
    case 2:
      return cudaMemcpyFromSymbol(&count, shapes::counter, sizeof(int)) * 100 + count;
    case 3:
      return cudaGetSymbolSize(&size, weights) * 100 + size;
    case 4:
      if (cudaGetSymbolAddress((void**)&address, weights) != cudaSuccess) return -1;
      return cudaMemcpy(host, address, 4, cudaMemcpyDeviceToHost);
    case 5:
      return cudaMemcpyToSymbolAsync(weights, host, 16, 0, cudaMemcpyHostToDevice, 0);
    case 6:
      return cudaMemcpyFromSymbolAsync(host, (const void*)weights, 4, 12, cudaMemcpyDefault, 0);
    case 7:  // beyond the end, a wrong direction, no symbol
      return cudaMemcpyToSymbol(weights, host, 16, 4);
    case 8:
      return cudaMemcpyToSymbol(weights, host, 4, 0, cudaMemcpyDeviceToHost);
    case 9:
      return cudaGetSymbolSize(&size, host);
    default:
      return -1;
  }
}

// What such code calls beside; each step's answer by its number.
int64_t Beside(int step, TensorView x, int64_t stream) {
  char* data = static_cast<char*>(x.data_ptr());
  const auto number = reinterpret_cast<cudaStream_t>(stream);
  int value = 0, other = 0;
  float elapsed = 0;
  cudaDeviceProp properties{};
  cudaPointerAttributes pointer{};
  cudaStreamCaptureStatus status{};
  cudaEvent_t start, end;
  switch (step) {
    case 0:
      return cudaMemcpy2D(data + 16, 8, data, 4, 4, 3, cudaMemcpyDeviceToDevice);
    case 1:
      return cudaMemcpy2DAsync(data + 16, 8, data, 4, 4, 3, cudaMemcpyDefault, number);
    case 2:  // a row that is longer than what it is in
      return cudaMemcpy2D(data, 4, data, 8, 6, 1, cudaMemcpyDefault);
    case 3:
      return cudaMemcpyPeerAsync(data + 16, 1, data, 0, 16, number) * 10 +
             cudaMemcpyPeer(data + 32, 0, data, 1, 16);
    case 4:
      return cudaGetDeviceProperties(&properties, 0) * 1000000 + properties.multiProcessorCount * 1000 +
             properties.major * 10 + properties.minor;
    case 5:
      return cudaPointerGetAttributes(&pointer, data) * 100 + pointer.type * 10 + pointer.device;
    case 6:
      return cudaPointerGetAttributes(&pointer, &value) * 100 + pointer.type * 10 +
             (pointer.device == cudaInvalidDeviceId && pointer.hostPointer == &value);
    case 7:
      return cudaStreamIsCapturing(number, &status) * 10 + status;
    case 8:
      return cudaDeviceGetStreamPriorityRange(&value, &other) * 100 + value - other;
    case 9:
      if (cudaEventCreate(&start) || cudaEventCreate(&end)) return -1;
      if (cudaEventRecord(start, number) || cudaEventRecordWithFlags(end, number, 0)) return -2;
      if (cudaEventSynchronize(end) || cudaEventElapsedTime(&elapsed, start, end)) return -3;
      return cudaEventDestroy(start) + cudaEventDestroy(end) + (elapsed > 0);
    case 10:
      if (cudaLaunchHostFunc(number, [](void* told) { *static_cast<int*>(told) = 9; }, &value)) {
        return -1;
      }
      return value;
#if CUDART_VERSION >= 12080
    case 11:
      return cudaStreamGetDevice(number, &value) * 10 + value;
#endif
    default:
      return -1;
  }
}

}  // namespace

namespace exported {
template <typename T>
T Twice(T value) {
  (KernelLaunch(1, 1), typed(value));
  return 2 * value;
}
TVM_FFI_DLL_EXPORT_TYPED_FUNC(twice, Twice<int64_t>);
}  // namespace exported

const auto kLambda = [](int64_t value) { return value + 1; };

TVM_FFI_DLL_EXPORT_TYPED_FUNC(conversions, Conversions);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(operands, Operands);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(on_stream, OnStream);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(nested, Nested);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(nested_in_one, NestedInOne);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(by_pointer, ByPointer);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(argument_throws, ArgumentThrows);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(threads, Threads);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(integers, Integers);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(bad, Bad);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(taken, Taken);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(own_exception, OwnException);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(checked_both, CheckedBoth);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(returned, Returned);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(makes_array, MakesArray);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(no_kernel, NoKernel);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(torn_apart, LaunchTorn);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(unconfigured, Unconfigured);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(last_error, LastError);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(leave_error, LeaveError);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(addresses, Addresses);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(symbols, Symbols);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(beside, Beside);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(lambda, kLambda);

TVMFFI_CUBIN_DEVICE_VARIABLE(weights)
TVMFFI_CUBIN_DEVICE_VARIABLE(shapes::counter)
