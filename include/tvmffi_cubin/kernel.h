// CubinModule: an image, loaded on first use and unloaded with its last user. CubinKernel: one of
// its kernels, launched on any device.
#pragma once

#include <tvm/ffi/string.h>

#include <memory>
#include <type_traits>
#include <utility>

#include "launch_config.h"

// Defined for all units of a build with bound_params, which links the table of bound values.
// Without it, binding costs launches nothing.
#ifdef TVMFFI_CUBIN_BOUND_PARAMS
#include "launcher/plan.h"
#endif

TVMFFI_CUBIN_BEGIN

/// Sizes of typed arguments; each list has a unique address.
template <size_t... kEach>
inline constexpr size_t kSizes[] = {kEach..., 0};

/// Checks argument sizes against the kernel's; drivers before CUDA 12.4 do not report these.
/// \throws TypeError The number of arguments or a size differs.
TVMFFI_CUBIN_COLD void CheckParameters(CUkernel kernel, const size_t* sizes, size_t count) {
  int own = CountParameters(kernel);
  if (own < 0) return;
#ifdef TVMFFI_CUBIN_BOUND_PARAMS
  own -= __tvmffi_cubin_bound.num_trailing;
#endif
  const char* name = KernelName(kernel);
  if (own != static_cast<int>(count)) {
    Throw("TypeError", "%s takes %d arguments, but Launch got %zu", name, own, count);
  }
  for (int i = 0; i < own; ++i) {
    const size_t wanted = ParameterSize(kernel, i);
    if (sizes[i] == wanted) continue;
    Throw("TypeError", "%s: argument %d of %zu has %zu bytes, but the kernel's parameter has %zu",
          name, i + 1, count, sizes[i], wanted);
  }
}

/// Launches on the current device, with bound values after the caller's own arguments.
/// \throws LaunchError The bound parameters are not the kernel's last parameters.
inline Status LaunchHere(CUkernel kernel, const CUlaunchConfig& config, void** args) {
#ifdef TVMFFI_CUBIN_BOUND_PARAMS
  BoundTable* table = &__tvmffi_cubin_bound;
  // The caller's array does not carry its length, so the kernel's own count says what to read.
  const int count = CountParameters(kernel), own = count - table->num_trailing;
  bool fits = own >= 0;
  for (int i = own; fits && i < count; ++i) {
    fits = ParameterSize(kernel, i) == table->Trailing()[i - own].param->size;
  }
  if (!fits) {
    Throw("LaunchError",
          "launch of %s: its last parameters are not the module's bound_params (or the driver is "
          "older than CUDA 12.4 and does not report them)",
          KernelName(kernel));
  }
  if (own != 0 && args == nullptr) return {CUDA_ERROR_INVALID_VALUE, "cuLaunchKernelEx"};
  void** const all = TVMFFI_CUBIN_ALLOCA(void*, count + 1);
  for (int i = 0; i < own; ++i) all[i] = args[i];
  const GateUse use(&table->gate);
  const int device = CurrentDevice();
  for (int i = own; i < count; ++i) {
    all[i] = const_cast<void*>(table->Trailing()[i - own].Find(device));
  }
  args = all;
#endif
  return LaunchKernel(kernel, config, args);
}

/// State shared by a module and its kernels.
struct __attribute__((visibility("default"))) LoadedImage : Library {
  tvm::ffi::Bytes bytes;  // owns an image passed as Bytes

  ~LoadedImage() { Unload(); }

  /// Throws an error: what is wrong with the image, or that it has no such kernel.
  [[noreturn]] TVMFFI_CUBIN_COLD void ThrowError(const Status& status,
                                                 const char* kernel = "") const {
    Text text;
    AddImageError(*this, status, kernel, &text);
    ThrowLaunchError(status, text.chars);
  }
};

/// One kernel; movable. It keeps its image loaded, so it may outlive the CubinModule.
///
/// Threads may launch it concurrently. The kernel is opted in to all the dynamic shared memory of
/// the launch's device, and to clusters of more than 8 blocks.
///
/// Every Launch returns immediately, with the driver's result for CheckDriver, which reports the
/// limit that a rejected launch exceeds.
class __attribute__((visibility("default"))) CubinKernel {
 public:
  /// An empty kernel, to be assigned to.
  CubinKernel() = default;

  /// A kernel of a loaded image; see CubinModule::GetKernel.
  CubinKernel(std::shared_ptr<const LoadedImage> image, const char* name)
      : state_(std::make_unique<State>()) {
    CaptureScope relaxed;
    state_->image = std::move(image);
    const CUlibrary library = state_->image->handle;
    const Status status{entry::cuLibraryGetKernel(&state_->handle, library, name),
                        "cuLibraryGetKernel"};
    if (!status.ok()) state_->image->ThrowError(status, name);
  }

  /// Launches with typed arguments: `Launch(config, x_ptr, y_ptr, n)`.
  /// \param config Shape, dynamic shared memory, stream, attributes, device.
  /// \param args The kernel's arguments, each of exactly its parameter's type (a CUtensorMap, a
  /// struct): the bytes are passed unchanged, so a 1 is not a 1.0f.
  /// \throws TypeError Their number or sizes do not match. (Not checked before CUDA 12.4.)
  template <typename... Args>
  [[nodiscard]] Status Launch(const LaunchConfig& config, const Args&... args) {
    static_assert((std::is_trivially_copyable_v<Args> && ...),
                  "arguments are passed to the kernel as bytes: each must be trivially copyable");
    static_assert(!((std::is_array_v<Args> || std::is_null_pointer_v<Args>) || ...),
                  "an argument cannot be an array or nullptr: pass static_cast<T*>(nullptr), and "
                  "pointers to all arguments first, Launch(args, config)");
    void* pointers[] = {const_cast<void*>(static_cast<const void*>(std::addressof(args)))...,
                        nullptr};
    return Run(pointers, config.Get(), config.GetDevice(), kSizes<sizeof(Args)...>,
               sizeof...(Args));
  }

  /// Launches with pointers to the arguments, in order.
  [[nodiscard]] Status Launch(void** args, const LaunchConfig& config) {
    return Run(args, config.Get(), config.GetDevice());
  }

  /// The same with separate arguments; attributes come with their count, or neither is given.
  [[nodiscard]] Status Launch(void** args, Dim3 grid, Dim3 block, CUstream stream,
                              uint32_t dynamic_smem_bytes = 0) {
    return Launch(args, grid, block, stream, dynamic_smem_bytes, nullptr, 0);
  }
  [[nodiscard]] Status Launch(void** args, Dim3 grid, Dim3 block, CUstream stream,
                              uint32_t dynamic_smem_bytes, const CUlaunchAttribute* attributes,
                              unsigned num_attributes) {
    // The driver only reads a launch's attributes, although their type is not const.
    auto* attrs = const_cast<CUlaunchAttribute*>(attributes);
    const CUlaunchConfig config{
        grid.x, grid.y, grid.z,        block.x, block.y, block.z, dynamic_smem_bytes,
        stream, attrs,  num_attributes};
    return LaunchEx(&config, args);
  }

  /// The same with the driver's own configuration, in the argument order of cuLaunchKernelEx.
  [[nodiscard]] Status LaunchEx(const CUlaunchConfig* config, void** args) {
    return Run(args, *config, -1);
  }

  /// Returns how much of a launch fits on a device at once: blocks per multiprocessor, the largest
  /// cooperative grid, the largest cluster.
  /// \param config Its device, block, dynamic shared memory and cluster are used.
  /// \throws LaunchError The driver reports an error.
  Occupancy GetOccupancy(const LaunchConfig& config) {
    if (state_ == nullptr) CheckDriver(CUDA_ERROR_INVALID_HANDLE, "occupancy of an empty kernel");
    DeviceScope scope;
    Occupancy occupancy;
    int device = config.GetDevice();
    CheckDriver(EnterLaunch(config.Get().hStream, &device, &scope));
    CheckDriver(state_->opted_in.Ensure(state_->handle, device));
    CheckDriver(FindOccupancy(state_->handle, device, config.Get(), &occupancy));
    return occupancy;
  }

  /// The driver's handle; null for an empty kernel.
  CUkernel GetHandle() const { return state_ == nullptr ? nullptr : state_->handle; }

 private:
  /// A kernel, and the state that launches from several threads share.
  struct State {
    CUkernel handle = nullptr;
    std::shared_ptr<const LoadedImage> image;
    OptedIn opted_in;
    const size_t* checked = nullptr;  // sizes of typed arguments known to fit
  };

  /// Launches, after checking sizes of typed arguments against the kernel's.
  Status Run(void** args, const CUlaunchConfig& config, int device, const size_t* sizes = nullptr,
             size_t count = 0) {
    if (state_ == nullptr) return {CUDA_ERROR_INVALID_HANDLE, "cuLaunchKernelEx"};
    const CUkernel handle = state_->handle;
    DeviceScope scope;
    Status status = EnterLaunch(config.hStream, &device, &scope);
    if (!status.ok()) return status;
    if (sizes != nullptr && sizes != __atomic_load_n(&state_->checked, __ATOMIC_RELAXED)) {
      CheckParameters(handle, sizes, count);
      __atomic_store_n(&state_->checked, sizes, __ATOMIC_RELAXED);
    }
    state_->opted_in.Ensure(handle, device);
    status = LaunchHere(handle, config, args);
    return __builtin_expect(status.ok(), 1) ? status : NoteRefusal(status, handle, device, config);
  }

  std::unique_ptr<State> state_;
};

/// An image. Constructing one makes no driver calls, so a static one needs no driver; the first
/// GetKernel, from any thread, loads it once for all devices.
class __attribute__((visibility("default"))) CubinModule {
 public:
  /// An empty module, to be assigned to.
  CubinModule() = default;

  /// \param image A cubin, fatbin or PTX text; kept as long as the module.
  explicit CubinModule(tvm::ffi::Bytes image) : CubinModule(static_cast<const void*>(nullptr)) {
    image_->bytes = std::move(image);
    // Only now: short contents are stored in the Bytes object itself, whose address just changed.
    image_->image = image_->bytes.data();
  }

  /// \param image The same, in memory that stays valid until the image is loaded.
  /// \param table The table that EMBED_CUBIN declares, or null if the image is not embedded.
  explicit CubinModule(const void* image, const void* const* table = nullptr)
      : image_(std::make_shared<LoadedImage>()) {
    image_->image = image;
    image_->table = table;
  }

  /// Loads the image now, unless it is already loaded.
  /// \throws LaunchError There is no driver, or it rejects the image, which it may do only when a
  /// kernel is requested.
  TVMFFI_CUBIN_COLD void Load() const {
    if (image_ == nullptr || image_->image == nullptr) {
      Throw("LaunchError", "the CubinModule has no image: it was moved from, or never set");
    }
    const Status status = image_->Load();
    if (!status.ok()) image_->ThrowError(status);
  }

  /// \param name The kernel's symbol: its name if it is `extern "C"`, else its mangled name.
  /// \throws LaunchError As Load, or the image has no such kernel; the message lists those it has.
  CubinKernel GetKernel(const char* name) const {
    Load();
    return CubinKernel(image_, name);
  }
  CubinKernel operator[](const char* name) const { return GetKernel(name); }

  /// The driver's handle; loads the image, so it throws what Load throws.
  CUlibrary GetHandle() const {
    Load();
    return image_->handle;
  }

 private:
  std::shared_ptr<LoadedImage> image_;
};

/// The module of an image that EMBED_CUBIN declared, one per shared object. It is never destroyed:
/// kernels in static variables use it until the process exits.
template <const void* const (&kImage)[4]>
CubinModule& EmbeddedModule() {
  static CubinModule* const module = new CubinModule(kImage[0], kImage);
  return *module;
}

TVMFFI_CUBIN_END
