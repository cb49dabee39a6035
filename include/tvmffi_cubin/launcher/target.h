/*!
 * \file tvmffi_cubin/launcher/target.h
 * \brief Which device and stream a call goes to, as its function or its caller says it.
 */
#ifndef TVMFFI_CUBIN_LAUNCHER_TARGET_H_
#define TVMFFI_CUBIN_LAUNCHER_TARGET_H_

#include <tvm/ffi/extra/c_env_api.h>

#include "expression.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief Finds out which device a function says; the call has that of the tensors, or -1. */
__attribute__((noinline)) inline int FindDevice(Call* call) {
  const int64_t wanted = Value(call, call->instance.target->device);
  if (call->failure != nullptr) return FailFigure(*call);
  int count = call->device + 1;
  if (call->device < 0) entry::cuDeviceGetCount(&count);
  const int first = call->device < 0 ? 0 : call->device;
  if (wanted < first || wanted >= count) {
    return Fail("ValueError", "%s: the launch's device is %lld, %s%d", call->function.name,
                static_cast<long long>(wanted),
                call->device < 0 ? "wanted 0 to " : "its tensors are on cuda:", count - 1);
  }
  call->device = static_cast<int>(wanted);
  return 0;
}

/*! \brief Finds out which stream a function says. */
__attribute__((noinline)) inline int FindStream(Call* call) {
  const TargetPlan& plan = *call->instance.target;
  if (plan.pointer >= 0 && call->arguments[plan.pointer].tensor != nullptr) {
    return Fail(
        "TypeError",
        "%s: got a tensor, wanted a stream: an object with __cuda_stream__, its handle as "
        "ctypes.c_void_p, or None, the default stream",
        ArgumentText(call->function.name, call->instance.params[plan.pointer], plan.pointer + 1)
            .chars);
  }
  call->stream = reinterpret_cast<CUstream>(Value(call, plan.stream));
  call->has_stream = true;
  return call->failure == nullptr ? 0 : FailFigure(*call);
}

/*!
 * \brief Refuses what is no stream, and a stream that a caller gave and that is another device's:
 * the driver would launch there, away from the tensors.
 */
__attribute__((noinline)) inline int CheckStream(const Call& call) {
  const CUstream stream = call.stream;
  if (stream == nullptr || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD) return 0;
  // The driver reads at any address that it is given, and nothing lies in the first page.
  if (reinterpret_cast<intptr_t>(stream) < 4096) {
    return Fail("ValueError",
                "%s: the launch's stream is %lld, which is no handle: an address, or 0, 1 or 2",
                call.function.name, static_cast<long long>(reinterpret_cast<intptr_t>(stream)));
  }
  CUcontext context = nullptr;
  CUdevice home = -1;
  // A stream that is being captured, or of a driver that does not say, is left to the launch.
  if (entry::cuStreamGetCtx(stream, &context) != CUDA_SUCCESS) return 0;
  if (entry::cuCtxPushCurrent(context) != CUDA_SUCCESS) return 0;
  const CUresult result = entry::cuCtxGetDevice(&home);
  entry::cuCtxPopCurrent(&context);
  if (result != CUDA_SUCCESS || home == call.device) return 0;
  return Fail("ValueError",
              "%s: the stream is of cuda:%d, the launch is on cuda:%d, its tensors' device, or the "
              "one that it names: give a stream of that device",
              call.function.name, static_cast<int>(home), call.device);
}

/*! \brief Finds out where a call goes: as its caller says, its function, its tensors, in this
 * order. */
__attribute__((always_inline)) inline int FindTarget(Call* call) {
  if (__builtin_expect(call->instance.target != nullptr, 0)) {
    const TargetPlan& plan = *call->instance.target;
    if (plan.has_device && FindDevice(call) != 0) return -1;
    if (plan.has_stream && !call->has_stream && FindStream(call) != 0) return -1;
  }
  if (call->device < 0) call->device = CurrentDevice();
  if (call->has_stream) return CheckStream(*call);
  call->stream = static_cast<CUstream>(TVMFFIEnvGetStream(kDLCUDA, call->device));
  return 0;
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCHER_TARGET_H_
