/*!
 * \file tvmffi_cubin/dispatch.h
 * \brief Dispatch: launches a kernel on its device, with typed arguments compared and what is bound
 * behind the caller's own.
 *
 * A build with bound_params defines TVMFFI_CUBIN_BOUND_PARAMS for all units that launch, and links
 * the table of what is bound. Without it, nothing of that costs a launch anything.
 */
#ifndef TVMFFI_CUBIN_DISPATCH_H_
#define TVMFFI_CUBIN_DISPATCH_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "check_driver.h"

#ifdef TVMFFI_CUBIN_BOUND_PARAMS
#include "launcher/plan.h"
extern "C" __attribute__((visibility("hidden"))) tvmffi_cubin::BoundTable __tvmffi_cubin_bound;
#endif

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief A kernel's name in its image; "a kernel" where the driver is too old to say. */
inline const char* KernelName(CUkernel kernel) {
  const char* name = nullptr;
  const bool known = entry::cuKernelGetName(&name, kernel) == CUDA_SUCCESS && name != nullptr;
  return known ? name : "a kernel";
}

/*! \brief How many of the last parameters no caller passes. */
inline size_t NumBoundParams() {
#ifdef TVMFFI_CUBIN_BOUND_PARAMS
  return static_cast<size_t>(__tvmffi_cubin_bound.num_trailing);
#else
  return 0;
#endif
}

/*! \brief The CUDA version from which drivers tell kernels' parameters. */
constexpr int kTellsParameters = 12040;

using ParameterSizes = std::vector<size_t>;

/*!
 * \brief The sizes of a kernel's parameters in bytes, read from the image when first asked for,
 * from whichever thread; movable.
 */
class KernelParameters {
 public:
  KernelParameters() = default;
  KernelParameters(KernelParameters&& other) noexcept
      : sizes_(std::exchange(other.sizes_, nullptr)) {}
  KernelParameters& operator=(KernelParameters&& other) noexcept {
    std::swap(sizes_, other.sizes_);
    return *this;
  }
  ~KernelParameters() { delete sizes_; }

  /*! \brief The sizes; null where the driver, which tells them in a context alone, does not. */
  const ParameterSizes* Find(CUkernel kernel) {
    const ParameterSizes* sizes = __atomic_load_n(&sizes_, __ATOMIC_ACQUIRE);
    return __builtin_expect(sizes != nullptr, 1) ? sizes : Read(kernel);
  }

 private:
  const ParameterSizes* Read(CUkernel kernel);

  const ParameterSizes* sizes_ = nullptr;
};

/*! \brief The arguments' own sizes, to be compared with the kernel's; null: not compared. */
struct ArgumentSizes {
  const size_t* sizes = nullptr;
  size_t count = 0;

  /*! \throws TypeError Their number or a size is not the kernel's. */
  void Check(CUkernel kernel, const ParameterSizes& wanted) const {
    bool same = wanted.size() == count + NumBoundParams();
    for (size_t i = 0; same && i < count; ++i) same = wanted[i] == sizes[i];
    if (__builtin_expect(!same, 0)) Throw(kernel, wanted);
  }

 private:
  [[noreturn]] void Throw(CUkernel kernel, const ParameterSizes& wanted) const;
};

/*! \brief Launches with what is bound behind the caller's own arguments; the device is current. */
Status LaunchBound(CUkernel kernel, KernelParameters* parameters, const CUlaunchConfig& config,
                   void** args);

/*!
 * \brief Launches on a device, the driver's own answer being returned.
 * \param limits Of the kernel; null: the caller opts in itself.
 * \param device The device; -1: as EnterLaunch has it.
 */
inline Status Dispatch(CUkernel kernel, KernelLimits* limits, KernelParameters* parameters,
                       const CUlaunchConfig& config, void** args, int device = -1,
                       ArgumentSizes sizes = {}) {
  if (kernel == nullptr) return {CUDA_ERROR_INVALID_HANDLE, "cuLaunchKernelEx"};
  DeviceScope scope;
  Status status = EnterLaunch(config.hStream, device, &scope);
  if (status.ok() && sizes.sizes != nullptr && driver_state.version >= kTellsParameters) {
    const ParameterSizes* wanted = parameters->Find(kernel);
    if (wanted != nullptr) sizes.Check(kernel, *wanted);
  }
  if (status.ok() && limits != nullptr) status = limits->OptIn(kernel, device, config);
  if (!status.ok()) return status;
#ifdef TVMFFI_CUBIN_BOUND_PARAMS
  return LaunchBound(kernel, parameters, config, args);
#else
  // A CUkernel may stand for a CUfunction: the driver takes that of the stream's context, of the
  // current one on a default stream (CUDA driver API, cuLaunchKernel).
  const auto function = reinterpret_cast<CUfunction>(kernel);
  return {entry::cuLaunchKernelEx(&config, function, args, nullptr), "cuLaunchKernelEx"};
#endif
}

#ifndef TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_COLD const ParameterSizes* KernelParameters::Read(CUkernel kernel) {
  CaptureScope relaxed;
  auto read = std::make_unique<ParameterSizes>();
  size_t offset = 0, size = 0;
  CUresult result = CUDA_SUCCESS;
  while (result == CUDA_SUCCESS) {
    result = entry::cuKernelGetParamInfo(kernel, read->size(), &offset, &size);
    if (result == CUDA_SUCCESS) read->push_back(size);
  }
  if (result != CUDA_ERROR_INVALID_VALUE) return nullptr;  // what it says of the one past the last
  const ParameterSizes* first = nullptr;                   // of several threads
  if (__atomic_compare_exchange_n(&sizes_, &first, read.get(), false, __ATOMIC_ACQ_REL,
                                  __ATOMIC_ACQUIRE)) {
    return read.release();
  }
  return first;
}

[[noreturn]] TVMFFI_CUBIN_COLD void ArgumentSizes::Throw(CUkernel kernel,
                                                         const ParameterSizes& wanted) const {
  const std::string name = KernelName(kernel);
  const size_t bound = NumBoundParams();
  if (wanted.size() != count + bound) {
    const std::string less = bound == 0 ? "" : " less " + std::to_string(bound) + " that are bound";
    TVM_FFI_THROW(TypeError) << name << " takes " << wanted.size() << " arguments" << less
                             << ", Launch got " << count;
  }
  size_t i = 0;
  while (sizes[i] == wanted[i]) ++i;
  TVM_FFI_THROW(TypeError) << name << ": argument " << i + 1 << " of " << count << " has "
                           << sizes[i] << " bytes, the kernel's parameter has " << wanted[i]
                           << ": pass a value of the parameter's own type";
  __builtin_unreachable();
}

#ifdef TVMFFI_CUBIN_BOUND_PARAMS

/*! \brief Why a kernel is not launched: a parameter is not bound, or what is bound is not its last.
 */
TVMFFI_CUBIN_COLD Status RefuseBound(CUkernel kernel, const ParameterSizes* sizes,
                                     const BoundSlot* slot, int device) {
  std::string reason;
  if (slot != nullptr) {
    const std::string name = slot->param->name;
    reason = "the parameter " + name + " (" + slot->param->type + ") is not bound on device " +
             std::to_string(device) + ": call mod.bind(" + name + "=...) before";
  } else if (sizes == nullptr) {
    reason =
        "the module has bound_params, and how many parameters the kernel has is not known: a "
        "driver of CUDA 12.4 or newer tells";
  } else {
    reason = "the module's bound_params are its kernels' last parameters";
    const BoundTable& table = __tvmffi_cubin_bound;
    for (int i = 0; i < table.num_trailing; ++i) {
      const Param& param = *table.Trailing()[i].param;
      reason += ", " + std::string(param.name) + " (" + std::to_string(param.size) + " bytes)";
    }
    reason += "; this one's are others";
  }
  return NoteProblem({CUDA_ERROR_INVALID_VALUE, "cuLaunchKernelEx"}, false, KernelName(kernel),
                     reason.c_str());
}

/*! \brief Whether a kernel's last parameters are as large as those that are bound. */
inline bool EndsInBound(const ParameterSizes& sizes, const BoundTable& table) {
  const size_t count = NumBoundParams();
  if (sizes.size() < count) return false;
  const size_t own = sizes.size() - count;
  for (size_t i = 0; i < count; ++i) {
    if (sizes[own + i] != table.Trailing()[i].param->size) return false;
  }
  return true;
}

TVMFFI_CUBIN_SHARED Status LaunchBound(CUkernel kernel, KernelParameters* parameters,
                                       const CUlaunchConfig& config, void** args) {
  BoundTable* table = &__tvmffi_cubin_bound;
  // The caller's array does not say how long it is, so the kernel's own count is what is read.
  const ParameterSizes* sizes = parameters->Find(kernel);
  if (sizes == nullptr || !EndsInBound(*sizes, *table)) {
    return RefuseBound(kernel, sizes, nullptr, -1);
  }
  const size_t count = sizes->size(), own = count - NumBoundParams();
  if (own != 0 && args == nullptr) return {CUDA_ERROR_INVALID_VALUE, "cuLaunchKernelEx"};
  void** all = static_cast<void**>(__builtin_alloca(sizeof(void*) * (count + 1)));
  for (size_t i = 0; i < own; ++i) all[i] = args[i];
  const GateUse use(&table->gate);
  const int device = CurrentDevice();
  for (size_t i = own; i < count; ++i) {
    const BoundSlot& slot = table->Trailing()[i - own];
    const void* value = slot.Find(device);
    if (value == nullptr && slot.required) return RefuseBound(kernel, sizes, &slot, device);
    all[i] = const_cast<void*>(value != nullptr ? value : slot.zeros);
  }
  const auto function = reinterpret_cast<CUfunction>(kernel);
  return {entry::cuLaunchKernelEx(&config, function, all, nullptr), "cuLaunchKernelEx"};
}

#endif  // TVMFFI_CUBIN_BOUND_PARAMS

#endif  // TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_DISPATCH_H_
