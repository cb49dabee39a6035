// The parameters of a kernel that C++ launches: their sizes, and what is bound behind the caller's
// own.
//
// A build with bound_params defines TVMFFI_CUBIN_BOUND_PARAMS for all units that launch, and links
// the table of what is bound. Without it, nothing of that costs a launch anything.
#pragma once

#include "check_driver.h"

#ifdef TVMFFI_CUBIN_BOUND_PARAMS
#include "launcher/plan.h"
extern "C" __attribute__((visibility("hidden"))) tvmffi_cubin::BoundTable __tvmffi_cubin_bound;
#endif

TVMFFI_CUBIN_BEGIN

/// Sizes of typed arguments, at an address of their own.
template <size_t... kEach>
inline constexpr size_t kSizes[] = {kEach..., 0};

/// Compares arguments' own sizes with the kernel's; a driver before CUDA 12.4 tells none.
/// \throws TypeError Their number or a size is another.
TVMFFI_CUBIN_COLD void CheckParameters(CUkernel kernel, const size_t* sizes, size_t count) {
  int own = CountParameters(kernel);
  if (own < 0) return;
#ifdef TVMFFI_CUBIN_BOUND_PARAMS
  own -= __tvmffi_cubin_bound.num_trailing;
#endif
  const char* name = KernelName(kernel);
  if (own != static_cast<int>(count)) {
    Throw("TypeError", "%s takes %d arguments, Launch got %zu", name, own, count);
  }
  for (int i = 0; i < own; ++i) {
    const size_t wanted = ParameterSize(kernel, i);
    if (sizes[i] == wanted) continue;
    Throw("TypeError",
          "%s: argument %d of %zu has %zu bytes, the kernel's parameter has %zu: pass a value of "
          "the parameter's own type",
          name, i + 1, count, sizes[i], wanted);
  }
}

#ifndef TVMFFI_CUBIN_BOUND_PARAMS

/// Launches on the current device, the driver's own answer being returned.
inline Status LaunchHere(CUkernel kernel, const CUlaunchConfig& config, void** args) {
  return LaunchKernel(kernel, config, args);
}

#else

/// Launches with what is bound behind the caller's own arguments; the device is current.
/// \throws LaunchError What is bound is not the kernel's last parameters.
inline Status LaunchHere(CUkernel kernel, const CUlaunchConfig& config, void** args) {
  BoundTable* table = &__tvmffi_cubin_bound;
  // The caller's array does not say how long it is, so the kernel's own count is what is read.
  const int count = CountParameters(kernel), own = count - table->num_trailing;
  bool fits = own >= 0;
  for (int i = own; fits && i < count; ++i) {
    fits = ParameterSize(kernel, i) == table->Trailing()[i - own].param->size;
  }
  if (!fits) {
    Throw("LaunchError",
          "launch of %s: its last parameters are not the module's bound_params (or the driver is "
          "older than CUDA 12.4 and does not tell)",
          KernelName(kernel));
  }
  if (own != 0 && args == nullptr) return {CUDA_ERROR_INVALID_VALUE, "cuLaunchKernelEx"};
  void** all = static_cast<void**>(__builtin_alloca(sizeof(void*) * (count + 1)));
  for (int i = 0; i < own; ++i) all[i] = args[i];
  const GateUse use(&table->gate);
  const int device = CurrentDevice();
  for (int i = own; i < count; ++i) {
    all[i] = const_cast<void*>(table->Trailing()[i - own].Find(device));
  }
  return LaunchKernel(kernel, config, all);
}

#endif

TVMFFI_CUBIN_END
