// What mixed/launch.h declares: launches of mixed sources over CUDA's runtime. A refused launch is
// thrown by the exported function that made it, unless somebody has asked for the error.
#include "launch.h"

#ifdef TVMFFI_CUBIN_BOUND_PARAMS
// A link with bound parameters wraps these calls, so that code that does not come here is refused.
#define TVMFFI_CUBIN_REAL "__real_"
#else
#define TVMFFI_CUBIN_REAL
#endif
// Before CUDA's header, which has macros of these names.
#define TVMFFI_CUBIN_ORIGINAL(name, ...)                \
  extern "C" cudaError_t tvmffi_cubin_real_##name(__VA_ARGS__) \
      __asm__(TVMFFI_CUBIN_REAL TVMFFI_CUBIN_SYMBOL(name));
TVMFFI_CUBIN_LAUNCHES(TVMFFI_CUBIN_ORIGINAL)

#include <cuda_runtime_api.h>
#include <cxxabi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tvm/ffi/any.h>

#ifdef TVMFFI_CUBIN_BOUND_PARAMS
#include "../launcher/plan.h"
extern "C" __attribute__((visibility("hidden"))) tvmffi_cubin::BoundTable __tvmffi_cubin_bound;
#endif

// Weak: objects of mixed sources that are linked with each other have one each.
#define TVMFFI_CUBIN_ONCE __attribute__((weak, visibility("hidden")))

extern "C" {
void** __cudaRegisterFatBinary(void* wrapper);
void __cudaRegisterFatBinaryEnd(void** handle);
void __cudaUnregisterFatBinary(void** handle);
void __cudaRegisterFunction(void** handle, const char* host, char* device, const char* name,
                            int thread_limit, uint3*, uint3*, dim3*, dim3*, int*);
void __cudaRegisterVar(void** handle, char* host, char* device, const char* name, int is_extern,
                       size_t size, int is_constant, int is_global);
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* smem, void* stream);
}

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

// ---- Registration ----

static const char* FindSymbol(const MixedNode& node) {
  for (uint64_t i = 0; i < node.table->num_rows; ++i) {
    const MixedRow& row = node.table->rows[i];
    if (strcmp(row.name, node.name) == 0) return row.symbol;
  }
  return nullptr;
}

TVMFFI_CUBIN_ONCE Registration::Registration(const MixedTable* table) {
  if (table->image == nullptr) return;
  handle_ = __cudaRegisterFatBinary(table->image);
  for (const MixedNode* node = mixed_nodes; node != nullptr; node = node->next) {
    const char* symbol = node->table == table ? FindSymbol(*node) : nullptr;
    if (symbol == nullptr) continue;
    char* const name = const_cast<char*>(symbol);
    char* const address = static_cast<char*>(const_cast<void*>(node->address));
    if (node->size == 0) {
      __cudaRegisterFunction(handle_, address, name, symbol, -1, nullptr, nullptr, nullptr, nullptr,
                             nullptr);
    } else {
      __cudaRegisterVar(handle_, address, name, symbol, 0, node->size, 0, 0);
    }
  }
  __cudaRegisterFatBinaryEnd(handle_);
}

TVMFFI_CUBIN_ONCE Registration::~Registration() {
  if (handle_ != nullptr) __cudaUnregisterFatBinary(handle_);
}

// ---- Refused launches ----

/*! \brief The thread's first refused launch since an exported function has told one. */
struct Refusal {
  bool is_limit = false;
  cudaError_t error = cudaSuccess;  // what the runtime has noted of it, if anything
  char text[2048] = "";
};
inline thread_local Refusal refusal;

static const MixedNode* FindNode(const void* kernel) {
  const MixedNode* node = mixed_nodes;
  while (node != nullptr && node->address != kernel) node = node->next;
  return node;
}

__attribute__((format(printf, 4, 5))) static void Note(cudaError_t error, bool is_limit,
                                                       const void* kernel, const char* format,
                                                       ...) {
  if (has_refusal) {
    refusal.error = error;
    return;
  }
  const MixedNode* node = FindNode(kernel);
  const char* symbol = node == nullptr ? nullptr : FindSymbol(*node);
  char* name = symbol == nullptr ? nullptr : abi::__cxa_demangle(symbol, nullptr, nullptr, nullptr);
  const char* said = name != nullptr ? name : symbol != nullptr ? symbol : "a kernel";
  if (strncmp(said, "void ", 5) == 0) said += 5;
  has_refusal = true;
  refusal.error = error;
  refusal.is_limit = is_limit;
  char* const end = refusal.text + sizeof(refusal.text);
  char* at = refusal.text;
  if (launch_place.file != nullptr) {
    at += snprintf(at, 600, "%.500s:%d: ", launch_place.file, launch_place.line);
  }
  at += snprintf(at, 700, "launch of %.600s: ", said);
  free(name);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(at, static_cast<size_t>(end - at), format, arguments);
  va_end(arguments);
}

/*! \brief Notes a launch that the runtime has refused. */
__attribute__((noinline, cold)) static cudaError_t NoteLaunch(cudaError_t error, const void* kernel,
                                                              dim3 grid, dim3 block, size_t smem) {
  cudaFuncAttributes allowed{};
  const bool is_known = cudaFuncGetAttributes(&allowed, kernel) == cudaSuccess;
  const uint64_t threads = uint64_t{block.x} * block.y * block.z;
  constexpr unsigned kMost = 65535;  // of all devices
  const bool is_limit =
      is_known && (threads == 0 || threads > static_cast<uint64_t>(allowed.maxThreadsPerBlock) ||
                   smem > static_cast<size_t>(allowed.maxDynamicSharedSizeBytes) || block.z > 64 ||
                   grid.x == 0 || grid.x > INT32_MAX || grid.y == 0 || grid.y > kMost || grid.z == 0 ||
                   grid.z > kMost);
  char hint[300] = "";
  if (is_limit) {
    snprintf(hint, sizeof(hint),
             "; the kernel allows 1 to %d threads a block (z to 64), grids to (2147483647, 65535, "
             "65535), and %d bytes of dynamic shared memory (cudaFuncSetAttribute: more)",
             allowed.maxThreadsPerBlock, allowed.maxDynamicSharedSizeBytes);
  } else if (error == cudaErrorNoKernelImageForDevice) {
    snprintf(hint, sizeof(hint), "; pass this device's architecture as arch");
  } else if (error == cudaErrorInitializationError) {
    snprintf(hint, sizeof(hint),
             "; CUDA does not outlive a fork: start processes with the method 'spawn'");
  }
  Note(error, is_limit, kernel,
       "%s (%s): grid (%u, %u, %u), block (%u, %u, %u), %zu bytes of dynamic shared memory%s",
       cudaGetErrorString(error), cudaGetErrorName(error), grid.x, grid.y, grid.z, block.x, block.y,
       block.z, smem, hint);
  return error;
}

TVMFFI_CUBIN_ONCE int EndExport(TVMFFIAny* result) {
  has_refusal = false;
  // Whoever has asked for the runtime's error knows of it.
  if (refusal.error != cudaSuccess && cudaGetLastError() != refusal.error) return 0;
  reinterpret_cast<tvm::ffi::Any*>(result)->reset();
  TVMFFIErrorSetRaisedFromCStr(refusal.is_limit ? "LaunchLimitError" : "LaunchError", refusal.text);
  return -1;
}

TVMFFI_CUBIN_ONCE int EndThrown(bool had_refusal) {
  // An exception of the function's own goes before.
  if (has_refusal && !had_refusal) cudaGetLastError();
  has_refusal = had_refusal;
  try {
    throw;
  } catch (const tvm::ffi::Error& error) {
    tvm::ffi::detail::SetSafeCallRaised(error);
  } catch (const std::exception& error) {
    TVMFFIErrorSetRaisedFromCStr("InternalError", error.what());
  }
  return -1;
}

TVMFFI_CUBIN_ONCE void Throw(const char* kind, const TVMFFIByteArray* backtrace, const char* text,
                             size_t size, bool is_logged) {
  tvm::ffi::detail::ErrorBuilder(kind, backtrace, is_logged).stream()
      << std::string_view(text, size);
  __builtin_unreachable();
}

// ---- Launches ----

/*! \brief Parameters with what is bound behind them. */
class AllParams {
 public:
#ifdef TVMFFI_CUBIN_BOUND_PARAMS
  AllParams(const void* kernel, void** args) : use_(&__tvmffi_cubin_bound.gate) {
    const MixedNode* node = FindNode(kernel);
    const int own = node == nullptr ? 0 : node->num_params;
    int device = -1;
    cudaGetDevice(&device);
    for (int i = 0; i < own; ++i) room_[i] = args[i];
    for (int i = 0; i < __tvmffi_cubin_bound.num_trailing; ++i) {
      room_[own + i] = const_cast<void*>(__tvmffi_cubin_bound.Trailing()[i].Find(device));
    }
  }

 private:
  const GateUse use_;
  void* room_[1024];  // of at most 32764 bytes
  void** all_ = room_;

#else
  AllParams(const void*, void** args) : all_(args) {}

 private:
  void** all_;
#endif

 public:
  void** get() const { return all_; }
};

TVMFFI_CUBIN_ONCE void LaunchConfigured(const void* kernel, void** args) {
  dim3 grid, block;
  size_t smem = 0;
  cudaStream_t stream = nullptr;
  if (__builtin_expect(__cudaPopCallConfiguration(&grid, &block, &smem, &stream) != 0, 0)) {
    Note(cudaSuccess, false, kernel,
         "it was called as a function: launch it with <<<grid, block>>>");
    return;
  }
  cudaLaunchKernel(kernel, grid, block, args, smem, stream);
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

extern "C" {
#define TVMFFI_CUBIN_LAUNCH(name)                                                              \
  TVMFFI_CUBIN_ONCE cudaError_t name(const void* kernel, dim3 grid, dim3 block, void** args,   \
                                     size_t smem, cudaStream_t stream) {                       \
    const tvmffi_cubin::AllParams all(kernel, args);                                           \
    const cudaError_t error =                                                                  \
        tvmffi_cubin_real_##name(kernel, grid, block, all.get(), smem, stream);                \
    if (__builtin_expect(error == cudaSuccess, 1)) return error;                               \
    return tvmffi_cubin::NoteLaunch(error, kernel, grid, block, smem);                         \
  }
TVMFFI_CUBIN_LAUNCH(cudaLaunchKernel)
TVMFFI_CUBIN_LAUNCH(cudaLaunchCooperativeKernel)

TVMFFI_CUBIN_ONCE cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config,
                                                  const void* kernel, void** args) {
  const tvmffi_cubin::AllParams all(kernel, args);
  const cudaError_t error = tvmffi_cubin_real_cudaLaunchKernelExC(config, kernel, all.get());
  if (__builtin_expect(error == cudaSuccess || config == nullptr, 1)) return error;
  return tvmffi_cubin::NoteLaunch(error, kernel, config->gridDim, config->blockDim,
                                  config->dynamicSmemBytes);
}
}
