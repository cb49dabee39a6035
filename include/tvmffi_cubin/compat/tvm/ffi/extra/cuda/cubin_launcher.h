/*!
 * \file tvm/ffi/extra/cuda/cubin_launcher.h
 * \brief tvm-ffi's CUBIN launcher by its own names, over tvmffi_cubin: no toolkit, no libcudart.
 */
#ifndef TVM_FFI_EXTRA_CUDA_CUBIN_LAUNCHER_H_
#define TVM_FFI_EXTRA_CUDA_CUBIN_LAUNCHER_H_

#include <cuda.h>
#include <cuda_runtime.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/extra/cuda/base.h>
#include <tvm/ffi/extra/cuda/internal/unified_api.h>
#include <tvm/ffi/string.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "../../../../../module.h"

// Never destroyed, since kernels in static variables use it to the process's end. The address is
// kept in a volatile: an image of several GiB may lie further away than code can reach directly.
#define TVMFFI_CUBIN_COMPAT_MODULE(Struct, image, table)                          \
  namespace {                                                                     \
  struct Struct {                                                                 \
    tvm::ffi::CubinModule mod{Image(), table};                                    \
    static const unsigned char* Image() {                                         \
      static const void* volatile address = (image);                              \
      return static_cast<const unsigned char*>(const_cast<const void*>(address)); \
    }                                                                             \
    static Struct* Global() {                                                     \
      static Struct* const inst = new Struct;                                     \
      return inst;                                                                \
    }                                                                             \
  };                                                                              \
  } /* namespace */

/*! \brief Declares the image that the build embeds under `name`; used at namespace scope. */
#define TVM_FFI_EMBED_CUBIN(name)                                                              \
  extern "C" __attribute__((visibility("hidden"))) const char __tvm_ffi__cubin_##name[];       \
  extern "C" __attribute__((visibility("hidden"))) const char __tvm_ffi__cubin_##name##_end[]; \
  extern "C" __attribute__((visibility("hidden"), weak)) const void* const                     \
      __tvmffi_cubin_image_##name[4];                                                          \
  TVMFFI_CUBIN_COMPAT_MODULE(EmbedCubinModule_##name, __tvm_ffi__cubin_##name,                 \
                             __tvmffi_cubin_image_##name)

/*! \brief The same over an array of bytes of one's own. */
#define TVM_FFI_EMBED_CUBIN_FROM_BYTES(name, imageBytes) \
  TVMFFI_CUBIN_COMPAT_MODULE(EmbedCubinModule_##name, imageBytes, nullptr)

/*! \brief A kernel of an image so declared, best kept in a function-local `static auto`. */
#define TVM_FFI_EMBED_CUBIN_GET_KERNEL(name, kernel_name) \
  (EmbedCubinModule_##name::Global()->mod[kernel_name])

namespace tvm {
namespace ffi {
TVMFFI_CUBIN_COMPAT_BEGIN_NAMESPACE

/*! \brief One kernel; movable. See tvmffi_cubin::CubinKernel, which it is made of. */
class __attribute__((visibility("default"))) CubinKernel {
 public:
  CubinKernel(cuda_api::LibraryHandle library, const char* name) : kernel_(library, name) {}

  /*!
   * \brief Launches and returns at once, on the stream's device whichever is current.
   * \param args Pointers to the kernel's arguments, in order.
   * \param grid Blocks in each dimension.
   * \param block Threads in each dimension.
   * \param stream The stream.
   * \param dyn_smem_bytes Dynamic shared memory; more than 48 KB is opted into.
   * \return The driver's own answer.
   */
  cuda_api::ResultType Launch(void** args, dim3 grid, dim3 block, cuda_api::StreamHandle stream,
                              uint32_t dyn_smem_bytes = 0) {
    return LaunchEx(args, cuda_api::MakeConfig(grid, block, stream, dyn_smem_bytes));
  }

  /*! \brief The same with attributes, of either API. */
  cuda_api::ResultType Launch(void** args, dim3 grid, dim3 block, cuda_api::StreamHandle stream,
                              uint32_t dyn_smem_bytes, const CUlaunchAttribute* attrs,
                              unsigned int num_attrs) {
    CUlaunchConfig config = cuda_api::MakeConfig(grid, block, stream, dyn_smem_bytes);
    if (attrs == nullptr && num_attrs != 0) return cuda_api::Answer(CUDA_ERROR_INVALID_VALUE);
    config.attrs = const_cast<CUlaunchAttribute*>(attrs);  // only read by the driver
    config.numAttrs = num_attrs;
    return LaunchEx(args, config);
  }
  cuda_api::ResultType Launch(void** args, dim3 grid, dim3 block, cuda_api::StreamHandle stream,
                              uint32_t dyn_smem_bytes, const cudaLaunchAttribute* attrs,
                              unsigned int num_attrs) {
    return Launch(args, grid, block, stream, dyn_smem_bytes,
                  reinterpret_cast<const CUlaunchAttribute*>(attrs), num_attrs);
  }
  cuda_api::ResultType Launch(void** args, dim3 grid, dim3 block, cuda_api::StreamHandle stream,
                              uint32_t dyn_smem_bytes, std::nullptr_t,
                              unsigned int num_attrs) {
    return Launch(args, grid, block, stream, dyn_smem_bytes,
                  static_cast<const CUlaunchAttribute*>(nullptr), num_attrs);
  }

  /*! \brief The same with a configuration, of either API; see cuda_api::ConstructLaunchConfig. */
  cuda_api::ResultType LaunchEx(void** args, const CUlaunchConfig& config) {
    const ::tvmffi_cubin::Status status = kernel_.Launch(args, config);
    // What an earlier refusal was about would else be told of another call's failure.
    if (status.ok()) ::tvmffi_cubin::launch_problem.result = CUDA_SUCCESS;
    return cuda_api::Answer(status.result);
  }
  cuda_api::ResultType LaunchEx(void** args, const cudaLaunchConfig_t& config) {
    return LaunchEx(args, ::tvmffi_cubin::ToDriverConfig(config));
  }

  /*! \brief The same in the order of cuLaunchKernelEx. */
  cuda_api::ResultType LaunchEx(const CUlaunchConfig* config, void** args) {
    if (config == nullptr) return cuda_api::Answer(CUDA_ERROR_INVALID_VALUE);
    return LaunchEx(args, *config);
  }
  cuda_api::ResultType LaunchEx(const cudaLaunchConfig_t* config, void** args) {
    if (config == nullptr) return cuda_api::Answer(CUDA_ERROR_INVALID_VALUE);
    return LaunchEx(args, *config);
  }

  /*! \brief The driver's handle, which is the runtime's, too. */
  cuda_api::KernelHandle GetHandle() const { return kernel_.GetHandle(); }

 private:
  friend class CubinModule;
  explicit CubinKernel(::tvmffi_cubin::CubinKernel kernel) : kernel_(std::move(kernel)) {}

  /*! \brief Sets the limit on every device; throws where none of them takes it. */
  void SetMaxDynamicSharedMemory(int64_t bytes) {
    int count = 0;
    if (cuda_api::GetDeviceCount(&count) != cuda_api::kSuccess) return;
    bool taken = count == 0;
    ::tvmffi_cubin::Status status;
    for (int device = 0; device < count; ++device) {
      status = kernel_.SetMaxDynamicSmem(device, bytes);
      taken |= status.ok();
    }
    if (!taken) {
      ::tvmffi_cubin::ThrowLaunchError(
          status, "no device allows the kernel " + std::to_string(bytes) +
                      " bytes of dynamic shared memory");
    }
  }

  ::tvmffi_cubin::CubinKernel kernel_;
};

/*! \brief An image; movable. See tvmffi_cubin::CubinModule, which it is made of. */
class __attribute__((visibility("default"))) CubinModule {
 public:
  /*! \brief Loads an image at once; where there is no driver, at the first GetKernel. */
  explicit CubinModule(const Bytes& bytes) : module_(bytes) { LoadIfDriver(); }
  explicit CubinModule(const char* code) : module_(code) { LoadIfDriver(); }
  explicit CubinModule(const unsigned char* code, const void* const* table = nullptr)
      : module_(code, table) {
    LoadIfDriver();
  }

  CubinKernel GetKernel(const char* name) { return CubinKernel(module_.GetKernel(name)); }
  CubinKernel operator[](const char* name) { return GetKernel(name); }

  /*!
   * \brief GetKernel, with the limit of its dynamic shared memory set on every device.
   * \param name The kernel.
   * \param dynamic_smem_max The limit in bytes; -1: all that the device has beside the static part.
   */
  CubinKernel GetKernelWithMaxDynamicSharedMemory(const char* name, int64_t dynamic_smem_max = -1) {
    CubinKernel kernel = GetKernel(name);
    kernel.SetMaxDynamicSharedMemory(dynamic_smem_max);
    return kernel;
  }

  /*! \brief The driver's handle, which is the runtime's, too. */
  cuda_api::LibraryHandle GetHandle() const { return module_.GetHandle(); }

 private:
  void LoadIfDriver() {
    if (::tvmffi_cubin::OpenDriver() != nullptr) module_.Load();
  }

  ::tvmffi_cubin::CubinModule module_;
};

TVMFFI_CUBIN_COMPAT_END_NAMESPACE
}  // namespace ffi
}  // namespace tvm

#endif  // TVM_FFI_EXTRA_CUDA_CUBIN_LAUNCHER_H_
