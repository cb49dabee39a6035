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

/*! \brief The sizes of a kernel's parameters in bytes; drivers before CUDA 12.4 do not tell. */
struct ParameterSizes {
  bool known = false;
  std::vector<size_t> sizes;
};

/*! \brief These, read from the image when first asked for, from whichever thread; movable. */
class KernelParameters {
 public:
  KernelParameters() = default;
  KernelParameters(KernelParameters&& other) noexcept
      : table_(std::exchange(other.table_, nullptr)) {}
  KernelParameters& operator=(KernelParameters&& other) noexcept {
    std::swap(table_, other.table_);
    return *this;
  }
  ~KernelParameters() { delete table_; }

  /*! \brief The sizes; null where the driver, which tells them in a context alone, cannot now. */
  const ParameterSizes* Find(CUkernel kernel) {
    const ParameterSizes* table = __atomic_load_n(&table_, __ATOMIC_ACQUIRE);
    return __builtin_expect(table != nullptr, 1) ? table : Read(kernel);
  }

  /*! \brief Takes them from the build where that tells them: with bound_params. */
  void TakeFromBuild(const ImageFacts& facts, const char* name);

 private:
  const ParameterSizes* Read(CUkernel kernel);

  const ParameterSizes* table_ = nullptr;
};

/*! \brief The arguments' own sizes, to be compared with the kernel's; null: not compared. */
struct ArgumentSizes {
  const size_t* sizes = nullptr;
  size_t count = 0;

  /*! \throws TypeError Their number or a size is not the kernel's. */
  void Check(CUkernel kernel, const ParameterSizes& wanted) const {
    bool same = wanted.sizes.size() == count + NumBoundParams();
    for (size_t i = 0; same && i < count; ++i) same = wanted.sizes[i] == sizes[i];
    if (__builtin_expect(!same, 0)) Throw(kernel, wanted.sizes);
  }

 private:
  [[noreturn]] void Throw(CUkernel kernel, const std::vector<size_t>& wanted) const;
};

/*! \brief Launches with what is bound behind the caller's own arguments; the device is current. */
Status LaunchBound(const Driver* driver, CUkernel kernel, KernelParameters* parameters,
                   const CUlaunchConfig& config, void** args);

/*!
 * \brief Launches on a device, the driver's own answer being returned.
 * \param limits Of the kernel; null: the caller opts in itself.
 * \param device The device; -1: as EnterLaunch has it.
 */
inline Status Dispatch(const Driver* driver, CUkernel kernel, KernelLimits* limits,
                       KernelParameters* parameters, const CUlaunchConfig& config, void** args,
                       int device = -1, ArgumentSizes sizes = {}) {
  if (kernel == nullptr) return {CUDA_ERROR_INVALID_HANDLE, "cuLaunchKernelEx"};
  DeviceScope scope;
  Status status = EnterLaunch(driver, config.hStream, device, &scope);
  if (status.ok() && sizes.sizes != nullptr) {
    const ParameterSizes* wanted = parameters->Find(kernel);
    if (wanted != nullptr && wanted->known) sizes.Check(kernel, *wanted);
  }
  if (status.ok() && limits != nullptr) status = limits->OptIn(driver, kernel, device, config);
  if (!status.ok()) return status;
#ifdef TVMFFI_CUBIN_BOUND_PARAMS
  return LaunchBound(driver, kernel, parameters, config, args);
#else
  // A CUkernel may stand for a CUfunction: the driver takes that of the stream's context, of the
  // current one on a default stream (CUDA driver API, cuLaunchKernel).
  const auto function = reinterpret_cast<CUfunction>(kernel);
  return {driver->cuLaunchKernelEx(&config, function, args, nullptr), "cuLaunchKernelEx"};
#endif
}

#ifndef TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_COLD const ParameterSizes* KernelParameters::Read(CUkernel kernel) {
  CaptureScope relaxed;
  auto read = std::make_unique<ParameterSizes>();
  size_t offset = 0, size = 0;
  CUresult result = CUDA_SUCCESS;
  while (result == CUDA_SUCCESS) {
    result = entry::cuKernelGetParamInfo(kernel, read->sizes.size(), &offset, &size);
    if (result == CUDA_SUCCESS) read->sizes.push_back(size);
  }
  read->known = result == CUDA_ERROR_INVALID_VALUE;  // what it says of the one past the last
  if (!read->known && result != CUDA_ERROR_NOT_FOUND) return nullptr;
  const ParameterSizes* first = nullptr;  // of several threads
  if (__atomic_compare_exchange_n(&table_, &first, read.get(), false, __ATOMIC_ACQ_REL,
                                  __ATOMIC_ACQUIRE)) {
    return read.release();
  }
  return first;
}

TVMFFI_CUBIN_COLD void KernelParameters::TakeFromBuild(const ImageFacts& facts, const char* name) {
#ifdef TVMFFI_CUBIN_BOUND_PARAMS
  const BoundTable& table = __tvmffi_cubin_bound;
  for (int i = 0; i < table.num_kernels; ++i) {
    const BoundKernel& kernel = table.kernels[i];
    // The text with the architectures is the image's own, so its address tells which image it is.
    if (kernel.image[2] != facts.arches || strcmp(kernel.symbol, name) != 0) continue;
    table_ = new ParameterSizes{true, {kernel.sizes, kernel.sizes + kernel.num_params}};
    return;
  }
#else
  (void)facts, (void)name;
#endif
}

[[noreturn]] TVMFFI_CUBIN_COLD void ArgumentSizes::Throw(CUkernel kernel,
                                                         const std::vector<size_t>& wanted) const {
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

/*! \brief Why what is bound is no kernel's last parameters; empty where it is. */
TVMFFI_CUBIN_COLD std::string DescribeMismatch(const ParameterSizes* sizes) {
  const BoundTable& table = __tvmffi_cubin_bound;
  if (sizes == nullptr || !sizes->known) {
    return "the module has bound_params, and how many parameters the kernel has is not known: a "
           "driver of CUDA 12.4 or newer tells";
  }
  std::string wanted, found;
  for (int i = 0; i < table.num_trailing; ++i) {
    const Param& param = *table.Trailing()[i].param;
    wanted += (i == 0 ? "" : ", ") + std::string(param.name) + " (" + std::to_string(param.size) +
              " bytes)";
  }
  for (size_t size : sizes->sizes) found += (found.empty() ? "" : ", ") + std::to_string(size);
  return "the module's bound_params are its kernels' last parameters, " + wanted +
         "; this one's parameters are of " + (found.empty() ? "no" : found) + " bytes";
}

/*! \brief The same of one that is not bound on a device. */
TVMFFI_CUBIN_COLD std::string DescribeUnbound(const Param& param, int device) {
  const std::string name = param.name;
  return "the parameter " + name + " (" + param.type + ") is not bound on device " +
         std::to_string(device) + ": call mod.bind(" + name + "=...) before";
}

/*! \brief Whether a kernel's last parameters are as large as those that are bound. */
inline bool EndsInBound(const ParameterSizes& sizes, const BoundTable& table) {
  const size_t count = NumBoundParams();
  if (!sizes.known || sizes.sizes.size() < count) return false;
  const size_t own = sizes.sizes.size() - count;
  for (size_t i = 0; i < count; ++i) {
    if (sizes.sizes[own + i] != table.Trailing()[i].param->size) return false;
  }
  return true;
}

TVMFFI_CUBIN_SHARED Status LaunchBound(const Driver* driver, CUkernel kernel,
                                       KernelParameters* parameters, const CUlaunchConfig& config,
                                       void** args) {
  constexpr Status kRefused{CUDA_ERROR_INVALID_VALUE, "cuLaunchKernelEx"};
  BoundTable* table = &__tvmffi_cubin_bound;
  // The caller's array does not say how long it is, so the kernel's own count is what is read.
  const ParameterSizes* sizes = parameters->Find(kernel);
  if (sizes == nullptr || !EndsInBound(*sizes, *table)) {
    return NoteProblem(kRefused, false, KernelName(kernel), DescribeMismatch(sizes).c_str());
  }
  const size_t count = sizes->sizes.size(), own = count - NumBoundParams();
  if (own != 0 && args == nullptr) return kRefused;
  void** all = static_cast<void**>(__builtin_alloca(sizeof(void*) * (count + 1)));
  for (size_t i = 0; i < own; ++i) all[i] = args[i];
  const GateUse use(&table->gate);
  const int device = CurrentDevice(driver);
  for (size_t i = own; i < count; ++i) {
    const BoundSlot& slot = table->Trailing()[i - own];
    const void* value = slot.Find(device);
    if (value == nullptr && slot.required) {
      const std::string reason = DescribeUnbound(*slot.param, device);
      return NoteProblem(kRefused, false, KernelName(kernel), reason.c_str());
    }
    all[i] = const_cast<void*>(value != nullptr ? value : slot.zeros);
  }
  const auto function = reinterpret_cast<CUfunction>(kernel);
  return {driver->cuLaunchKernelEx(&config, function, all, nullptr), "cuLaunchKernelEx"};
}

#endif  // TVMFFI_CUBIN_BOUND_PARAMS

#endif  // TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_DISPATCH_H_
