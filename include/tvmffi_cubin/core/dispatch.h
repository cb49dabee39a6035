/*!
 * \file tvmffi_cubin/core/dispatch.h
 * \brief Launches a kernel on the device that the launch belongs to, opted into what it needs.
 */
#ifndef TVMFFI_CUBIN_CORE_DISPATCH_H_
#define TVMFFI_CUBIN_CORE_DISPATCH_H_

#include "occupancy.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief Whether a stream has a context of its own; 0, 1 and 2 are CUDA's default streams. */
inline bool IsCreatedStream(CUstream stream) { return reinterpret_cast<uintptr_t>(stream) > 2; }

/*!
 * \brief Enters where a launch goes: its device; where none is chosen (-1) the stream's context, on
 * a default stream the current one, device 0's in a thread that has none.
 */
inline Status EnterLaunch(const Driver* driver, CUstream stream, int device, DeviceScope* scope) {
  if (device >= 0) return scope->Enter(driver, device);
  CUcontext wanted = nullptr, current = nullptr;
  const bool has_current = driver->cuCtxGetCurrent(&current) == CUDA_SUCCESS && current != nullptr;
  if (IsCreatedStream(stream)) {
    // Of a dead stream the launch itself says more.
    if (driver->cuStreamGetCtx(stream, &wanted) != CUDA_SUCCESS || wanted == current) return {};
    return scope->Enter(driver, wanted);
  }
  return has_current ? Status() : scope->Enter(driver, 0);
}

/*! \brief The device that a launch goes to where none is chosen. */
int LaunchDevice(const Driver* driver, CUstream stream);

/*! \brief A kernel and what it has been opted into; what Dispatch launches. */
struct DispatchTarget {
  const Driver* driver;
  CUkernel kernel;
  DynamicSmemLimits* smem = nullptr;  // null, both: the caller opts in itself
  ClusterLimits* clusters = nullptr;

  /*! \brief Opts into what a launch in the current context needs. */
  Status OptIn(const CUlaunchConfig& config, int device) const {
    if (clusters == nullptr) return {};
    Status status;
    if (__builtin_expect(clusters->OwnBlocks() < 0, 0)) status = ReadOwnCluster(device);
    if (!status.ok()) return status;
    const auto own = static_cast<uint64_t>(clusters->OwnBlocks() < 0 ? 0 : clusters->OwnBlocks());
    const uint64_t asked = LargestClusterBlocks(config);
    const uint64_t blocks = asked > own ? asked : own;
    if (config.sharedMemBytes == 0 && blocks <= kPortableClusterBlocks) return {};
    if (device < 0) device = CurrentDevice(driver);
    int most = 0;
    if (!smem->Covers(device, config.sharedMemBytes)) {
      status = smem->Raise(driver, kernel, device, &most);
    }
    if (!status.ok() || clusters->Covers(device, blocks)) return status;
    return clusters->Allow(driver, kernel, device);
  }

  /*!
   * \brief Reads which cluster the kernel was compiled for, before its first launch: a refusal that
   * told of it would end the capture of a graph.
   */
  Status ReadOwnCluster(int device) const;
};

/*!
 * \brief Launches on a device, the driver's own answer being returned.
 * \param device The device; -1: as EnterLaunch has it.
 */
inline Status Dispatch(const DispatchTarget& target, const CUlaunchConfig& config, void** args,
                       int device = -1) {
  if (target.kernel == nullptr) return {CUDA_ERROR_INVALID_HANDLE, "cuLaunchKernelEx"};
  DeviceScope scope;
  Status status = EnterLaunch(target.driver, config.hStream, device, &scope);
  if (status.ok()) status = target.OptIn(config, device);
  if (!status.ok()) return status;
  // A CUkernel may stand for a CUfunction: the driver takes that of the stream's context, of the
  // current one on a default stream (CUDA driver API, cuLaunchKernel).
  return {target.driver->cuLaunchKernelEx(&config, reinterpret_cast<CUfunction>(target.kernel),
                                          args, nullptr),
          "cuLaunchKernelEx"};
}

#ifndef TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_COLD int LaunchDevice(const Driver* driver, CUstream stream) {
  DeviceScope scope;
  EnterLaunch(driver, stream, -1, &scope);
  return CurrentDevice(driver);
}

TVMFFI_CUBIN_COLD Status DispatchTarget::ReadOwnCluster(int device) const {
  CaptureScope relaxed;
  ClusterShape own;
  if (device < 0) device = CurrentDevice(driver);
  const Status status = FindFixedCluster(driver, kernel, device, &own);
  if (status.ok()) clusters->SetOwnBlocks(own.Blocks());
  // Of a dead kernel, or one that is not for the device, the launch itself says more.
  const bool is_dead = status.result == CUDA_ERROR_INVALID_HANDLE ||
                       status.result == CUDA_ERROR_NOT_FOUND ||
                       status.result == CUDA_ERROR_NO_BINARY_FOR_GPU;
  return is_dead ? Status() : status;
}

#endif  // TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_CORE_DISPATCH_H_
