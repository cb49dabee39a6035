/*!
 * \file tvmffi_cubin/core/dispatch.h
 * \brief Launches a kernel on the device that the launch belongs to, opted into what it needs.
 */
#ifndef TVMFFI_CUBIN_CORE_DISPATCH_H_
#define TVMFFI_CUBIN_CORE_DISPATCH_H_

#include "occupancy.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

TVMFFI_CUBIN_DRIVER_ENTRY(cuStreamGetCtx, 9020)

/*! \brief Whether a stream has a context of its own; 0, 1 and 2 are CUDA's default streams. */
inline bool IsCreatedStream(CUstream stream) { return reinterpret_cast<uintptr_t>(stream) > 2; }

/*! \brief A kernel and what it has been opted into; what Dispatch launches. */
struct DispatchTarget {
  const Driver* driver;
  CUkernel kernel;
  DynamicSmemLimits* smem = nullptr;  // null, both: the caller opts in itself
  ClusterLimits* clusters = nullptr;

  /*! \brief Blocks of the largest cluster of a launch, its kernel's own included. */
  uint64_t ClusterBlocks(const CUlaunchConfig& config) const {
    const uint64_t asked = LargestClusterBlocks(config);
    const int32_t own = clusters->OwnBlocks();
    return own > 0 && static_cast<uint64_t>(own) > asked ? static_cast<uint64_t>(own) : asked;
  }

  /*! \brief Whether a launch may have to be opted into. */
  bool MayOptIn(const CUlaunchConfig& config) const {
    return (smem != nullptr && config.sharedMemBytes != 0) ||
           (clusters != nullptr && ClusterBlocks(config) > kPortableClusterBlocks);
  }

  /*!
   * \brief Launches in the current context.
   * \param device Its device; -1: it is asked for where it matters.
   */
  Status LaunchHere(const CUlaunchConfig& config, void** args, int device) const {
    if (smem != nullptr && config.sharedMemBytes != 0) {
      if (device < 0) device = CurrentDevice(driver);
      if (!smem->Covers(device, config.sharedMemBytes)) {
        int most = 0;
        const Status status = smem->Raise(driver, kernel, device, &most);
        if (!status.ok()) return status;
      }
    }
    if (clusters != nullptr && ClusterBlocks(config) > kPortableClusterBlocks) {
      if (device < 0) device = CurrentDevice(driver);
      if (!clusters->Covers(device, ClusterBlocks(config))) {
        const Status status = clusters->Allow(driver, kernel, device);
        if (!status.ok()) return status;
      }
    }
    // A CUkernel may stand for a CUfunction: the driver takes that of the stream's context, of the
    // current one on a default stream (CUDA driver API, cuLaunchKernel).
    return {driver->cuLaunchKernelEx(&config, reinterpret_cast<CUfunction>(kernel), args, nullptr),
            "cuLaunchKernelEx"};
  }
};

/*! \brief The device that a launch goes to where none is chosen. */
int LaunchDevice(const Driver* driver, CUstream stream);

/*!
 * \brief Enters where a launch goes: its device; where none is chosen the stream's context, on a
 * default stream the current one, device 0's in a thread that has none.
 */
Status EnterLaunch(const Driver* driver, CUstream stream, int device, DeviceScope* scope);

/*!
 * \brief Reads which cluster a kernel was compiled for, at its first launch: no attribute tells,
 * and a refusal that did would end the capture of a graph.
 */
Status ReadOwnCluster(const DispatchTarget& target, CUstream stream, int device);

/*!
 * \brief Launches on a created stream what may have to be opted into: on the stream's device, which
 * need not be the current one.
 */
Status DispatchOnStream(const DispatchTarget& target, const CUlaunchConfig& config, void** args);

/*! \brief Launches again where a kernel's own cluster, which could not be read, needs opting in. */
Status DispatchFixedCluster(const DispatchTarget& target, const CUlaunchConfig& config, void** args,
                            int device, const Status& first);

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
  if (target.clusters != nullptr && __builtin_expect(target.clusters->OwnBlocks() < 0, 0)) {
    const Status status = ReadOwnCluster(target, config.hStream, device);
    if (!status.ok()) return status;
  }
  if (device >= 0) {
    DeviceScope scope;
    Status status = scope.Enter(target.driver, device);
    if (status.ok()) status = target.LaunchHere(config, args, device);
    if (__builtin_expect(status.result != CUDA_ERROR_INVALID_CLUSTER_SIZE, 1)) return status;
    return DispatchFixedCluster(target, config, args, device, status);
  }
  if (IsCreatedStream(config.hStream) && target.MayOptIn(config)) {
    return DispatchOnStream(target, config, args);
  }
  const Status status = target.LaunchHere(config, args, -1);
  switch (status.result) {
    case CUDA_ERROR_INVALID_CONTEXT:
    case CUDA_ERROR_INVALID_HANDLE:
    case CUDA_ERROR_INVALID_VALUE:
    case CUDA_ERROR_INVALID_CLUSTER_SIZE:
    case CUDA_ERROR_NO_BINARY_FOR_GPU:  // and the next: of opting in on a device that has it not
    case CUDA_ERROR_NOT_FOUND:
      return DispatchElsewhere(target, config, args, status);
    default:
      return status;
  }
}

#ifndef TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_COLD int LaunchDevice(const Driver* driver, CUstream stream) {
  CUcontext context = nullptr;
  DeviceScope scope;
  if (IsCreatedStream(stream) && entry::cuStreamGetCtx(stream, &context) == CUDA_SUCCESS) {
    scope.Enter(driver, context);
  }
  return CurrentDevice(driver);
}

TVMFFI_CUBIN_COLD Status EnterLaunch(const Driver* driver, CUstream stream, int device,
                                     DeviceScope* scope) {
  if (device >= 0) return scope->Enter(driver, device);
  if (!IsCreatedStream(stream)) return scope->Enter(driver, CurrentDevice(driver));
  CUcontext context = nullptr;
  // Of a dead stream the launch itself says more.
  if (entry::cuStreamGetCtx(stream, &context) != CUDA_SUCCESS) return {};
  return scope->Enter(driver, context);
}

TVMFFI_CUBIN_COLD Status ReadOwnCluster(const DispatchTarget& target, CUstream stream, int device) {
  CaptureScope relaxed;
  DeviceScope scope;
  ClusterShape own;
  Status status = EnterLaunch(target.driver, stream, device, &scope);
  if (!status.ok()) return status;
  if (device < 0) device = CurrentDevice(target.driver);
  status = FindFixedCluster(target.driver, target.kernel, device, &own);
  if (status.ok()) target.clusters->SetOwnBlocks(own.Blocks());
  // Of a dead kernel, or one that is not for the device, the launch itself says more.
  const bool dead = status.result == CUDA_ERROR_INVALID_HANDLE ||
                    status.result == CUDA_ERROR_NOT_FOUND ||
                    status.result == CUDA_ERROR_NO_BINARY_FOR_GPU;
  return dead ? Status() : status;
}

TVMFFI_CUBIN_COLD Status DispatchOnStream(const DispatchTarget& target,
                                          const CUlaunchConfig& config, void** args) {
  const Driver* driver = target.driver;
  CUcontext wanted = nullptr, current = nullptr;
  DeviceScope scope;
  // Of a dead stream the launch itself says more.
  if (entry::cuStreamGetCtx(config.hStream, &wanted) == CUDA_SUCCESS &&
      (driver->cuCtxGetCurrent(&current) != CUDA_SUCCESS || current != wanted)) {
    const Status status = scope.Enter(driver, wanted);
    if (!status.ok()) return status;
  }
  const int device = CurrentDevice(driver);
  const Status status = target.LaunchHere(config, args, device);
  return DispatchFixedCluster(target, config, args, device, status);
}

TVMFFI_CUBIN_COLD Status DispatchFixedCluster(const DispatchTarget& target,
                                              const CUlaunchConfig& config, void** args, int device,
                                              const Status& first) {
  if (target.clusters == nullptr || first.result != CUDA_ERROR_INVALID_CLUSTER_SIZE ||
      target.clusters->Covers(device, kPortableClusterBlocks + 1)) {
    return first;
  }
  Status status = target.clusters->Allow(target.driver, target.kernel, device);
  if (!status.ok()) return first;
  status = target.LaunchHere(config, args, device);
  // A capture that the first refusal has ended takes nothing more; that one says why.
  return IsCaptureRefusal(status.result) ? first : status;
}

TVMFFI_CUBIN_COLD Status DispatchElsewhere(const DispatchTarget& target,
                                           const CUlaunchConfig& config, void** args,
                                           const Status& first) {
  const Driver* driver = target.driver;
  CUcontext wanted = nullptr, current = nullptr;
  if (driver->cuCtxGetCurrent(&current) != CUDA_SUCCESS) return first;
  if (IsCreatedStream(config.hStream)) {
    if (entry::cuStreamGetCtx(config.hStream, &wanted) != CUDA_SUCCESS) return first;
  } else if (current == nullptr) {
    const Status status = PrimaryContext(driver, 0, &wanted);
    if (!status.ok()) return status;
  }
  if (wanted == nullptr || wanted == current) {
    return DispatchFixedCluster(target, config, args, CurrentDevice(driver), first);
  }
  DeviceScope scope;
  Status status = scope.Enter(driver, wanted);
  if (!status.ok()) return status;
  const int device = CurrentDevice(driver);
  status = target.LaunchHere(config, args, device);
  return DispatchFixedCluster(target, config, args, device, status);
}

#endif  // TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_CORE_DISPATCH_H_
