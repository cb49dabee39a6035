/*!
 * \file tvmffi_cubin/device_load.h
 * \brief Brings a kernel to a device, which the driver leaves to the first launch there.
 */
#ifndef TVMFFI_CUBIN_DEVICE_LOAD_H_
#define TVMFFI_CUBIN_DEVICE_LOAD_H_

#include "capture_scope.h"
#include "cold.h"
#include "device_scope.h"
#include "driver_entry.h"
#include "occupancy.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

TVMFFI_CUBIN_DRIVER_ENTRY(cuKernelGetFunction, 12000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuFuncLoad, 12040)

/*! \brief Loads a kernel in the current context. */
Status LoadHere(CUkernel kernel);

/*!
 * \brief Loads a kernel on a device; -1: the current one, 0 in a thread that has none.
 * \param clusters Where a large cluster that the kernel was compiled for is opted into.
 */
Status LoadOnDevice(const Driver* driver, CUkernel kernel, int device, ClusterLimits* clusters);

#ifndef TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_COLD Status LoadHere(CUkernel kernel) {
  CaptureScope relaxed;
  CUfunction function = nullptr;
  const CUresult result = entry::cuKernelGetFunction(&function, kernel);
  // A driver before 12.4 cannot do more than this.
  if (result != CUDA_SUCCESS || entry::cuFuncLoad.Find() == nullptr) {
    return {result, "cuKernelGetFunction"};
  }
  return {entry::cuFuncLoad(function), "cuFuncLoad"};
}

TVMFFI_CUBIN_COLD Status LoadOnDevice(const Driver* driver, CUkernel kernel, int device,
                                      ClusterLimits* clusters) {
  if (device < 0) device = CurrentDevice(driver);
  DeviceScope scope;
  ClusterShape fixed;
  Status status = scope.Enter(driver, device);
  if (status.ok()) status = LoadHere(kernel);
  if (status.ok()) status = FindFixedCluster(driver, kernel, device, &fixed);
  if (!status.ok()) return status;
  clusters->SetOwnBlocks(fixed.Blocks());
  if (clusters->Covers(device, fixed.Blocks())) return status;
  return clusters->Allow(driver, kernel, device);
}

#endif  // TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_DEVICE_LOAD_H_
