/*!
 * \file tvmffi_cubin/kernel.h
 * \brief CubinKernel: one kernel of a loaded image, launched on any device.
 */
#ifndef TVMFFI_CUBIN_KERNEL_H_
#define TVMFFI_CUBIN_KERNEL_H_

#include <memory>
#include <type_traits>
#include <utility>

#include "dispatch.h"
#include "launch_config.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief "the image has no kernel 'x'; it has a, b, c", as far as the driver tells. */
std::string DescribeMissing(CUlibrary library, const char* name);

/*!
 * \brief One kernel; movable. It keeps its image loaded, so it may outlive the CubinModule.
 *
 * Any thread may launch it, at the same time as others. Dynamic shared memory above 48 KB and
 * clusters of more than 8 blocks are opted into by themselves, up to what the launch's device has.
 *
 * Every Launch returns at once, with the driver's own answer for CheckDriver; of a refused launch
 * that says which limit it goes over.
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

  /*! \brief A kernel by its handle, whose image its owner keeps loaded. */
  explicit CubinKernel(CUkernel handle) : handle_(handle), state_(std::make_unique<State>()) {}

  /*!
   * \brief Launches with typed arguments: `Launch(config, x_ptr, y_ptr, n)`.
   * \param config Shape, dynamic shared memory, stream, attributes, device.
   * \param args The kernel's arguments, each of its parameter's own type (a CUtensorMap, a struct):
   * the bytes are passed as they are, a 1 is no 1.0f.
   * \throws TypeError Their number or sizes are not the image's. (Not checked before CUDA 12.4.)
   */
  template <typename... Args>
  [[nodiscard]] Status Launch(const LaunchConfig& config, const Args&... args) {
    static_assert((std::is_trivially_copyable_v<Args> && ...),
                  "a kernel gets its arguments' bytes, so each must be trivially copyable");
    static_assert(!(std::is_array_v<Args> || ...),
                  "an array is no argument; pointers to all arguments come first: "
                  "Launch(args, config)");
    static_assert(!(std::is_null_pointer_v<Args> || ...),
                  "nullptr has no bytes of its own: pass static_cast<T*>(nullptr)");
    constexpr size_t kSizes[] = {sizeof(Args)..., 0};
    void* pointers[] = {const_cast<void*>(static_cast<const void*>(std::addressof(args)))...,
                        nullptr};
    return Run(pointers, config.Get(), config.GetDevice(), kSizes, sizeof...(Args));
  }

  /*!
   * \brief Launches with pointers to the arguments.
   * \param args Pointers to the kernel's arguments, in order.
   * \param config Shape, dynamic shared memory, stream, attributes.
   * \param device The device, the configuration's unless given. -1: the stream's; on the default
   * stream the current one, 0 in a thread that has none. The thread's own is left as it was.
   */
  [[nodiscard]] Status Launch(void** args, const LaunchConfig& config, int device = -1) {
    return Launch(args, config.Get(), device >= 0 ? device : config.GetDevice());
  }

  /*! \brief The same with the driver's own configuration. */
  [[nodiscard]] Status Launch(void** args, const CUlaunchConfig& config, int device = -1) {
    return Run(args, config, device);
  }

  /*! \brief The same with everything given singly. */
  [[nodiscard]] Status Launch(void** args, Dim3 grid, Dim3 block, CUstream stream,
                              uint32_t dynamic_smem_bytes = 0) {
    return Launch(args, grid, block, stream, dynamic_smem_bytes, nullptr, 0);
  }
  [[nodiscard]] Status Launch(void** args, Dim3 grid, Dim3 block, CUstream stream,
                              uint32_t dynamic_smem_bytes, const CUlaunchAttribute* attributes,
                              unsigned num_attributes) {
    // The driver only reads a launch's attributes, though its type says otherwise.
    auto* attrs = const_cast<CUlaunchAttribute*>(attributes);
    return Launch(args, CUlaunchConfig{grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                       dynamic_smem_bytes, stream, attrs, num_attributes});
  }

  /*! \brief The same in the order of cuLaunchKernelEx. */
  [[nodiscard]] Status LaunchEx(const CUlaunchConfig* config, void** args) {
    return Launch(args, *config);
  }

  /*!
   * \brief How much of a launch fits a device at once: blocks on a multiprocessor, the largest
   * cooperative grid, the largest cluster. What the launch needs is opted into first.
   * \param config Of which block, dynamic shared memory and cluster count.
   * \param device The device, the configuration's unless given; -1 as for Launch.
   * \throws LaunchError The driver does not say.
   */
  Occupancy GetOccupancy(const LaunchConfig& config, int device = -1);

  /*!
   * \brief Lets launches on a device have `bytes` of dynamic shared memory, and all that there is.
   * Launches do this by themselves.
   */
  [[nodiscard]] Status SetMaxDynamicSmem(int device, int64_t bytes = -1);

  /*!
   * \brief Loads the kernel on a device, which else its first launch there does, and opts into the
   * cluster that it was compiled for; -1: the current device. (Before CUDA 12.4, what it can do.)
   */
  [[nodiscard]] Status Preload(int device = -1);

  /*! \brief The driver's handle; null where there is no kernel. */
  CUkernel GetHandle() const { return handle_; }

 private:
  friend void CheckSameParameters(const struct KernelSlot* slot, CubinKernel* kernel);

  /*! \brief What launches from several threads share. */
  struct State {
    KernelLimits limits;
    ParameterSizes parameters;
    std::shared_ptr<const void> keep;
  };

  /*! \brief Launches; the sizes of typed arguments are compared with the kernel's. */
  Status Run(void** args, const CUlaunchConfig& config, int device, const size_t* sizes = nullptr,
             size_t count = 0) {
    if (handle_ == nullptr) return {CUDA_ERROR_INVALID_HANDLE, "cuLaunchKernelEx"};
    DeviceScope scope;
    Status status = EnterLaunch(config.hStream, device, &scope);
    if (!status.ok()) return status;
    if (sizes != nullptr) state_->parameters.Check(handle_, sizes, count);
    status = state_->limits.OptIn(handle_, device, config);
    if (status.ok()) status = LaunchHere(handle_, &state_->parameters, config, args);
    return __builtin_expect(status.ok(), 1) ? status : Explain(status, config);
  }

  /*! \brief A refused launch's status, with the limit that it goes over; its device is current. */
  Status Explain(Status status, const CUlaunchConfig& config) const;

  CUkernel handle_ = nullptr;
  std::unique_ptr<State> state_;
};

#ifndef TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_COLD std::string DescribeMissing(CUlibrary library, const char* name) {
  std::string text = "the image has no kernel '" + std::string(name) + "'";
  unsigned count = 0;
  if (entry::cuLibraryGetKernelCount(&count, library) != CUDA_SUCCESS || count == 0) return text;
  std::vector<CUkernel> kernels(count);
  if (entry::cuLibraryEnumerateKernels(kernels.data(), count, library) != CUDA_SUCCESS) return text;
  for (unsigned i = 0; i < count; ++i) {
    text += (i == 0 ? "; it has " : ", ") + std::string(KernelName(kernels[i]));
  }
  return text;
}

TVMFFI_CUBIN_COLD CubinKernel::CubinKernel(CUlibrary library, const char* name,
                                           std::shared_ptr<const void> keep,
                                           const ImageFacts& facts)
    : state_(std::make_unique<State>()) {
  RequireDriver();
  state_->keep = std::move(keep);
  CaptureScope relaxed;
  const Status status{entry::cuLibraryGetKernel(&handle_, library, name), "cuLibraryGetKernel"};
  if (!status.ok()) {
    ThrowLaunchError(status, DescribeImageError(status, facts, DescribeMissing(library, name)));
  }
}

TVMFFI_CUBIN_COLD Occupancy CubinKernel::GetOccupancy(const LaunchConfig& config, int device) {
  if (handle_ == nullptr) CheckDriver(CUDA_ERROR_INVALID_HANDLE, "the occupancy of no kernel");
  if (device < 0) device = config.GetDevice();
  DeviceScope scope;
  CheckDriver(EnterLaunch(config.Get().hStream, device, &scope));
  Occupancy occupancy;
  CheckDriver(FindOccupancy(handle_, CurrentDevice(), config.Get(), &occupancy, &state_->limits));
  return occupancy;
}

TVMFFI_CUBIN_COLD Status CubinKernel::SetMaxDynamicSmem(int device, int64_t bytes) {
  if (handle_ == nullptr) return {CUDA_ERROR_INVALID_HANDLE, "cuKernelSetAttribute"};
  const Status status = state_->limits.RaiseSmem(handle_, device);
  const auto wanted = static_cast<uint32_t>(bytes < 0            ? 0
                                            : bytes < UINT32_MAX ? bytes
                                                                 : UINT32_MAX);
  if (!status.ok() || state_->limits.CoversSmem(device, wanted)) return status;
  return {CUDA_ERROR_INVALID_VALUE, "cuKernelSetAttribute"};
}

TVMFFI_CUBIN_COLD Status CubinKernel::Preload(int device) {
  if (handle_ == nullptr) return {CUDA_ERROR_INVALID_HANDLE, "cuKernelGetFunction"};
  DeviceScope scope;
  Status status = EnterLaunch(nullptr, device, &scope);
  if (status.ok()) status = LoadHere(handle_);
  return status.ok() ? state_->limits.OptIn(handle_, device, {}) : status;
}

TVMFFI_CUBIN_COLD Status CubinKernel::Explain(Status status, const CUlaunchConfig& config) const {
  static uint64_t num_refused = 0;
  LaunchProblem* problem = &launch_problem;
  char limit[384];
  problem->result = CUDA_SUCCESS;
  if (!FindRefusal(CurrentDevice(), handle_, config, status.result, limit, sizeof(limit))) {
    return status;
  }
  snprintf(problem->text, sizeof(problem->text), "launch of %.100s: %s", KernelName(handle_),
           limit);
  problem->result = status.result;
  problem->number = status.limit = __atomic_add_fetch(&num_refused, 1, __ATOMIC_RELAXED);
  return status;
}

#endif  // TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_KERNEL_H_
