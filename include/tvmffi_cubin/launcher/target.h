// Which device and stream a call goes to, as its function or its caller says it.
#pragma once

#include <tvm/ffi/extra/c_env_api.h>

#include "expression.h"

TVMFFI_CUBIN_BEGIN

TVMFFI_CUBIN_DRIVER_ENTRY(cuDeviceGetCount, 12000)

// Takes the device that a function says; the call has that of the tensors, or -1.
__attribute__((noinline)) inline int TakeTargetDevice(Call* call) {
  const int64_t wanted = Value(call, call->instance.target->device);
  if (call->failure != nullptr) return FailFigure(*call);
  if (call->device >= 0 && wanted != call->device) {
    return Fail("ValueError", "%s: the launch's device is %lld, its tensors are on cuda:%d",
                call->function.name, static_cast<long long>(wanted), call->device);
  }
  int count = 0;
  entry::cuDeviceGetCount(&count);
  if (wanted < 0 || wanted >= count) {
    return FailRange(*call, "the launch's device", wanted, 0, count - 1);
  }
  call->device = static_cast<int>(wanted);
  return 0;
}

// Takes the stream that a function says.
__attribute__((noinline)) inline int TakeTargetStream(Call* call) {
  const TargetPlan& plan = *call->instance.target;
  if (plan.pointer >= 0 && call->arguments[plan.pointer].tensor != nullptr) {
    const Param& param = call->instance.params[plan.pointer];
    return Fail("TypeError", "%s: argument %d (%s: %s): got a tensor, wanted a stream",
                call->function.name, plan.pointer + 1, param.name, param.type);
  }
  call->stream = reinterpret_cast<CUstream>(Value(call, plan.stream));
  call->has_stream = true;
  return call->failure == nullptr ? 0 : FailFigure(*call);
}

// Refuses what is not a stream, and streams of another device: the driver would launch there, away
// from the tensors.
__attribute__((noinline)) inline int CheckStream(const Call& call) {
  const CUstream stream = call.stream;
  if (stream == nullptr || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD) return 0;
  // The driver reads whatever address it is given, and nothing lies in the first page.
  if (reinterpret_cast<intptr_t>(stream) < 4096) {
    return Fail("ValueError",
                "%s: the launch's stream is %lld, which is not a handle: an address, or 0, 1 or 2",
                call.function.name, static_cast<long long>(reinterpret_cast<intptr_t>(stream)));
  }
  CUcontext context = nullptr;
  CUdevice home = -1;
  // Where the driver does not tell, as of a stream that is being captured, the launch decides.
  if (entry::cuStreamGetCtx(stream, &context) != CUDA_SUCCESS) return 0;
  if (entry::cuCtxPushCurrent(context) != CUDA_SUCCESS) return 0;
  const CUresult result = entry::cuCtxGetDevice(&home);
  entry::cuCtxPopCurrent(&context);
  if (result != CUDA_SUCCESS || home == call.device) return 0;
  return Fail("ValueError",
              "%s: the stream is of cuda:%d, the launch is on cuda:%d: give one of that device",
              call.function.name, static_cast<int>(home), call.device);
}

// Finds the device: the function's, else the tensors', else the current one.
__attribute__((always_inline)) inline int FindDevice(Call* call) {
  const TargetPlan* const target = call->instance.target;
  if (__builtin_expect(target != nullptr, 0) && target->has_device) return TakeTargetDevice(call);
  if (call->device < 0) call->device = CurrentDevice();
  return 0;
}

// Finds the stream: the caller's, else the function's, else the device's current one.
__attribute__((always_inline)) inline int FindStream(Call* call) {
  const TargetPlan* const target = call->instance.target;
  if (__builtin_expect(target != nullptr, 0) && target->has_stream && !call->has_stream &&
      TakeTargetStream(call) != 0) {
    return -1;
  }
  if (call->has_stream) return CheckStream(*call);
  call->stream = static_cast<CUstream>(TVMFFIEnvGetStream(kDLCUDA, call->device));
  return 0;
}

TVMFFI_CUBIN_END
