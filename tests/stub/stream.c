/*!
 * \file stream.c
 * \brief Streams, events and as much of stream capture as a launch sees of it. All work is done at
 * once, so nothing is ever waited for.
 */
#include <stdlib.h>

#include "stub.h"

static _Thread_local CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

CUresult StubStreamContext(CUstream handle, StubContext** context, StubStream** stream) {
  *stream = NULL;
  if (handle == NULL || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD) {
    return StubActiveContext(context);
  }
  for (*stream = stub.streams; *stream != NULL; *stream = (*stream)->next) {
    if (*stream != handle) continue;
    *context = (*stream)->context;
    return (*context)->retained > 0 ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
  }
  return CUDA_ERROR_INVALID_HANDLE;
}

bool StubCaptureForbids(void) {
  bool forbidden = false;
  if (capture_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return false;
  for (StubStream* stream = stub.streams; stream != NULL; stream = stream->next) {
    if (!stream->capturing || stream->mode == CU_STREAM_CAPTURE_MODE_RELAXED) continue;
    stream->invalidated = true;
    forbidden = true;
  }
  return forbidden;
}

CUresult CUDAAPI cuStreamCreate(CUstream* stream, unsigned int flags) {
  (void)flags;
  STUB_ENTER(STUB_INITIALIZED);
  StubContext* context = NULL;
  STUB_TRY(StubActiveContext(&context));
  *stream = calloc(1, sizeof(**stream));
  **stream = (StubStream){.context = context, .next = stub.streams};
  stub.streams = *stream;
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuStreamDestroy(CUstream handle) {
  STUB_ENTER(STUB_INITIALIZED);
  StubStream** at = &stub.streams;
  while (*at != NULL && *at != handle) at = &(*at)->next;
  STUB_REQUIRE(*at != NULL, CUDA_ERROR_INVALID_HANDLE);
  *at = handle->next;
  free(handle);
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuStreamGetCtx(CUstream handle, CUcontext* context) {
  STUB_ENTER(STUB_INITIALIZED);
  StubStream* stream = NULL;
  return StubLeave(StubStreamContext(handle, context, &stream));
}

CUresult CUDAAPI cuStreamSynchronize(CUstream handle) {
  STUB_ENTER(STUB_INITIALIZED);
  StubContext* context = NULL;
  StubStream* stream = NULL;
  return StubLeave(StubStreamContext(handle, &context, &stream));
}

CUresult CUDAAPI cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode) {
  STUB_ENTER(STUB_INITIALIZED);
  stream->capturing = true;
  stream->mode = mode;
  stream->invalidated = false;
  return StubLeave(CUDA_SUCCESS);
}

/* The graph is only a token: nothing here instantiates one. */
CUresult CUDAAPI cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  STUB_ENTER(STUB_INITIALIZED);
  stream->capturing = false;
  *graph = (CUgraph)stream;
  return StubLeave(stream->invalidated ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS);
}

CUresult CUDAAPI cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  STUB_ENTER(STUB_ALWAYS);
  CUstreamCaptureMode previous = capture_mode;
  capture_mode = *mode;
  *mode = previous;
  return StubLeave(CUDA_SUCCESS);
}

/* ---- Events ---- */

CUresult CUDAAPI cuEventCreate(CUevent* event, unsigned int flags) {
  STUB_ENTER(STUB_INITIALIZED);
  *event = calloc(1, sizeof(**event));
  **event = (StubEvent){!(flags & CU_EVENT_DISABLE_TIMING), stub.events};
  stub.events = *event;
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuEventDestroy(CUevent event) {
  STUB_ENTER(STUB_INITIALIZED);
  StubEvent** at = &stub.events;
  while (*at != NULL && *at != event) at = &(*at)->next;
  STUB_REQUIRE(*at != NULL, CUDA_ERROR_INVALID_HANDLE);
  *at = event->next;
  free(event);
  return StubLeave(CUDA_SUCCESS);
}
