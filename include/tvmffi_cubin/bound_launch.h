/*!
 * \file tvmffi_cubin/bound_launch.h
 * \brief Launches by C++ functions of kernels whose last parameters are bound.
 *
 * A build with bound_params defines TVMFFI_CUBIN_BOUND_PARAMS for all units that launch, and links
 * the table of what is bound. Without it, nothing here costs a launch anything.
 */
#ifndef TVMFFI_CUBIN_BOUND_LAUNCH_H_
#define TVMFFI_CUBIN_BOUND_LAUNCH_H_

#include "core/dispatch.h"

#ifdef TVMFFI_CUBIN_BOUND_PARAMS

#include <string>

#include "core/bound.h"
#include "core/namespace.h"
#include "core/gate.h"
#include "kernel_parameters.h"
#include "core/limits.h"
#include "launcher/plan.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

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

/*! \brief Notes why a kernel is not launched. */
Status RefuseBound(CUkernel kernel, const std::string& reason);

/*! \brief The same, of a kernel whose parameters are unknown or no match. */
Status RefuseSizes(CUkernel kernel, const ParameterSizes* sizes);

/*! \brief The same, of a parameter that has to be bound. */
Status RefuseUnbound(CUkernel kernel, const BoundSlot& slot, int device);

/*!
 * \brief Launches with what is bound behind the caller's own arguments, as Dispatch does.
 *
 * The kernel's count says how many are the caller's; what `args` may have beyond those is not read.
 */
inline Status DispatchKernel(const DispatchTarget& target, KernelParameters* parameters,
                             const CUlaunchConfig& config, void** args, int device = -1) {
  if (target.kernel == nullptr) return Dispatch(target, config, args, device);
  const ParameterSizes* sizes = nullptr;
  const Status status =
      parameters->Find(target.driver, target.kernel, config.hStream, device, &sizes);
  if (!status.ok()) return status;
  BoundTable* table = &__tvmffi_cubin_bound;
  if (sizes == nullptr || !EndsInBound(*sizes, *table)) return RefuseSizes(target.kernel, sizes);
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
    if (value == nullptr && slot.required) return RefuseUnbound(target.kernel, slot, place);
    all[i] = const_cast<void*>(value != nullptr ? value : slot.zeros);
  }
  return Dispatch(target, config, all, device);
}

/*! \brief Launches a kernel of which nothing is kept from launch to launch. */
inline Status DispatchHandle(const Driver* driver, CUkernel kernel, const CUlaunchConfig& config,
                             void** args) {
  KernelParameters parameters;
  return DispatchKernel({driver, kernel, nullptr}, &parameters, config, args);
}

#ifndef TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_COLD Status RefuseBound(CUkernel kernel, const std::string& reason) {
  LaunchProblem* problem = &launch_problem;
  problem->result = CUDA_ERROR_INVALID_VALUE;
  problem->is_limit = false;
  snprintf(problem->text, sizeof(problem->text), "launch of %.100s: %s", KernelName(kernel),
           reason.c_str());
  problem->number = __atomic_add_fetch(&launch_problems, 1, __ATOMIC_RELAXED);
  return {CUDA_ERROR_INVALID_VALUE, "cuLaunchKernelEx", problem->number};
}

TVMFFI_CUBIN_COLD Status RefuseSizes(CUkernel kernel, const ParameterSizes* sizes) {
  if (sizes == nullptr || !sizes->known) {
    return RefuseBound(kernel,
                       "the module has bound_params, and how many parameters the kernel has is not "
                       "known: a driver of CUDA 12.4 or newer tells");
  }
  std::string wanted, found;
  const BoundTable& table = __tvmffi_cubin_bound;
  for (int i = 0; i < table.num_trailing; ++i) {
    const Param& param = *table.Trailing()[i].param;
    wanted += (i == 0 ? "" : ", ") + std::string(param.name) + " (" + std::to_string(param.size) +
              " bytes)";
  }
  for (size_t size : sizes->sizes) found += (found.empty() ? "" : ", ") + std::to_string(size);
  return RefuseBound(kernel, "the module's bound_params are its kernels' last parameters, " +
                                 wanted + "; this one's parameters are of " +
                                 (found.empty() ? "no" : found) + " bytes");
}

TVMFFI_CUBIN_COLD Status RefuseUnbound(CUkernel kernel, const BoundSlot& slot, int device) {
  const std::string name = slot.param->name;
  const std::string where = device < 0 ? "" : " on device " + std::to_string(device);
  return RefuseBound(kernel, "the parameter " + name + " (" + slot.param->type + ") is not bound" +
                                 where + ": call mod.bind(" + name + "=...) before");
}

#endif  // TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#else

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

class KernelParameters;

/*! \brief Launches as Dispatch does: nothing is bound. */
inline Status DispatchKernel(const DispatchTarget& target, KernelParameters*,
                             const CUlaunchConfig& config, void** args, int device = -1) {
  return Dispatch(target, config, args, device);
}

/*! \brief Launches a kernel of which nothing is kept from launch to launch. */
inline Status DispatchHandle(const Driver* driver, CUkernel kernel, const CUlaunchConfig& config,
                             void** args) {
  return Dispatch({driver, kernel, nullptr}, config, args);
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_BOUND_PARAMS

#endif  // TVMFFI_CUBIN_BOUND_LAUNCH_H_
