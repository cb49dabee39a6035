/*!
 * \file tvmffi_cubin/launcher/target.h
 * \brief Which device and stream a call goes to, as its function or its caller says it.
 */
#ifndef TVMFFI_CUBIN_LAUNCHER_TARGET_H_
#define TVMFFI_CUBIN_LAUNCHER_TARGET_H_

#include <tvm/ffi/extra/c_env_api.h>

#include "prepare.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief Raises that a function's device is not that of its tensors, or none at all. */
TVMFFI_CUBIN_RARE int FailDevice(const CallFrame& frame, const Argument* arguments,
                                 int64_t wanted) {
  const char* function = frame.function.name;
  const auto number = static_cast<long long>(wanted);
  for (int i = 0; i < frame.instance.num_params && frame.device >= 0; ++i) {
    const DLTensor* tensor = arguments[i].tensor;
    if (tensor == nullptr || tensor->device.device_type != kDLCUDA) continue;
    return Fail("ValueError",
                "%s: the launch's device is %lld, %s is on cuda:%d: give the ordinal of its "
                "tensors' device",
                function, number, frame.instance.params[i].name, frame.device);
  }
  int count = 0;
  frame.driver->cuDeviceGetCount(&count);
  return Fail("ValueError", "%s: the launch's device is %lld, wanted 0 to %d: there %s %d",
              function, number, count - 1, count == 1 ? "is" : "are", count);
}

/*! \brief Finds out which device a function says; the frame has that of the tensors, or -1. */
__attribute__((noinline)) inline int FindDevice(CallFrame* frame, Evaluation* evaluation) {
  const int64_t wanted = evaluation->Value(frame->instance.target->device);
  if (evaluation->failure != nullptr) return FailEvaluation(frame->Site(0), *evaluation);
  if (wanted == frame->device && wanted >= 0) return 0;
  CUdevice handle = 0;
  const bool is_free = frame->device < 0 && wanted >= 0 && wanted < kMaxDevices;
  const CUresult result = is_free ? frame->driver->cuDeviceGet(&handle, static_cast<int>(wanted))
                                  : CUDA_ERROR_INVALID_DEVICE;
  if (result == CUDA_ERROR_INVALID_DEVICE) {
    return FailDevice(*frame, evaluation->arguments, wanted);
  }
  // What else the driver may answer, it answers the launch.
  frame->device = static_cast<int>(wanted);
  return 0;
}

/*! \brief Finds out which stream a function says. */
__attribute__((noinline)) inline int FindStream(CallFrame* frame, Evaluation* evaluation) {
  const TargetPlan& plan = *frame->instance.target;
  if (plan.pointer >= 0 && evaluation->arguments[plan.pointer].tensor != nullptr) {
    const Param& param = frame->instance.params[plan.pointer];
    return Fail("TypeError",
                "%s: argument %d (%s: %s): got a tensor, wanted a stream: an object with "
                "__cuda_stream__, its handle as ctypes.c_void_p, or None, the default stream",
                frame->function.name, plan.pointer + 1, param.name, param.type);
  }
  frame->stream = reinterpret_cast<CUstream>(evaluation->Value(plan.stream));
  frame->has_stream = true;
  return evaluation->failure == nullptr ? 0 : FailEvaluation(frame->Site(0), *evaluation);
}

/*!
 * \brief Refuses what is no stream, and a stream that a caller gave and that is another device's:
 * the driver would launch there, away from the tensors.
 */
__attribute__((noinline)) inline int CheckStream(const CallFrame& frame) {
  const CUstream stream = frame.stream;
  const Driver* driver = frame.driver;
  if (stream == nullptr || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD) return 0;
  // The driver reads at any address that it is given, and nothing lies in the first page.
  if (reinterpret_cast<intptr_t>(stream) < 4096) {
    return Fail("ValueError",
                "%s: the launch's stream is %lld, which is no handle: an address, or 0, 1 or 2",
                frame.function.name, static_cast<long long>(reinterpret_cast<intptr_t>(stream)));
  }
  CUcontext context = nullptr;
  CUdevice home = -1;
  // A stream that is being captured, or of a driver that does not say, is left to the launch.
  if (driver->cuStreamGetCtx(stream, &context) != CUDA_SUCCESS) return 0;
  if (driver->cuCtxPushCurrent(context) != CUDA_SUCCESS) return 0;
  const CUresult result = driver->cuCtxGetDevice(&home);
  driver->cuCtxPopCurrent(&context);
  if (result != CUDA_SUCCESS || home == frame.device) return 0;
  return Fail("ValueError",
              "%s: the stream is of cuda:%d, the launch is on cuda:%d, its tensors' device, or the "
              "one that it names: give a stream of that device",
              frame.function.name, static_cast<int>(home), frame.device);
}

/*! \brief Finds out where a call goes: as its caller says, its function, its tensors, in this
 * order. */
__attribute__((always_inline)) inline int FindTarget(CallFrame* frame, Evaluation* evaluation) {
  if (__builtin_expect(frame->instance.target != nullptr, 0)) {
    const TargetPlan& plan = *frame->instance.target;
    if (plan.has_device && FindDevice(frame, evaluation) != 0) return -1;
    if (plan.has_stream && !frame->has_stream && FindStream(frame, evaluation) != 0) return -1;
  }
  if (frame->device < 0) frame->device = CurrentDevice(frame->driver);
  if (frame->has_stream) return CheckStream(*frame);
  frame->stream = static_cast<CUstream>(TVMFFIEnvGetStream(kDLCUDA, frame->device));
  return 0;
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCHER_TARGET_H_
