// Implements mixed/launch.h: launches of mixed sources through CUDA's runtime. The exported
// function that made a rejected launch throws its error, unless someone has queried that error.
#include "launch.h"

#include <cxxabi.h>
#include <stdlib.h>
#include <string.h>

#ifdef TVMFFI_CUBIN_BOUND_PARAMS
#include "../launcher/plan.h"
// With bound parameters, --wrap on these calls makes the link reject code that bypasses this file.
#pragma redefine_extname cudaLaunchKernelExC_ptsz __real_cudaLaunchKernelExC_ptsz
#pragma redefine_extname cudaLaunchKernelExC __real_cudaLaunchKernelExC
#endif
#include <cuda_runtime_api.h>

// Weak: mixed-source objects that are linked together have one copy each.
#define TVMFFI_CUBIN_ONCE __attribute__((weak, visibility("hidden")))

extern "C" {
void** __cudaRegisterFatBinary(void* wrapper);
void __cudaRegisterFatBinaryEnd(void** handle);
void __cudaUnregisterFatBinary(void** handle);
void __cudaRegisterFunction(void** handle, const volatile void* host, const char* device,
                            const char* name, int thread_limit, uint3*, uint3*, dim3*, dim3*, int*);
void __cudaRegisterVar(void** handle, const volatile void* host, const char* device,
                       const char* name, int is_extern, size_t, int is_constant, int is_global);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t smem, struct CUstream_st*);
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* smem, void* stream);
}

TVMFFI_CUBIN_BEGIN

TVMFFI_CUBIN_ONCE Registration::Registration(const MixedTable* table) {
  if (table->image == nullptr) return;
  handle = __cudaRegisterFatBinary(table->image);
  for (MixedNode* node = MixedNode::all; node != nullptr; node = node->next) {
    if (node->table != table) continue;
    for (const MixedTable::Row* row = table->rows; row != table->rows + table->num_rows; ++row) {
      if (strcmp(row->type, node->type) == 0) node->symbol = row->symbol;
    }
    const char* const name = node->symbol;
    if (name != nullptr && node->size == 0) {
      __cudaRegisterFunction(handle, node->address, name, name, -1, {}, {}, {}, {}, {});
    } else if (name != nullptr) {
      __cudaRegisterVar(handle, node->address, name, name, 0, node->size, 0, 0);
    }
  }
  __cudaRegisterFatBinaryEnd(handle);
}

TVMFFI_CUBIN_ONCE Registration::~Registration() {
  if (handle != nullptr) __cudaUnregisterFatBinary(handle);
}

// The thread's first rejected launch since an exported function ended.
struct Refusal {
  bool is_noted = false;
  bool is_limit;
  cudaError_t error;  // what the runtime recorded for it, if anything
  Text text;
};
inline thread_local Refusal refusal;

// The source location of the thread's last `<<<...>>>`.
inline thread_local const char* launch_file = nullptr;
inline thread_local int launch_line;

static const MixedNode* FindNode(const void* kernel) {
  const MixedNode* node = MixedNode::all;
  while (node != nullptr && node->address != kernel) node = node->next;
  return node;
}

// Notes a launch that the runtime has rejected.
__attribute__((noinline, cold)) static void NoteRefusal(cudaError_t error, const void* kernel,
                                                        const cudaLaunchConfig_t& config) {
  refusal.error = error;
  if (refusal.is_noted) return;
  refusal.is_noted = true;
  Text* const text = &refusal.text;
  *text = Text();
  if (launch_file != nullptr) text->Add("%.500s:%d: ", launch_file, launch_line);
  const MixedNode* const node = FindNode(kernel);
  const char* name = node == nullptr || node->symbol == nullptr ? "a kernel" : node->symbol;
  char* const demangled = abi::__cxa_demangle(name, nullptr, nullptr, nullptr);
  if (demangled != nullptr) name = demangled;
  if (strncmp(name, "void ", 5) == 0) name += 5;
  text->Add("launch of %.600s: ", name);
  free(demangled);
  const dim3 grid = config.gridDim, block = config.blockDim;
  text->Add("%s (%s): grid (%u, %u, %u), block (%u, %u, %u), %zu bytes of dynamic shared memory",
            cudaGetErrorString(error), cudaGetErrorName(error), grid.x, grid.y, grid.z, block.x,
            block.y, block.z, config.dynamicSmemBytes);
  cudaFuncAttributes allowed{};
  refusal.is_limit = error == cudaErrorInvalidConfiguration || error == cudaErrorInvalidValue ||
                     error == cudaErrorLaunchOutOfResources;
  if (refusal.is_limit && cudaFuncGetAttributes(&allowed, kernel) == cudaSuccess) {
    text->Add(
        "; the kernel allows at most %d threads per block and %d bytes of dynamic shared memory "
        "(cudaFuncSetAttribute raises it)",
        allowed.maxThreadsPerBlock, allowed.maxDynamicSharedSizeBytes);
  } else if (error == cudaErrorMissingConfiguration) {
    text->Add("; it was called as a function: launch it with <<<grid, block>>>");
  } else if (error == cudaErrorNoKernelImageForDevice) {
    text->Add("; pass this device's architecture as arch");
  } else if (error == cudaErrorInitializationError) {
    text->Add("; CUDA does not survive a fork: start processes with the method 'spawn'");
  }
}

// The launch calls of host code, which host.h renames.
extern "C" {
TVMFFI_CUBIN_ONCE cudaError_t tvmffi_cubin_launch_ex(const cudaLaunchConfig_t* config,
                                                     const void* kernel, void** args) {
#ifdef TVMFFI_CUBIN_BOUND_PARAMS
  const GateUse use(&__tvmffi_cubin_bound.gate);
  const MixedNode* node = FindNode(kernel);
  const int own = node == nullptr ? 0 : node->num_params;
  int device = -1;
  cudaGetDevice(&device);
  void* all[1024];  // at most 32764 bytes in total
  for (int i = 0; i < own; ++i) all[i] = args[i];
  for (int i = 0; i < __tvmffi_cubin_bound.num_trailing; ++i) {
    all[own + i] = const_cast<void*>(__tvmffi_cubin_bound.Trailing()[i].Find(device));
  }
  args = all;
#endif
  const cudaError_t error = cudaLaunchKernelExC(config, kernel, args);
  if (__builtin_expect(error != cudaSuccess, 0)) NoteRefusal(error, kernel, *config);
  return error;
}

TVMFFI_CUBIN_ONCE cudaError_t tvmffi_cubin_launch(const void* kernel, dim3 grid, dim3 block,
                                                  void** args, size_t smem, cudaStream_t stream) {
  const cudaLaunchConfig_t config{grid, block, smem, stream, nullptr, 0};
  return tvmffi_cubin_launch_ex(&config, kernel, args);
}

TVMFFI_CUBIN_ONCE cudaError_t tvmffi_cubin_launch_cooperative(const void* kernel, dim3 grid,
                                                              dim3 block, void** args, size_t smem,
                                                              cudaStream_t stream) {
  cudaLaunchAttribute cooperative{};
  cooperative.id = cudaLaunchAttributeCooperative;
  cooperative.val.cooperative = 1;
  const cudaLaunchConfig_t config{grid, block, smem, stream, &cooperative, 1};
  return tvmffi_cubin_launch_ex(&config, kernel, args);
}
}

TVMFFI_CUBIN_ONCE unsigned Configure(dim3 grid, dim3 block, size_t smem, cudaStream_t stream,
                                     const char* file, int line) {
  launch_file = file;
  launch_line = line;
  return __cudaPushCallConfiguration(grid, block, smem, stream);
}

TVMFFI_CUBIN_ONCE void LaunchConfigured(const void* kernel, void** args) {
  cudaLaunchConfig_t config{};
  if (__cudaPopCallConfiguration(&config.gridDim, &config.blockDim, &config.dynamicSmemBytes,
                                 &config.stream) != cudaSuccess) {
    NoteRefusal(cudaErrorMissingConfiguration, kernel, config);
    refusal.error = cudaSuccess;  // no call has returned this one
    return;
  }
  tvmffi_cubin_launch_ex(&config, kernel, args);
  launch_file = nullptr;
}

#ifdef TVMFFI_CUBIN_EXPORTS
TVMFFI_CUBIN_ONCE int EndReturned(TVMFFIAny* result) {
  if (__builtin_expect(!refusal.is_noted, 1)) return 0;
  refusal.is_noted = false;
  // Whoever has queried the runtime's error knows about it.
  if (refusal.error != cudaSuccess && cudaGetLastError() != refusal.error) return 0;
  if (result->type_index >= kTVMFFIStaticObjectBegin) TVMFFIObjectDecRef(result->v_obj);
  *result = {};  // None
  TVMFFIErrorSetRaisedFromCStr(refusal.is_limit ? "LaunchLimitError" : "LaunchError",
                               refusal.text.chars);
  return -1;
}

TVMFFI_CUBIN_ONCE int EndThrown() {
  // The function's own exception takes precedence.
  if (refusal.is_noted) cudaGetLastError();
  refusal.is_noted = false;
  try {
    throw;
  } catch (const tvm::ffi::Error& error) {
    TVMFFIErrorSetRaised(const_cast<tvm::ffi::ErrorObj*>(error.get()));
  } catch (const std::exception& error) {
    TVMFFIErrorSetRaisedFromCStr("InternalError", error.what());
  }
  return -1;
}

TVMFFI_CUBIN_ONCE Thrower::~Thrower() noexcept(false) {
  throw tvm::ffi::Error(kind, text.str(), backtrace);
}
#endif

TVMFFI_CUBIN_END
