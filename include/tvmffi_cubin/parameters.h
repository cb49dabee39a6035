/*!
 * \file tvmffi_cubin/parameters.h
 * \brief The parameters of a kernel that C++ launches: their sizes, and what is bound behind the
 * caller's own.
 *
 * A build with bound_params defines TVMFFI_CUBIN_BOUND_PARAMS for all units that launch, and links
 * the table of what is bound. Without it, nothing of that costs a launch anything.
 */
#pragma once

#include <vector>

#include "check_driver.h"

#ifdef TVMFFI_CUBIN_BOUND_PARAMS
#include "launcher/plan.h"
extern "C" __attribute__((visibility("hidden"))) tvmffi_cubin::BoundTable __tvmffi_cubin_bound;
#endif

TVMFFI_CUBIN_BEGIN

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
   * \brief Compares arguments' own sizes with the kernel's; a driver before CUDA 12.4 tells none.
   * \throws TypeError Their number or a size is another.
   */
  void Check(CUkernel kernel, const size_t* sizes, size_t count) {
    const auto* wanted = Find(kernel);
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

#ifndef TVMFFI_CUBIN_BOUND_PARAMS

/*! \brief Launches on the current device, the driver's own answer being returned. */
inline Status LaunchHere(CUkernel kernel, ParameterSizes*, const CUlaunchConfig& config,
                         void** args) {
  return LaunchKernel(kernel, config, args);
}

#else

/*!
 * \brief Launches with what is bound behind the caller's own arguments; the device is current.
 * \throws LaunchError What is bound is not the kernel's last parameters.
 */
inline Status LaunchHere(CUkernel kernel, ParameterSizes* parameters, const CUlaunchConfig& config,
                         void** args) {
  BoundTable* table = &__tvmffi_cubin_bound;
  // The caller's array does not say how long it is, so the kernel's own count is what is read.
  const std::vector<size_t>* sizes = parameters->Find(kernel);
  const size_t bound = NumBoundParams(), count = sizes == nullptr ? 0 : sizes->size();
  const size_t own = count - bound;
  bool fits = count >= bound;
  for (size_t i = own; fits && i < count; ++i) {
    fits = (*sizes)[i] == table->Trailing()[i - own].param->size;
  }
  if (!fits) {
    Throw("LaunchError",
          "launch of %s: its last parameters are not the module's bound_params (or the driver is "
          "older than CUDA 12.4 and does not tell)",
          KernelName(kernel));
  }
  if (own != 0 && args == nullptr) return {CUDA_ERROR_INVALID_VALUE, "cuLaunchKernelEx"};
  void** all = static_cast<void**>(__builtin_alloca(sizeof(void*) * (count + 1)));
  for (size_t i = 0; i < own; ++i) all[i] = args[i];
  const GateUse use(&table->gate);
  const int device = CurrentDevice();
  for (size_t i = own; i < count; ++i) {
    const BoundSlot& slot = table->Trailing()[i - own];
    const void* value = slot.Find(device);
    all[i] = const_cast<void*>(value != nullptr ? value : slot.zeros);
  }
  return LaunchKernel(kernel, config, all);
}

#endif

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
  const char* name = KernelName(kernel);
  const size_t own = sizes_.size() - NumBoundParams();
  if (own != count) Throw("TypeError", "%s takes %zu arguments, Launch got %zu", name, own, count);
  size_t i = 0;
  while (sizes[i] == sizes_[i]) ++i;
  Throw("TypeError",
        "%s: argument %zu of %zu has %zu bytes, the kernel's parameter has %zu: pass a value of "
        "the parameter's own type",
        name, i + 1, count, sizes[i], sizes_[i]);
}

#endif  // TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_END
