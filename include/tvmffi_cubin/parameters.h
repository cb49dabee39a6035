/*!
 * \file tvmffi_cubin/parameters.h
 * \brief The parameters of a kernel that C++ launches: their sizes, and what is bound behind the
 * caller's own.
 *
 * A build with bound_params defines TVMFFI_CUBIN_BOUND_PARAMS for all units that launch, and links
 * the table of what is bound. Without it, nothing of that costs a launch anything.
 */
#pragma once

#include <string>
#include <vector>

#include "check_driver.h"

#ifdef TVMFFI_CUBIN_BOUND_PARAMS
#include "launcher/plan.h"
extern "C" __attribute__((visibility("hidden"))) tvmffi_cubin::BoundTable __tvmffi_cubin_bound;
#endif

TVMFFI_CUBIN_BEGIN

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

/*! \brief The sizes of a kernel's parameters in bytes, read when first asked for. */
class ParameterSizes {
 public:
  /*! \brief The sizes; null where the driver, which tells them in a context alone, does not. */
  const std::vector<size_t>* Find(CUkernel kernel) {
    const bool is_read = __atomic_load_n(&is_read_, __ATOMIC_ACQUIRE);
    return __builtin_expect(is_read, 1) || Read(kernel) ? &sizes_ : nullptr;
  }

  /*!
   * \brief Compares arguments' own sizes with the kernel's, where the driver tells those.
   * \throws TypeError Their number or a size is another.
   */
  void Check(CUkernel kernel, const size_t* sizes, size_t count) {
    constexpr int kTellsParameters = 12040;
    const auto* wanted = driver_state.version < kTellsParameters ? nullptr : Find(kernel);
    if (wanted == nullptr) return;
    bool same = wanted->size() == count + NumBoundParams();
    for (size_t i = 0; same && i < count; ++i) same = (*wanted)[i] == sizes[i];
    if (__builtin_expect(!same, 0)) ThrowOther(kernel, sizes, count);
  }

 private:
  bool Read(CUkernel kernel);
  [[noreturn]] void ThrowOther(CUkernel kernel, const size_t* sizes, size_t count) const;

  int32_t lock_ = 0;
  bool is_read_ = false;
  std::vector<size_t> sizes_;
};

/*!
 * \brief Launches with what is bound behind the caller's own arguments; the device is current.
 * \throws LaunchError A parameter is not bound, or what is bound is not the kernel's last.
 */
Status LaunchBound(CUkernel kernel, ParameterSizes* parameters, const CUlaunchConfig& config,
                   void** args);

/*! \brief Launches on the current device, the driver's own answer being returned. */
inline Status LaunchHere(CUkernel kernel, ParameterSizes* parameters, const CUlaunchConfig& config,
                         void** args) {
#ifdef TVMFFI_CUBIN_BOUND_PARAMS
  return LaunchBound(kernel, parameters, config, args);
#else
  (void)parameters;
  // A CUkernel may stand for a CUfunction: the driver takes that of the stream's context, of the
  // current one on a default stream (CUDA driver API, cuLaunchKernel).
  const auto function = reinterpret_cast<CUfunction>(kernel);
  return {entry::cuLaunchKernelEx(&config, function, args, nullptr), "cuLaunchKernelEx"};
#endif
}

#ifndef TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_COLD bool ParameterSizes::Read(CUkernel kernel) {
  CaptureScope relaxed;
  const SpinLock hold(&lock_);
  if (is_read_) return true;
  size_t offset = 0, size = 0;
  CUresult result = CUDA_SUCCESS;
  sizes_.clear();
  while ((result = entry::cuKernelGetParamInfo(kernel, sizes_.size(), &offset, &size)) ==
         CUDA_SUCCESS) {
    sizes_.push_back(size);
  }
  // What it says of the one past the last.
  __atomic_store_n(&is_read_, result == CUDA_ERROR_INVALID_VALUE, __ATOMIC_RELEASE);
  return is_read_;
}

[[noreturn]] TVMFFI_CUBIN_COLD void ParameterSizes::ThrowOther(CUkernel kernel, const size_t* sizes,
                                                               size_t count) const {
  const std::string name = KernelName(kernel);
  const size_t bound = NumBoundParams();
  if (sizes_.size() != count + bound) {
    const std::string less = bound == 0 ? "" : " less " + std::to_string(bound) + " that are bound";
    TVM_FFI_THROW(TypeError) << name << " takes " << sizes_.size() << " arguments" << less
                             << ", Launch got " << count;
  }
  size_t i = 0;
  while (sizes[i] == sizes_[i]) ++i;
  TVM_FFI_THROW(TypeError) << name << ": argument " << i + 1 << " of " << count << " has "
                           << sizes[i] << " bytes, the kernel's parameter has " << sizes_[i]
                           << ": pass a value of the parameter's own type";
  __builtin_unreachable();
}

#ifdef TVMFFI_CUBIN_BOUND_PARAMS

/*! \brief Throws that what is bound is not what ends a kernel's parameters. */
[[noreturn]] TVMFFI_CUBIN_COLD void ThrowOtherBound(CUkernel kernel) {
  const BoundTable& table = __tvmffi_cubin_bound;
  std::string names;
  for (int i = 0; i < table.num_trailing; ++i) {
    const Param& param = *table.Trailing()[i].param;
    names += ", " + std::string(param.name) + " (" + std::to_string(param.size) + " bytes)";
  }
  TVM_FFI_THROW(LaunchError) << "launch of " << KernelName(kernel) << ": the module's bound_params "
                             << "are its kernels' last parameters" << names
                             << "; this one's are others (or unknown to a driver before CUDA 12.4)";
  __builtin_unreachable();
}

[[noreturn]] TVMFFI_CUBIN_COLD void ThrowUnbound(CUkernel kernel, const Param& param, int device) {
  TVM_FFI_THROW(LaunchError) << "launch of " << KernelName(kernel) << ": the parameter "
                             << param.name << " (" << param.type << ") is not bound on device "
                             << device << ": call mod.bind(" << param.name << "=...) before";
  __builtin_unreachable();
}

TVMFFI_CUBIN_SHARED Status LaunchBound(CUkernel kernel, ParameterSizes* parameters,
                                       const CUlaunchConfig& config, void** args) {
  BoundTable* table = &__tvmffi_cubin_bound;
  // The caller's array does not say how long it is, so the kernel's own count is what is read.
  const std::vector<size_t>* sizes = parameters->Find(kernel);
  const size_t bound = NumBoundParams(), count = sizes == nullptr ? 0 : sizes->size();
  if (count < bound || sizes == nullptr) ThrowOtherBound(kernel);
  const size_t own = count - bound;
  for (size_t i = own; i < count; ++i) {
    if ((*sizes)[i] != table->Trailing()[i - own].param->size) ThrowOtherBound(kernel);
  }
  if (own != 0 && args == nullptr) return {CUDA_ERROR_INVALID_VALUE, "cuLaunchKernelEx"};
  void** all = static_cast<void**>(__builtin_alloca(sizeof(void*) * (count + 1)));
  for (size_t i = 0; i < own; ++i) all[i] = args[i];
  const GateUse use(&table->gate);
  const int device = CurrentDevice();
  for (size_t i = own; i < count; ++i) {
    const BoundSlot& slot = table->Trailing()[i - own];
    const void* value = slot.Find(device);
    if (value == nullptr && slot.required) ThrowUnbound(kernel, *slot.param, device);
    all[i] = const_cast<void*>(value != nullptr ? value : slot.zeros);
  }
  const auto function = reinterpret_cast<CUfunction>(kernel);
  return {entry::cuLaunchKernelEx(&config, function, all, nullptr), "cuLaunchKernelEx"};
}

#endif  // TVMFFI_CUBIN_BOUND_PARAMS
#endif  // TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_END
