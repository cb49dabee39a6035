/*!
 * \file tvmffi_cubin/launcher/target.h
 * \brief Which device and stream a call goes to, where its function says it.
 */
#ifndef TVMFFI_CUBIN_LAUNCHER_TARGET_H_
#define TVMFFI_CUBIN_LAUNCHER_TARGET_H_

#include "prepare.h"
#include "stream.h"
#include "target_plan.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief Where the launches of a call go. */
struct Target {
  int device;       // -1: no tensor says it
  bool has_stream;  // the caller or the function names it
  CUstream stream;
};

/*! \brief Raises that a function's device is not that of its tensors, or none at all. */
__attribute__((cold)) int FailDevice(const FunctionPlan& function, const Driver* driver,
                                     const Argument* arguments, int64_t wanted, int tensors);

/*! \brief Finds out which device a function says; `device` is that of the tensors, or -1. */
__attribute__((noinline)) inline int FindDevice(const FunctionPlan& function, const Driver* driver,
                                                Evaluation* evaluation, int* device) {
  const TargetPlan& plan = *function.target;
  if (plan.device == nullptr) return 0;
  const int64_t wanted = plan.device(evaluation);
  if (evaluation->failure != nullptr) return FailEvaluation({function, 0, false}, *evaluation);
  if (wanted == *device && wanted >= 0) return 0;
  CUdevice handle = 0;
  const bool is_free = *device < 0 && wanted >= 0 && wanted < kMaxDevices;
  const CUresult result =
      is_free ? driver->cuDeviceGet(&handle, static_cast<int>(wanted)) : CUDA_ERROR_INVALID_DEVICE;
  if (result == CUDA_ERROR_INVALID_DEVICE) {
    return FailDevice(function, driver, evaluation->arguments, wanted, *device);
  }
  // What else the driver may answer, it answers the launch.
  *device = static_cast<int>(wanted);
  return 0;
}

/*! \brief Finds out where the launches go, as far as the caller has not said it. */
__attribute__((noinline)) inline int FindTarget(const FunctionPlan& function, const Driver* driver,
                                                Evaluation* evaluation, Target* target) {
  const TargetPlan& plan = *function.target;
  if (FindDevice(function, driver, evaluation, &target->device) != 0) return -1;
  if (plan.stream == nullptr || target->has_stream) return 0;
  if (plan.pointer >= 0 && evaluation->arguments[plan.pointer].tensor != nullptr) {
    const Param& param = function.params[plan.pointer];
    return Fail("TypeError",
                "%s: argument %d (%s: %s): got a tensor, wanted a stream: an object with "
                "__cuda_stream__, its handle as ctypes.c_void_p, or None, the default stream",
                function.name, plan.pointer + 1, param.name, param.type);
  }
  const int64_t handle = plan.stream(evaluation);
  if (evaluation->failure != nullptr) return FailEvaluation({function, 0, false}, *evaluation);
  target->stream = reinterpret_cast<CUstream>(handle);
  target->has_stream = true;
  return 0;
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCHER_TARGET_H_
