/*!
 * \file tvmffi_cubin/launcher/stream.h
 * \brief The stream that a caller gives has to be of the device that the launch goes to.
 */
#ifndef TVMFFI_CUBIN_LAUNCHER_STREAM_H_
#define TVMFFI_CUBIN_LAUNCHER_STREAM_H_

#include "../core/driver.h"
#include "error.h"
#include "plan.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*!
 * \brief Refuses what is no stream, and a stream that a caller gave and that is another device's:
 * the driver would launch there, away from the tensors.
 */
__attribute__((noinline)) inline int CheckStream(const FunctionPlan& function, const Driver* driver,
                                                 int device, CUstream stream) {
  if (stream == nullptr || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD) return 0;
  // The driver reads at any address that it is given, and nothing lies in the first page.
  if (reinterpret_cast<intptr_t>(stream) < 4096) {
    return Fail("ValueError",
                "%s: the launch's stream is %lld, which is no handle: an address, or 0, 1 or 2",
                function.name, static_cast<long long>(reinterpret_cast<intptr_t>(stream)));
  }
  CUcontext context = nullptr;
  CUdevice home = -1;
  // A stream that is being captured, or of a driver that does not say, is left to the launch.
  if (driver->cuStreamGetCtx(stream, &context) != CUDA_SUCCESS) return 0;
  if (driver->cuCtxPushCurrent(context) != CUDA_SUCCESS) return 0;
  const CUresult result = driver->cuCtxGetDevice(&home);
  driver->cuCtxPopCurrent(&context);
  if (result != CUDA_SUCCESS || home == device) return 0;
  return Fail("ValueError",
              "%s: the stream is of cuda:%d, the launch is on cuda:%d, its tensors' "
              "device, or the one that it names: give a stream of that device",
              function.name, static_cast<int>(home), device);
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCHER_STREAM_H_
