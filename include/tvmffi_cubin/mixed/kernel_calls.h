/*!
 * \file tvmffi_cubin/mixed/kernel_calls.h
 * \brief What runtime calls that take a kernel's address do with a kernel of a mixed source.
 */
#ifndef TVMFFI_CUBIN_MIXED_KERNEL_CALLS_H_
#define TVMFFI_CUBIN_MIXED_KERNEL_CALLS_H_

#include "../runtime/error.h"
#include "kernel_launch.h"
#include "kernel_lookup.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

CUresult FindMixedHandle(KernelSlot* slot, CUkernel* handle);
CUresult LaunchMixed(KernelSlot* slot, const CUlaunchConfig& config, void** args);
CUresult RaiseMixedSmem(KernelSlot* slot, int device, int bytes);

inline constexpr KernelCalls mixed_kernel_calls = {&FindMixedHandle, &LaunchMixed, &RaiseMixedSmem};

#ifndef TVMFFI_CUBIN_COLD_COMPILED

/*! \brief The slot's kernel; null, and a result, where it cannot be had. */
TVMFFI_CUBIN_COLD CubinKernel* TryMixedKernel(KernelSlot* slot, CUresult* result) {
  *result = CUDA_SUCCESS;
  try {
    return MixedKernel(slot);
  } catch (const std::exception&) {
    *result = !OpenDriver() ? CUDA_ERROR_NO_DEVICE
                                      : static_cast<CUresult>(cudaErrorInvalidDeviceFunction);
    return nullptr;
  }
}

TVMFFI_CUBIN_COLD CUresult FindMixedHandle(KernelSlot* slot, CUkernel* handle) {
  CUresult result = CUDA_SUCCESS;
  CubinKernel* kernel = TryMixedKernel(slot, &result);
  *handle = kernel != nullptr ? kernel->GetHandle() : nullptr;
  return result;
}

TVMFFI_CUBIN_COLD CUresult LaunchMixed(KernelSlot* slot, const CUlaunchConfig& config,
                                       void** args) {
  CUresult result = CUDA_SUCCESS;
  CubinKernel* kernel = TryMixedKernel(slot, &result);
  if (kernel == nullptr) return result;
  const Status status = kernel->Launch(args, config);
  return status.ok() ? CUDA_SUCCESS : static_cast<CUresult>(RefusalCode(status, config));
}

TVMFFI_CUBIN_COLD CUresult RaiseMixedSmem(KernelSlot* slot, int device, int bytes) {
  CUresult result = CUDA_SUCCESS;
  CubinKernel* kernel = TryMixedKernel(slot, &result);
  return kernel != nullptr ? kernel->SetMaxDynamicSmem(device, bytes).result : result;
}

#endif  // TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_MIXED_KERNEL_CALLS_H_
