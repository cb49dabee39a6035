/*!
 * \file tvmffi_cubin/runtime/stream.h
 * \brief cudaStream* and cudaEvent* over the driver.
 */
#ifndef TVMFFI_CUBIN_RUNTIME_STREAM_H_
#define TVMFFI_CUBIN_RUNTIME_STREAM_H_

#include "device.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

TVMFFI_CUBIN_DRIVER_ENTRY(cuStreamCreate, 2000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuStreamCreateWithPriority, 5050)
TVMFFI_CUBIN_DRIVER_ENTRY(cuStreamDestroy, 4000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuStreamSynchronize, 2000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuStreamQuery, 2000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuStreamWaitEvent, 3020)
TVMFFI_CUBIN_DRIVER_ENTRY(cuEventCreate, 2000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuEventDestroy, 4000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuEventRecord, 2000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuEventSynchronize, 2000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuEventQuery, 2000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuEventElapsedTime, 2000)

TVMFFI_CUBIN_DRIVER_ENTRY(cuStreamIsCapturing, 10000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuStreamGetPriority, 5050)
TVMFFI_CUBIN_DRIVER_ENTRY(cuStreamGetFlags, 5050)
TVMFFI_CUBIN_DRIVER_ENTRY(cuEventRecordWithFlags, 11010)
TVMFFI_CUBIN_DRIVER_ENTRY(cuLaunchHostFunc, 10000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuCtxGetStreamPriorityRange, 5050)

/*! \brief CallInContext, where "not ready" is an answer and no error to remember. */
template <typename Entry, typename Handle>
cudaError_t Query(Entry& call, Handle handle) {
  CUresult result = EnsureContext();
  if (result == CUDA_SUCCESS) result = call(handle);
  return result == CUDA_ERROR_NOT_READY ? cudaErrorNotReady : NoteRuntimeError(result);
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

TVMFFI_CUBIN_RUNTIME(cudaError_t) cudaStreamCreate(cudaStream_t* stream) {
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuStreamCreate, stream, 0u);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags) {
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuStreamCreate, stream, flags);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int flags, int priority) {
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuStreamCreateWithPriority, stream, flags,
                                     priority);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t) cudaStreamDestroy(cudaStream_t stream) {
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuStreamDestroy, stream);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t) cudaStreamSynchronize(cudaStream_t stream) {
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuStreamSynchronize, stream);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t) cudaStreamQuery(cudaStream_t stream) {
  return tvmffi_cubin::Query(tvmffi_cubin::entry::cuStreamQuery, stream);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags) {
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuStreamWaitEvent, stream, event, flags);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus* status) {
  CUstreamCaptureStatus found = CU_STREAM_CAPTURE_STATUS_NONE;
  cudaError_t error;
  if (tvmffi_cubin::IsNull(&error, status)) return error;
  error = tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuStreamIsCapturing, stream, &found);
  if (error == cudaSuccess) *status = static_cast<enum cudaStreamCaptureStatus>(found);
  return error;
}

TVMFFI_CUBIN_RUNTIME(cudaError_t) cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuStreamGetPriority, stream, priority);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t) cudaStreamGetFlags(cudaStream_t stream, unsigned int* flags) {
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuStreamGetFlags, stream, flags);
}

#if CUDART_VERSION >= 12080
TVMFFI_CUBIN_RUNTIME(cudaError_t) cudaStreamGetDevice(cudaStream_t stream, int* device) {
  cudaError_t error;
  if (tvmffi_cubin::IsNull(&error, device)) return error;
  CUresult result = tvmffi_cubin::EnsureContext();
  if (result == CUDA_SUCCESS) {
    tvmffi_cubin::DeviceScope scope;
    tvmffi_cubin::EnterLaunch(stream, -1, &scope);
    *device = tvmffi_cubin::CurrentDevice();
  }
  return tvmffi_cubin::NoteRuntimeError(result);
}
#endif

TVMFFI_CUBIN_RUNTIME(cudaError_t) cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuCtxGetStreamPriorityRange, least,
                                     greatest);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuLaunchHostFunc, stream, function, data);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t) cudaEventCreate(cudaEvent_t* event) {
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuEventCreate, event, 0u);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuEventCreate, event, flags);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t) cudaEventDestroy(cudaEvent_t event) {
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuEventDestroy, event);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t) cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuEventRecord, event, stream);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int flags) {
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuEventRecordWithFlags, event, stream,
                                     flags);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t) cudaEventSynchronize(cudaEvent_t event) {
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuEventSynchronize, event);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t) cudaEventQuery(cudaEvent_t event) {
  return tvmffi_cubin::Query(tvmffi_cubin::entry::cuEventQuery, event);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuEventElapsedTime, milliseconds, start,
                                     end);
}

#endif  // TVMFFI_CUBIN_RUNTIME_STREAM_H_
