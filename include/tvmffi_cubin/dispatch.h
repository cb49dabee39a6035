/*!
 * \file tvmffi_cubin/dispatch.h
 * \brief One launch, wherever the calling thread stands: on a chosen device, or the stream's own.
 */
#ifndef TVMFFI_CUBIN_DISPATCH_H_
#define TVMFFI_CUBIN_DISPATCH_H_

#include "cold.h"
#include "driver_entry.h"
#include "library.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

TVMFFI_CUBIN_DRIVER_ENTRY(cuStreamGetCtx, 9020)

/*! \brief Whether a stream has a context of its own; 0, 1 and 2 are CUDA's default streams. */
inline bool IsCreatedStream(CUstream stream) { return reinterpret_cast<uintptr_t>(stream) > 2; }

/*! \brief A kernel and the dynamic shared memory it may have; what Dispatch launches. */
struct DispatchTarget {
  const Driver* driver;
  CUkernel kernel;
  DynamicSmemLimits* smem;  // null: the caller sets limits itself

  /*! \brief Launches in the current context, which is on `device`. */
  Status LaunchHere(const CUlaunchConfig& config, void** args, int device) const {
    int most = 0;
    if (smem != nullptr && !smem->Covers(device, config.sharedMemBytes)) {
      const Status status = smem->Raise(driver, kernel, device, &most);
      if (!status.ok()) return status;
    }
    // A CUkernel may stand for a CUfunction: the driver takes that of the stream's context, of the
    // current one on a default stream (CUDA driver API, cuLaunchKernel).
    return {driver->cuLaunchKernelEx(&config, reinterpret_cast<CUfunction>(kernel), args, nullptr),
            "cuLaunchKernelEx"};
  }
};

/*! \brief Launches again in the context that the launch belongs to, unless that is current. */
Status DispatchElsewhere(const DispatchTarget& target, const CUlaunchConfig& config, void** args,
                         const Status& first);

/*!
 * \brief Launches on a device, the driver's own answer being returned.
 * \param device The device; -1: the stream's, the current one on a default stream, 0 in a thread
 * without a context. Which one it is costs calls, so it is asked only where the launch fails.
 */
inline Status Dispatch(const DispatchTarget& target, const CUlaunchConfig& config, void** args,
                       int device = -1) {
  if (target.kernel == nullptr) return {CUDA_ERROR_INVALID_HANDLE, "cuLaunchKernelEx"};
  if (device >= 0) {
    DeviceScope scope;
    const Status entered = scope.Enter(target.driver, device);
    return entered.ok() ? target.LaunchHere(config, args, device) : entered;
  }
  const bool asks = config.sharedMemBytes != 0 && target.smem != nullptr;
  const Status status = target.LaunchHere(config, args, asks ? CurrentDevice(target.driver) : 0);
  switch (status.result) {
    case CUDA_ERROR_INVALID_CONTEXT:
    case CUDA_ERROR_INVALID_HANDLE:
    case CUDA_ERROR_INVALID_VALUE:
      return DispatchElsewhere(target, config, args, status);
    default:
      return status;
  }
}

#ifndef TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_COLD Status DispatchElsewhere(const DispatchTarget& target,
                                           const CUlaunchConfig& config, void** args,
                                           const Status& first) {
  const Driver* driver = target.driver;
  CUcontext wanted = nullptr, current = nullptr;
  driver->cuCtxGetCurrent(&current);
  if (IsCreatedStream(config.hStream)) {
    if (entry::cuStreamGetCtx(config.hStream, &wanted) != CUDA_SUCCESS) return first;
  } else if (current == nullptr) {
    const Status status = PrimaryContext(driver, 0, &wanted);
    if (!status.ok()) return status;
  }
  if (wanted == nullptr || wanted == current) return first;
  const CUresult result = driver->cuCtxPushCurrent(wanted);
  if (result != CUDA_SUCCESS) return {result, "cuCtxPushCurrent"};
  const Status status = target.LaunchHere(config, args, CurrentDevice(driver));
  driver->cuCtxPopCurrent(&current);
  return status;
}

#endif  // TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_DISPATCH_H_
