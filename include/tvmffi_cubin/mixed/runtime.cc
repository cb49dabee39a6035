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
#define TVMFFI_CUBIN_ORIGINAL(name, ...)                                \
  extern "C" cudaError_t tvmffi_cubin_real_##name(__VA_ARGS__) __asm__( \
      TVMFFI_CUBIN_REAL TVMFFI_CUBIN_SYMBOL(name));
TVMFFI_CUBIN_LAUNCHES(TVMFFI_CUBIN_ORIGINAL)

#include <cuda_runtime_api.h>
#include <cxxabi.h>
#include <stdlib.h>
#include <string.h>

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

TVMFFI_CUBIN_BEGIN

// ---- Registration ----

static const MixedNode* FindNode(const void* kernel) {
  const MixedNode* node = mixed_nodes;
  while (node != nullptr && node->address != kernel) node = node->next;
  return node;
}

static const char* FindSymbol(const MixedNode& node) {
  for (uint64_t i = 0; i < node.table->num_rows; ++i) {
    const MixedTable::Row& row = node.table->rows[i];
    if (strcmp(row.type, node.type) == 0) return row.symbol;
  }
  return nullptr;
}

TVMFFI_CUBIN_ONCE Registration::Registration(const MixedTable* table) {
  if (table->image == nullptr) return;
  handle = __cudaRegisterFatBinary(table->image);
  for (const MixedNode* node = mixed_nodes; node != nullptr; node = node->next) {
    const char* symbol = node->table == table ? FindSymbol(*node) : nullptr;
    if (symbol == nullptr) continue;
    char* const name = const_cast<char*>(symbol);
    char* const address = static_cast<char*>(const_cast<void*>(node->address));
    if (node->size == 0) {
      __cudaRegisterFunction(handle, address, name, symbol, -1, nullptr, nullptr, nullptr, nullptr,
                             nullptr);
    } else {
      __cudaRegisterVar(handle, address, name, symbol, 0, node->size, 0, 0);
    }
  }
  __cudaRegisterFatBinaryEnd(handle);
}

TVMFFI_CUBIN_ONCE Registration::~Registration() {
  if (handle != nullptr) __cudaUnregisterFatBinary(handle);
}

// ---- Refused launches ----

// The thread's first refused launch since an exported function has told one.
struct Refusal {
  bool is_limit = false;
  cudaError_t error = cudaSuccess;  // what the runtime has noted of it, if anything
  Text text;
};
inline thread_local Refusal refusal;

// Begins to note a refused launch; null where there is one before it.
static Text* NoteRefusal(cudaError_t error, const void* kernel) {
  refusal.error = error;
  if (has_refusal) return nullptr;
  has_refusal = true;
  refusal.is_limit = false;
  refusal.text = Text();
  if (launch_place.file != nullptr) {
    refusal.text.Add("%.500s:%d: ", launch_place.file, launch_place.line);
  }
  const MixedNode* const node = FindNode(kernel);
  const char* const symbol = node == nullptr ? nullptr : FindSymbol(*node);
  char* const demangled =
      symbol == nullptr ? nullptr : abi::__cxa_demangle(symbol, nullptr, nullptr, nullptr);
  const char* name = demangled != nullptr ? demangled : symbol != nullptr ? symbol : "a kernel";
  if (strncmp(name, "void ", 5) == 0) name += 5;
  refusal.text.Add("launch of %.600s: ", name);
  free(demangled);
  return &refusal.text;
}

// Notes a launch that the runtime has refused.
__attribute__((noinline, cold)) static void NoteLaunch(cudaError_t error, const void* kernel,
                                                       dim3 grid, dim3 block, size_t smem) {
  Text* const text = NoteRefusal(error, kernel);
  if (text == nullptr) return;
  text->Add("%s (%s): grid (%u, %u, %u), block (%u, %u, %u), %zu bytes of dynamic shared memory",
            cudaGetErrorString(error), cudaGetErrorName(error), grid.x, grid.y, grid.z, block.x,
            block.y, block.z, smem);
  cudaFuncAttributes allowed{};
  refusal.is_limit = error == cudaErrorInvalidConfiguration || error == cudaErrorInvalidValue ||
                     error == cudaErrorLaunchOutOfResources;
  if (refusal.is_limit && cudaFuncGetAttributes(&allowed, kernel) == cudaSuccess) {
    text->Add(
        "; the kernel allows %d threads a block, and %d bytes of dynamic shared memory "
        "(cudaFuncSetAttribute: more)",
        allowed.maxThreadsPerBlock, allowed.maxDynamicSharedSizeBytes);
  } else if (error == cudaErrorNoKernelImageForDevice) {
    text->Add("; pass this device's architecture as arch");
  } else if (error == cudaErrorInitializationError) {
    text->Add("; CUDA does not outlive a fork: start processes with the method 'spawn'");
  }
}

// ---- Launches ----

// Parameters with what is bound behind them.
struct AllParams {
#ifdef TVMFFI_CUBIN_BOUND_PARAMS
  AllParams(const void* kernel, void** args) : use(&__tvmffi_cubin_bound.gate) {
    const MixedNode* node = FindNode(kernel);
    const int own = node == nullptr ? 0 : node->num_params;
    int device = -1;
    cudaGetDevice(&device);
    for (int i = 0; i < own; ++i) all[i] = args[i];
    for (int i = 0; i < __tvmffi_cubin_bound.num_trailing; ++i) {
      all[own + i] = const_cast<void*>(__tvmffi_cubin_bound.Trailing()[i].Find(device));
    }
  }
  const GateUse use;
  void* all[1024];  // of at most 32764 bytes
#else
  AllParams(const void*, void** args) : all(args) {}
  void** all;
#endif
};

TVMFFI_CUBIN_ONCE void LaunchConfigured(const void* kernel, void** args) {
  dim3 grid, block;
  size_t smem = 0;
  cudaStream_t stream = nullptr;
  if (__builtin_expect(__cudaPopCallConfiguration(&grid, &block, &smem, &stream) != 0, 0)) {
    Text* const text = NoteRefusal(cudaSuccess, kernel);
    if (text != nullptr) text->Add("it was called as a function: launch it with <<<grid, block>>>");
    return;
  }
  cudaLaunchKernel(kernel, grid, block, args, smem, stream);
  launch_place.file = nullptr;
}

#ifdef TVMFFI_CUBIN_EXPORTS
// ---- Exports and throws ----

TVMFFI_CUBIN_ONCE int EndRefused(TVMFFIAny* result) {
  has_refusal = false;
  // Whoever has asked for the runtime's error knows of it.
  if (refusal.error != cudaSuccess && cudaGetLastError() != refusal.error) return 0;
  if (result->type_index >= kTVMFFIStaticObjectBegin) TVMFFIObjectDecRef(result->v_obj);
  *result = {};  // None
  TVMFFIErrorSetRaisedFromCStr(refusal.is_limit ? "LaunchLimitError" : "LaunchError",
                               refusal.text.chars);
  return -1;
}

TVMFFI_CUBIN_ONCE int EndThrown() {
  // An exception of the function's own goes before.
  if (has_refusal) cudaGetLastError();
  has_refusal = false;
  try {
    throw;
  } catch (const tvm::ffi::Error& error) {
    tvm::ffi::detail::SetSafeCallRaised(error);
  } catch (const std::exception& error) {
    TVMFFIErrorSetRaisedFromCStr("InternalError", error.what());
  }
  return -1;
}

TVMFFI_CUBIN_ONCE Thrower::Thrower(const char* kind, const TVMFFIByteArray* backtrace,
                                   bool is_logged)
    : ErrorBuilder(kind, backtrace, is_logged) {}

TVMFFI_CUBIN_ONCE Thrower::~Thrower() noexcept(false) {}  // the builder's throws

#endif
TVMFFI_CUBIN_END

extern "C" {
#define TVMFFI_CUBIN_LAUNCH(name)                                                            \
  TVMFFI_CUBIN_ONCE cudaError_t name(const void* kernel, dim3 grid, dim3 block, void** args, \
                                     size_t smem, cudaStream_t stream) {                     \
    tvmffi_cubin::AllParams params(kernel, args);                                            \
    const cudaError_t error =                                                                \
        tvmffi_cubin_real_##name(kernel, grid, block, params.all, smem, stream);             \
    if (__builtin_expect(error != cudaSuccess, 0)) {                                         \
      tvmffi_cubin::NoteLaunch(error, kernel, grid, block, smem);                            \
    }                                                                                        \
    return error;                                                                            \
  }
TVMFFI_CUBIN_LAUNCH(cudaLaunchKernel)
TVMFFI_CUBIN_LAUNCH(cudaLaunchCooperativeKernel)

TVMFFI_CUBIN_ONCE cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config,
                                                  const void* kernel, void** args) {
  tvmffi_cubin::AllParams params(kernel, args);
  const cudaError_t error = tvmffi_cubin_real_cudaLaunchKernelExC(config, kernel, params.all);
  if (__builtin_expect(error != cudaSuccess, 0) && config != nullptr) {
    tvmffi_cubin::NoteLaunch(error, kernel, config->gridDim, config->blockDim,
                             config->dynamicSmemBytes);
  }
  return error;
}
}
