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
#pragma GCC visibility push(hidden)
#include "layout.h"
#pragma GCC visibility pop
#ifdef TVMFFI_CUBIN_EXPORTS
#include <tvm/ffi/error.h>
#endif

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

// What `<<<...>>>` becomes, before the call of the kernel's stub.
unsigned Configure(dim3 grid, dim3 block, size_t smem = 0, cudaStream_t stream = nullptr,
                   const char* file = __builtin_FILE(), int line = __builtin_LINE());

// Launches a kernel with the thread's pending `<<<...>>>` configuration.
void LaunchConfigured(const void* kernel, void** args);

// Ends an exported function that returns; if a launch was rejected, drops its result.
int EndReturned(TVMFFIAny* result);
// Ends a function that has no such `result`, as tvm-ffi's setters of fields.
inline int EndReturned(...) { return 0; }
namespace no_result {
constexpr const void* result = nullptr;
}
// Ends one that throws; call it from the catch block.
int EndThrown();

#ifdef TVMFFI_CUBIN_EXPORTS
// Throws like TVM_FFI_THROW, whose own code takes a seventh of a small unit's compile time.
struct Thrower {
  const char* kind;
  const TVMFFIByteArray* backtrace;
  std::ostringstream text{};
  [[noreturn]] ~Thrower() noexcept(false);
  std::ostringstream& stream() { return text; }
};
#endif

TVMFFI_CUBIN_END
