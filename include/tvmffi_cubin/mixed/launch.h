// What the host code of a mixed source calls: kernel stubs, launches, exports, throws.
//
// runtime.cc defines what is declared here; it is compiled once.
#pragma once

#include <driver_types.h>
#include <stdint.h>
#include <tvm/ffi/c_api.h>
#include <vector_types.h>

#include <typeinfo>
#include <utility>

#include "../core/text.h"
#include "layout.h"

#ifdef TVMFFI_CUBIN_EXPORTS
#include <tvm/ffi/error.h>
// tvm-ffi before 0.1.15 calls the namespace details.
#if __has_include(<tvm/ffi/function_details.h>)
namespace tvm::ffi::details {}
namespace tvm::ffi::detail {
using namespace details;
}
#endif
#endif

extern "C" {
// The runtime's launch calls are interposed, to append bound parameters and note rejections. This
// precedes cuda_runtime_api.h, because a function's first declaration fixes its symbol.
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define TVMFFI_CUBIN_OURS(name, ...) \
  cudaError_t name##_ptsz(__VA_ARGS__) __asm__("tvmffi_cubin_" #name "_ptsz");
#else
#define TVMFFI_CUBIN_OURS(name, ...) cudaError_t name(__VA_ARGS__) __asm__("tvmffi_cubin_" #name);
#endif
#define TVMFFI_CUBIN_LAUNCHES(declare)                                                            \
  declare(cudaLaunchKernel, const void*, dim3, dim3, void**, size_t, cudaStream_t)                \
      declare(cudaLaunchCooperativeKernel, const void*, dim3, dim3, void**, size_t, cudaStream_t) \
          declare(cudaLaunchKernelExC, const cudaLaunchConfig_t*, const void*, void**)
TVMFFI_CUBIN_LAUNCHES(TVMFFI_CUBIN_OURS)
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t smem, struct CUstream_st*);
}

TVMFFI_CUBIN_BEGIN

// The image of a unit, and the symbols in it for the unit's types; the build writes it.
struct MixedTable {
  struct Row {
    const char* type;
    const char* symbol;
  };
  void* image;  // for __cudaRegisterFatBinary; null if there is none
  const Row* rows;
  uint64_t num_rows;
};

// A kernel or variable in the host code, listed before the user's own initializers run.
struct MixedNode {
  const volatile void* address;
  const char* type;
  size_t size;     // of a variable
  int num_params;  // of a kernel
  const MixedTable* table;
  const char* symbol = nullptr;  // in the image, once registered
  static inline MixedNode* all = nullptr;
  MixedNode* next = std::exchange(all, this);
};

// Registers the contents of a unit's image until the process ends.
struct Registration {
  explicit Registration(const MixedTable* table);
  ~Registration();
  void** handle = nullptr;
};

// The source location of the thread's last `<<<...>>>`.
struct LaunchPlace {
  const char* file;
  int line;
};
inline thread_local LaunchPlace launch_place = {nullptr, 0};

// What `<<<...>>>` becomes, before the call of the kernel's stub.
inline unsigned Configure(dim3 grid, dim3 block, size_t smem = 0, cudaStream_t stream = nullptr,
                          const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  launch_place = {file, line};
  return __cudaPushCallConfiguration(grid, block, smem, stream);
}

// Launches a kernel with the thread's pending `<<<...>>>` configuration.
void LaunchConfigured(const void* kernel, void** args);

// Whether a launch of this thread was rejected and no exported function has reported it.
inline thread_local bool has_refusal = false;

// Ends an exported function with such a launch; drops its result.
int EndRefused(TVMFFIAny* result);
// Ends one that throws; call it from the catch block.
int EndThrown();

#ifdef TVMFFI_CUBIN_EXPORTS
// Throws like TVM_FFI_THROW, whose own code takes half of a small unit's compile time.
struct Thrower : tvm::ffi::detail::ErrorBuilder {
  Thrower(const char* kind, const TVMFFIByteArray* backtrace, bool is_logged);
  [[noreturn]] ~Thrower() noexcept(false);
};
#endif

TVMFFI_CUBIN_END
