/*!
 * \file tvmffi_cubin/kernel.h
 * \brief CubinKernel: one kernel of a loaded image, launched on any device.
 */
#ifndef TVMFFI_CUBIN_KERNEL_H_
#define TVMFFI_CUBIN_KERNEL_H_

#include <memory>
#include <string>
#include <utility>

#include "check_driver.h"
#include "cold.h"
#include "dispatch.h"
#include "exit_watch.h"
#include "launch_config.h"
#include "launch_limits.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

TVMFFI_CUBIN_DRIVER_ENTRY(cuLibraryGetKernelCount, 12040)
TVMFFI_CUBIN_DRIVER_ENTRY(cuLibraryEnumerateKernels, 12040)
TVMFFI_CUBIN_DRIVER_ENTRY(cuKernelGetName, 12030)

/*! \brief "a, b, c": the kernels of an image; empty where the driver is too old to say. */
std::string KernelNames(CUlibrary library);

/*!
 * \brief One kernel; movable. It keeps its image loaded, so it may outlive the CubinModule.
 *
 * Any thread may launch it, at the same time as others. Dynamic shared memory above 48 KB is opted
 * into by itself, up to what the launch's device has.
 */
class __attribute__((visibility("default"))) CubinKernel {
 public:
  /*! \brief No kernel; to be assigned to. */
  CubinKernel() = default;

  /*!
   * \param library A loaded image.
   * \param name The kernel's symbol: its name where it is `extern "C"`, else the mangled one.
   * \param keep What keeps the image loaded, if anything.
   * \param facts What is known of the image, for messages.
   * \throws LaunchError The image has no such kernel; the message lists those that it has.
   */
  CubinKernel(CUlibrary library, const char* name, std::shared_ptr<const void> keep = nullptr,
              const ImageFacts& facts = ImageFacts());

  CubinKernel(const CubinKernel&) = delete;
  CubinKernel& operator=(const CubinKernel&) = delete;
  CubinKernel(CubinKernel&& other) noexcept { *this = std::move(other); }
  CubinKernel& operator=(CubinKernel&& other) noexcept {
    if (this == &other) return *this;
    driver_ = other.driver_;
    handle_ = std::exchange(other.handle_, nullptr);
    smem_ = other.smem_;
    keep_ = std::move(other.keep_);
    return *this;
  }

  /*!
   * \brief Launches and returns at once.
   * \param args Pointers to the kernel's arguments, in order.
   * \param config Shape, dynamic shared memory, stream, attributes.
   * \param device The device. -1: the stream's; on the default stream the current one, 0 in a
   * thread that has none. The thread's current device is left as it was.
   * \return The driver's own answer, for CheckDriver.
   */
  [[nodiscard]] Status Launch(void** args, const LaunchConfig& config, int device = -1) {
    return Launch(args, config.Get(), device);
  }

  /*! \brief The same with the driver's own configuration. */
  [[nodiscard]] Status Launch(void** args, const CUlaunchConfig& config, int device = -1) {
    WatchExit();
    return Dispatch({driver_, handle_, &smem_}, config, args, device);
  }

  /*!
   * \brief Lets launches on a device have `bytes` of dynamic shared memory; -1: all that there is.
   * Launches do this by themselves.
   */
  [[nodiscard]] Status SetMaxDynamicSmem(int device, int64_t bytes = -1) {
    if (handle_ == nullptr) return {CUDA_ERROR_INVALID_HANDLE, "cuKernelSetAttribute"};
    int most = 0;
    if (bytes < 0) return smem_.Raise(driver_, handle_, device, &most);
    if (bytes > INT32_MAX) return {CUDA_ERROR_INVALID_VALUE, "cuKernelSetAttribute"};
    CUdevice number = 0;
    const CUresult result = driver_->cuDeviceGet(&number, device);
    if (result != CUDA_SUCCESS) return {result, "cuDeviceGet"};
    return {driver_->cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                          static_cast<int>(bytes), handle_, number),
            "cuKernelSetAttribute"};
  }

  /*! \brief The driver's handle; null where there is no kernel. */
  CUkernel GetHandle() const { return handle_; }

 private:
  const Driver* driver_ = nullptr;
  CUkernel handle_ = nullptr;
  DynamicSmemLimits smem_;
  std::shared_ptr<const void> keep_;
};

#ifndef TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_COLD std::string KernelNames(CUlibrary library) {
  unsigned count = 0;
  if (entry::cuLibraryGetKernelCount(&count, library) != CUDA_SUCCESS || count == 0) return "";
  std::unique_ptr<CUkernel[]> kernels(new CUkernel[count]());
  if (entry::cuLibraryEnumerateKernels(kernels.get(), count, library) != CUDA_SUCCESS) return "";
  std::string names;
  for (unsigned i = 0; i < count; ++i) {
    const char* name = nullptr;
    if (entry::cuKernelGetName(&name, kernels[i]) != CUDA_SUCCESS || name == nullptr) continue;
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  return names;
}

TVMFFI_CUBIN_COLD CubinKernel::CubinKernel(CUlibrary library, const char* name,
                                           std::shared_ptr<const void> keep,
                                           const ImageFacts& facts)
    : driver_(RequireDriver()), keep_(std::move(keep)) {
  CaptureScope relaxed;
  const CUresult result = driver_->cuLibraryGetKernel(&handle_, library, name);
  if (result != CUDA_SUCCESS) {
    const std::string names = KernelNames(library);
    ThrowImageError({result, "cuLibraryGetKernel"}, facts,
                    "the image has no kernel '" + std::string(name) + "'" +
                        (names.empty() ? "" : "; it has " + names));
  }
  WatchExitAgain();
}

#endif  // TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_KERNEL_H_
