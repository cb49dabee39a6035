/*!
 * \file tvmffi_cubin/mixed/runtime.h
 * \brief Launches of a mixed source over CUDA's runtime; a refused one is thrown by the exported
 * function that made it, unless somebody has asked for the error.
 */
#ifndef TVMFFI_CUBIN_MIXED_RUNTIME_H_
#define TVMFFI_CUBIN_MIXED_RUNTIME_H_

#include <cxxabi.h>
#include <tvm/ffi/function.h>

#include <string>

#include "stub.h"

#ifdef TVMFFI_CUBIN_BOUND_PARAMS
#include "../launcher/plan.h"
extern "C" __attribute__((visibility("hidden"))) tvmffi_cubin::BoundTable __tvmffi_cubin_bound;
#endif

extern "C" {
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t smem, struct CUstream_st*);
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* smem, void* stream);
}

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief The last launch of a thread that was refused, until an exported function throws it. */
struct Refusal {
  bool is_pending = false;
  bool is_limit = false;
  cudaError_t error = cudaSuccess;
  std::string text;
};
inline thread_local Refusal refusal;

/*! \brief Where the thread's last `<<<...>>>` stands. */
inline thread_local const char* launch_file = nullptr;
inline thread_local int launch_line = 0;

/*! \brief What `<<<...>>>` becomes, before the kernel's stub is called. */
inline unsigned Configure(dim3 grid, dim3 block, size_t smem = 0, cudaStream_t stream = nullptr,
                          const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  launch_file = file;
  launch_line = line;
  return __cudaPushCallConfiguration(grid, block, smem, stream);
}

inline const MixedNode* FindNode(const void* kernel) {
  const MixedNode* node = mixed_nodes;
  while (node != nullptr && node->address != kernel) node = node->next;
  return node;
}

/*! \brief A kernel as people write it. */
TVMFFI_CUBIN_COLD std::string KernelText(const void* kernel) {
  const MixedNode* node = FindNode(kernel);
  if (node == nullptr) return "a kernel";
  int status = 0;
  char* text = abi::__cxa_demangle(node->name, nullptr, nullptr, &status);
  std::string name = text != nullptr ? text : node->name;
  free(text);
  // tvmffi_cubin::v0_1::KernelStub<&(k<float>(float*)), 123ull>
  const size_t begin = name.find("<&");
  if (begin == std::string::npos) return name;
  name = name.substr(begin + 2);
  int depth = 0;
  size_t end = 0;
  for (; end < name.size(); ++end) {
    if (name[end] == '(' || name[end] == '<') ++depth;
    if (name[end] == ')' || name[end] == '>') --depth;
    if (depth < 0 || (depth == 0 && name[end] == ',')) break;
  }
  name.resize(end);
  if (name.size() > 1 && name.front() == '(') name = name.substr(1, name.size() - 2);
  return name.compare(0, 5, "void ") == 0 ? name.substr(5) : name;
}

inline std::string ShapeText(dim3 shape) {
  return "(" + std::to_string(shape.x) + ", " + std::to_string(shape.y) + ", " +
         std::to_string(shape.z) + ")";
}

/*! \brief The first limit that a launch goes beyond; empty where none is known. */
TVMFFI_CUBIN_COLD std::string BrokenLimit(const void* kernel, dim3 grid, dim3 block, size_t smem) {
  int device = 0;
  cudaFuncAttributes kernel_s{};
  if (cudaGetDevice(&device) != cudaSuccess) return "";
  const unsigned given[] = {grid.x, grid.y, grid.z, block.x, block.y, block.z};
  const char* const names[] = {"grid.x", "grid.y", "grid.z", "block.x", "block.y", "block.z"};
  const cudaDeviceAttr limits[] = {cudaDevAttrMaxGridDimX,  cudaDevAttrMaxGridDimY,
                                   cudaDevAttrMaxGridDimZ,  cudaDevAttrMaxBlockDimX,
                                   cudaDevAttrMaxBlockDimY, cudaDevAttrMaxBlockDimZ};
  for (int i = 0; i < 6; ++i) {
    int limit = 0;
    if (given[i] == 0) return std::string(names[i]) + " is 0";
    if (cudaDeviceGetAttribute(&limit, limits[i], device) != cudaSuccess) continue;
    if (given[i] > static_cast<unsigned>(limit)) {
      return std::string(names[i]) + " is " + std::to_string(given[i]) + ", device " +
             std::to_string(device) + " allows " + std::to_string(limit);
    }
  }
  if (cudaFuncGetAttributes(&kernel_s, kernel) != cudaSuccess) return "";
  const uint64_t threads = uint64_t{block.x} * block.y * block.z;
  if (threads > static_cast<uint64_t>(kernel_s.maxThreadsPerBlock)) {
    return "a block has " + std::to_string(threads) + " threads, the kernel allows " +
           std::to_string(kernel_s.maxThreadsPerBlock) + " with its " +
           std::to_string(kernel_s.numRegs) + " registers";
  }
  if (smem > static_cast<size_t>(kernel_s.maxDynamicSharedSizeBytes)) {
    return std::to_string(smem) + " bytes of dynamic shared memory, the kernel allows " +
           std::to_string(kernel_s.maxDynamicSharedSizeBytes) +
           ": raise that with cudaFuncSetAttribute(kernel, "
           "cudaFuncAttributeMaxDynamicSharedMemorySize, bytes)";
  }
  return "";
}

/*! \brief Notes a refusal; of several the first is told. */
TVMFFI_CUBIN_COLD void NoteRefusal(cudaError_t error, const void* kernel, bool is_limit,
                                   const std::string& what) {
  refusal.error = error;
  if (refusal.is_pending) return;
  const std::string place =
      launch_file == nullptr ? "" : launch_file + (":" + std::to_string(launch_line)) + ": ";
  refusal.is_pending = true;
  refusal.is_limit = is_limit;
  refusal.text = place + "launch of " + KernelText(kernel) + ": " + what;
}

TVMFFI_CUBIN_COLD void NoteLaunch(cudaError_t error, const void* kernel, dim3 grid, dim3 block,
                                  size_t smem) {
  const std::string limit = BrokenLimit(kernel, grid, block, smem);
  std::string reason = limit.empty() ? "" : limit + ": ";
  reason += cudaGetErrorString(error);
  reason += " (" + std::string(cudaGetErrorName(error)) + ", grid " + ShapeText(grid) +
            ", block " + ShapeText(block) + ")";
  if (error == cudaErrorNoKernelImageForDevice) {
    reason += ": pass this device's architecture as arch";
  } else if (error == cudaErrorInitializationError) {
    reason += ": CUDA does not outlive a fork; start processes with the method 'spawn'";
  }
  NoteRefusal(error, kernel, !limit.empty(), reason);
}

/*! \brief Parameters with what is bound behind them. */
class AllParams {
 public:
#ifdef TVMFFI_CUBIN_BOUND_PARAMS
  AllParams(const void* kernel, void** args, void** room) : use_(&__tvmffi_cubin_bound.gate) {
    const MixedNode* node = FindNode(kernel);
    const int own = node == nullptr ? 0 : node->num_params;
    int device = -1;
    cudaGetDevice(&device);
    for (int i = 0; i < own; ++i) room[i] = args[i];
    for (int i = 0; i < __tvmffi_cubin_bound.num_trailing; ++i) {
      const BoundSlot& slot = __tvmffi_cubin_bound.Trailing()[i];
      const void* value = slot.Find(device);
      if (value == nullptr && slot.required) {
        TVM_FFI_THROW(LaunchError)
            << "launch of " << KernelText(kernel) << ": the parameter " << slot.param->name << " ("
            << slot.param->type << ") is not bound on device " << device << ": call mod.bind("
            << slot.param->name << "=...) before";
      }
      room[own + i] = const_cast<void*>(value != nullptr ? value : slot.zeros);
    }
    all_ = room;
  }
  void** get() const { return all_; }

 private:
  const GateUse use_;
#else
  AllParams(const void*, void** args, void**) : all_(args) {}
  void** get() const { return all_; }

 private:
#endif
  void** all_;
};

#ifdef TVMFFI_CUBIN_BOUND_PARAMS
constexpr int kMaxParams = 1024;  // of at most 32764 bytes
#else
constexpr int kMaxParams = 1;
#endif

inline void LaunchConfigured(const void* kernel, void** args) {
  dim3 grid, block;
  size_t smem = 0;
  cudaStream_t stream = nullptr;
  if (__builtin_expect(__cudaPopCallConfiguration(&grid, &block, &smem, &stream) != 0, 0)) {
    NoteRefusal(cudaErrorMissingConfiguration, kernel, false,
                "it was called as a function: launch it with <<<grid, block>>>");
    return;
  }
  cudaLaunchKernel(kernel, grid, block, args, smem, stream);
}

/*! \brief A call of an exported function: throws what was refused within, and not asked for. */
class ExportScope {
 public:
  ExportScope() : was_pending_(refusal.is_pending) {}
  ExportScope(const ExportScope&) = delete;
  ExportScope& operator=(const ExportScope&) = delete;
  ~ExportScope() {
    // An exception of the function's own goes before.
    if (__builtin_expect(refusal.is_pending && !was_pending_, 0)) cudaGetLastError();
    refusal.is_pending = was_pending_;
  }

  void Check() const {
    if (__builtin_expect(refusal.is_pending && !was_pending_, 0)) Throw();
  }

 private:
  TVMFFI_CUBIN_COLD static void Throw() {
    refusal.is_pending = false;
    // Who called a kernel as a function has made no error of the runtime's.
    const bool is_call = refusal.error == cudaErrorMissingConfiguration;
    if (!is_call && cudaGetLastError() != refusal.error) return;
    if (refusal.is_limit) TVM_FFI_THROW(LaunchLimitError) << refusal.text;
    TVM_FFI_THROW(LaunchError) << refusal.text;
  }

  const bool was_pending_;
};

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

extern "C" {
#define TVMFFI_CUBIN_LAUNCH __attribute__((weak, visibility("hidden"))) cudaError_t
TVMFFI_CUBIN_LAUNCH TVMFFI_CUBIN_RUNTIME(cudaLaunchKernel)(const void* kernel, dim3 grid,
                                                           dim3 block, void** args, size_t smem,
                                                           cudaStream_t stream) {
  void* room[tvmffi_cubin::kMaxParams];
  const tvmffi_cubin::AllParams all(kernel, args, room);
  const cudaError_t error =
      tvmffi_cubin_real_launch(kernel, grid, block, all.get(), smem, stream);
  if (__builtin_expect(error != cudaSuccess, 0)) {
    tvmffi_cubin::NoteLaunch(error, kernel, grid, block, smem);
  }
  return error;
}

TVMFFI_CUBIN_LAUNCH TVMFFI_CUBIN_RUNTIME(cudaLaunchCooperativeKernel)(
    const void* kernel, dim3 grid, dim3 block, void** args, size_t smem, cudaStream_t stream) {
  void* room[tvmffi_cubin::kMaxParams];
  const tvmffi_cubin::AllParams all(kernel, args, room);
  const cudaError_t error =
      tvmffi_cubin_real_cooperative(kernel, grid, block, all.get(), smem, stream);
  if (__builtin_expect(error != cudaSuccess, 0)) {
    tvmffi_cubin::NoteLaunch(error, kernel, grid, block, smem);
  }
  return error;
}

TVMFFI_CUBIN_LAUNCH TVMFFI_CUBIN_RUNTIME(cudaLaunchKernelExC)(const cudaLaunchConfig_t* config,
                                                              const void* kernel, void** args) {
  void* room[tvmffi_cubin::kMaxParams];
  const tvmffi_cubin::AllParams all(kernel, args, room);
  const cudaError_t error = tvmffi_cubin_real_extended(config, kernel, all.get());
  if (__builtin_expect(error != cudaSuccess && config != nullptr, 0)) {
    tvmffi_cubin::NoteLaunch(error, kernel, config->gridDim, config->blockDim,
                             config->dynamicSmemBytes);
  }
  return error;
}
#undef TVMFFI_CUBIN_LAUNCH
}

// tvm-ffi's own, and the check.
#undef TVM_FFI_DLL_EXPORT_TYPED_FUNC_IMPL_
#define TVM_FFI_DLL_EXPORT_TYPED_FUNC_IMPL_(ExportName, Function)                        \
  extern "C" TVM_FFI_DLL_EXPORT int __tvm_ffi_##ExportName(                              \
      void*, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {               \
    TVM_FFI_SAFE_CALL_BEGIN();                                                           \
    using FuncInfo = ::tvm::ffi::detail::FunctionInfo<std::decay_t<decltype(Function)>>; \
    static std::string name = #ExportName;                                               \
    const ::tvmffi_cubin::ExportScope scope;                                             \
    auto* returned = reinterpret_cast<::tvm::ffi::Any*>(result);                         \
    ::tvm::ffi::detail::unpack_call<typename FuncInfo::RetType>(                         \
        std::make_index_sequence<FuncInfo::num_args>{}, &name, Function,                 \
        reinterpret_cast<const ::tvm::ffi::AnyView*>(args), num_args, returned);         \
    try {                                                                                \
      scope.Check();                                                                     \
    } catch (...) {                                                                      \
      returned->reset();                                                                 \
      throw;                                                                             \
    }                                                                                    \
    TVM_FFI_SAFE_CALL_END();                                                             \
  }

#endif  // TVMFFI_CUBIN_MIXED_RUNTIME_H_
