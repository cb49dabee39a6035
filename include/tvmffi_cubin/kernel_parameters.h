/*!
 * \file tvmffi_cubin/kernel_parameters.h
 * \brief The sizes of a kernel's parameters: typed launches are checked against them, and what is
 * bound comes behind the caller's own arguments.
 *
 * A build with bound_params defines TVMFFI_CUBIN_BOUND_PARAMS for all units that launch, and links
 * the table of what is bound. Without it, nothing of that costs a launch anything.
 */
#ifndef TVMFFI_CUBIN_KERNEL_PARAMETERS_H_
#define TVMFFI_CUBIN_KERNEL_PARAMETERS_H_

#include <tvm/ffi/error.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "core/dispatch.h"
#include "core/limits.h"

#ifdef TVMFFI_CUBIN_BOUND_PARAMS
#include "core/bound.h"
#include "core/gate.h"
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

/*! \brief The sizes of a kernel's parameters in bytes, where they are known. */
struct ParameterSizes {
  bool known = false;
  std::vector<size_t> sizes;
};

/*!
 * \brief Read from the image when first asked for, from whichever thread; movable. Drivers before
 * CUDA 12.4 do not tell them, and then nothing is checked.
 */
class KernelParameters {
 public:
  KernelParameters() = default;
  KernelParameters(KernelParameters&& other) noexcept { *this = std::move(other); }
  KernelParameters& operator=(KernelParameters&& other) noexcept {
    if (this != &other) delete table_.exchange(other.table_.exchange(nullptr));
    return *this;
  }
  ~KernelParameters() { delete table_.load(std::memory_order_relaxed); }

  /*!
   * \brief Finds the sizes.
   * \param stream, device Where the launch goes: the driver does not tell them outside a context.
   * \param[out] sizes Null where the driver cannot tell now and may later.
   * \return What kept the device from being entered.
   */
  Status Find(const Driver* driver, CUkernel kernel, CUstream stream, int device,
              const ParameterSizes** sizes) {
    *sizes = table_.load(std::memory_order_acquire);
    if (__builtin_expect(*sizes != nullptr, 1)) return {};
    return Read(driver, kernel, stream, device, sizes);
  }

  /*!
   * \brief Checks the arguments of a launch, `count` of the sizes `sizes`.
   * \throws TypeError Their number or a size is not the kernel's.
   */
  Status Check(const Driver* driver, CUkernel kernel, CUstream stream, int device,
               const size_t* sizes, size_t count) {
    const ParameterSizes* table = nullptr;
    const Status status = Find(driver, kernel, stream, device, &table);
    if (!status.ok() || table == nullptr || !table->known) return status;
    bool same = table->sizes.size() == count + NumBoundParams();
    for (size_t i = 0; same && i < count; ++i) same = table->sizes[i] == sizes[i];
    if (__builtin_expect(!same, 0)) Throw(kernel, table->sizes, sizes, count);
    return {};
  }

  /*! \brief Takes the sizes from the build where that tells them: with bound_params. */
  void TakeFromBuild(const ImageFacts& facts, const char* name);

 private:
  Status Read(const Driver* driver, CUkernel kernel, CUstream stream, int device,
              const ParameterSizes** table);
  [[noreturn]] static void Throw(CUkernel kernel, const std::vector<size_t>& wanted,
                                 const size_t* sizes, size_t count);

  std::atomic<const ParameterSizes*> table_{nullptr};
};

/*!
 * \brief Launches with what is bound behind the caller's own arguments, as Dispatch does.
 *
 * The kernel's count says how many are the caller's; what `args` may have beyond those is not read.
 */
Status DispatchBound(const DispatchTarget& target, KernelParameters* parameters,
                     const CUlaunchConfig& config, void** args, int device);

/*! \brief Launches, with what is bound where something is. */
inline Status DispatchKernel(const DispatchTarget& target, KernelParameters* parameters,
                             const CUlaunchConfig& config, void** args, int device = -1) {
#ifdef TVMFFI_CUBIN_BOUND_PARAMS
  return DispatchBound(target, parameters, config, args, device);
#else
  (void)parameters;
  return Dispatch(target, config, args, device);
#endif
}

/*! \brief Launches a kernel of which nothing is kept from launch to launch. */
inline Status DispatchHandle(const Driver* driver, CUkernel kernel, const CUlaunchConfig& config,
                             void** args) {
  KernelParameters parameters;
  return DispatchKernel({driver, kernel}, &parameters, config, args);
}

#ifndef TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_COLD Status KernelParameters::Read(const Driver* driver, CUkernel kernel,
                                                CUstream stream, int device,
                                                const ParameterSizes** table) {
  CaptureScope relaxed;
  DeviceScope scope;
  const Status status = EnterLaunch(driver, stream, device, &scope);
  if (!status.ok()) return status;
  auto read = std::make_unique<ParameterSizes>();
  size_t offset = 0, size = 0;
  CUresult result = CUDA_SUCCESS;
  while (result == CUDA_SUCCESS) {
    result = entry::cuKernelGetParamInfo(kernel, read->sizes.size(), &offset, &size);
    if (result == CUDA_SUCCESS) read->sizes.push_back(size);
  }
  read->known = result == CUDA_ERROR_INVALID_VALUE;  // what it says of the one past the last
  if (!read->known && result != CUDA_ERROR_NOT_FOUND) return {};
  *table = nullptr;
  if (table_.compare_exchange_strong(*table, read.get())) *table = read.release();
  return {};  // else another thread was first, and the table is its
}

[[noreturn]] TVMFFI_CUBIN_COLD void KernelParameters::Throw(CUkernel kernel,
                                                            const std::vector<size_t>& wanted,
                                                            const size_t* sizes, size_t count) {
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

TVMFFI_CUBIN_COLD void KernelParameters::TakeFromBuild(const ImageFacts& facts, const char* name) {
#ifdef TVMFFI_CUBIN_BOUND_PARAMS
  const BoundTable& table = __tvmffi_cubin_bound;
  for (int i = 0; i < table.num_kernels; ++i) {
    const BoundKernel& kernel = table.kernels[i];
    // The text with the architectures is the image's own, so its address tells which image it is.
    if (kernel.image[2] != facts.arches || strcmp(kernel.symbol, name) != 0) continue;
    auto read = std::make_unique<ParameterSizes>();
    read->known = true;
    read->sizes.assign(kernel.sizes, kernel.sizes + kernel.num_params);
    delete table_.exchange(read.release());
    return;
  }
#else
  (void)facts, (void)name;
#endif
}

#ifdef TVMFFI_CUBIN_BOUND_PARAMS

/*! \brief Notes why a kernel is not launched: a slot is empty, or parameters do not match. */
TVMFFI_CUBIN_COLD Status RefuseBound(CUkernel kernel, const ParameterSizes* sizes,
                                     const BoundSlot* slot, int device) {
  std::string reason;
  if (slot != nullptr) {
    const std::string name = slot->param->name;
    reason = "the parameter " + name + " (" + slot->param->type + ") is not bound" +
             (device < 0 ? "" : " on device " + std::to_string(device)) + ": call mod.bind(" + name +
             "=...) before";
  } else if (sizes == nullptr || !sizes->known) {
    reason =
        "the module has bound_params, and how many parameters the kernel has is not known: a "
        "driver of CUDA 12.4 or newer tells";
  } else {
    const BoundTable& table = __tvmffi_cubin_bound;
    std::string wanted, found;
    for (int i = 0; i < table.num_trailing; ++i) {
      const Param& param = *table.Trailing()[i].param;
      wanted += (i == 0 ? "" : ", ") + std::string(param.name) + " (" + std::to_string(param.size) +
                " bytes)";
    }
    for (size_t size : sizes->sizes) found += (found.empty() ? "" : ", ") + std::to_string(size);
    reason = "the module's bound_params are its kernels' last parameters, " + wanted +
             "; this one's parameters are of " + (found.empty() ? "no" : found) + " bytes";
  }
  return NoteProblem({CUDA_ERROR_INVALID_VALUE, "cuLaunchKernelEx"}, false, KernelName(kernel),
                     reason.c_str());
}

/*! \brief Whether a kernel's last parameters are as large as those that are bound. */
inline bool EndsInBound(const ParameterSizes& sizes, const BoundTable& table) {
  const size_t count = static_cast<size_t>(table.num_trailing);
  if (!sizes.known || sizes.sizes.size() < count) return false;
  const size_t own = sizes.sizes.size() - count;
  for (size_t i = 0; i < count; ++i) {
    if (sizes.sizes[own + i] != table.Trailing()[i].param->size) return false;
  }
  return true;
}

TVMFFI_CUBIN_SHARED Status DispatchBound(const DispatchTarget& target, KernelParameters* parameters,
                                         const CUlaunchConfig& config, void** args, int device) {
  if (target.kernel == nullptr) return Dispatch(target, config, args, device);
  const ParameterSizes* sizes = nullptr;
  const Status status =
      parameters->Find(target.driver, target.kernel, config.hStream, device, &sizes);
  if (!status.ok()) return status;
  BoundTable* table = &__tvmffi_cubin_bound;
  if (sizes == nullptr || !EndsInBound(*sizes, *table)) {
    return RefuseBound(target.kernel, sizes, nullptr, device);
  }
  const size_t count = sizes->sizes.size();
  const size_t own = count - static_cast<size_t>(table->num_trailing);
  if (own != 0 && args == nullptr) return {CUDA_ERROR_INVALID_VALUE, "cuLaunchKernelEx"};
  void** all = static_cast<void**>(__builtin_alloca(sizeof(void*) * (count + 1)));
  for (size_t i = 0; i < own; ++i) all[i] = args[i];
  const GateUse use(&table->gate);
  int place = device;
  for (size_t i = own; i < count; ++i) {
    const BoundSlot& slot = table->Trailing()[i - own];
    if (place < 0 && slot.cells != nullptr) place = LaunchDevice(target.driver, config.hStream);
    const void* value = slot.Find(place);
    if (value == nullptr && slot.required) return RefuseBound(target.kernel, sizes, &slot, place);
    all[i] = const_cast<void*>(value != nullptr ? value : slot.zeros);
  }
  return Dispatch(target, config, all, device);
}

#endif  // TVMFFI_CUBIN_BOUND_PARAMS

#endif  // TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_KERNEL_PARAMETERS_H_
