/*!
 * \file stream.c
 * \brief Streams, events and as much of stream capture as a launch sees of it.
 */
#include <stdlib.h>

#include "stub.h"

static _Thread_local CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

static bool IsDefault(CUstream handle) {
  return handle == NULL || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD;
}

CUresult StubStreamContext(CUstream handle, StubContext** context, StubStream** stream) {
  *stream = NULL;
  if (IsDefault(handle)) return StubActiveContext(context);
  for (*stream = stub.streams; *stream != NULL; *stream = (*stream)->next) {
    if (*stream != handle) continue;
    *context = (*stream)->context;
    return (*context)->retained > 0 ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
  }
  return CUDA_ERROR_INVALID_HANDLE;
}

bool StubCaptureUnderWay(const StubContext* context) {
  for (const StubStream* stream = stub.streams; stream != NULL; stream = stream->next) {
    if (stream->context == context && stream->capturing) return true;
  }
  return false;
}

bool StubCaptureForbids(void) {
  bool forbidden = false;
  if (capture_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return false;
  for (StubStream* stream = stub.streams; stream != NULL; stream = stream->next) {
    if (!stream->capturing || stream->mode == CU_STREAM_CAPTURE_MODE_RELAXED) continue;
    // Another thread's capture concerns only threads, and captures, of the global mode.
    bool global = stream->mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
                  capture_mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
    if (!global && !pthread_equal(stream->capturer, pthread_self())) continue;
    stream->invalidated = true;
    forbidden = true;
  }
  return forbidden;
}

static StubStream* AddStream(StubContext* context) {
  StubStream* made = calloc(1, sizeof(*made));
  if (made == NULL) abort();
  made->context = context;
  made->next = stub.streams;
  stub.streams = made;
  return made;
}

CUresult CUDAAPI cuStreamCreate(CUstream* stream, unsigned int flags) {
  STUB_ENTER(STUB_INITIALIZED, "'flags':%u", flags);
  STUB_REQUIRE(stream != NULL && flags <= 1, CUDA_ERROR_INVALID_VALUE);
  StubContext* context = NULL;
  STUB_TRY(StubActiveContext(&context));
  *stream = AddStream(context);
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuStreamDestroy(CUstream handle) {
  STUB_ENTER(STUB_INITIALIZED, "'stream':%zu", (size_t)handle);
  StubStream** at = &stub.streams;
  while (*at != NULL && *at != handle) at = &(*at)->next;
  STUB_REQUIRE(*at != NULL, CUDA_ERROR_INVALID_HANDLE);
  *at = handle->next;
  free(handle);
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuStreamGetCtx(CUstream handle, CUcontext* context) {
  STUB_ENTER(STUB_INITIALIZED, "'stream':%zu", (size_t)handle);
  STUB_REQUIRE(context != NULL, CUDA_ERROR_INVALID_VALUE);
  StubStream* stream = NULL;
  return StubLeave(StubStreamContext(handle, context, &stream));
}

CUresult CUDAAPI cuStreamSynchronize(CUstream handle) {
  STUB_ENTER(STUB_INITIALIZED, "'stream':%zu", (size_t)handle);
  StubContext* context = NULL;
  StubStream* stream = NULL;
  STUB_TRY(StubStreamContext(handle, &context, &stream));
  if (stream != NULL && stream->capturing) {
    stream->invalidated = true;
    return StubLeave(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  }
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuStreamBeginCapture(CUstream handle, CUstreamCaptureMode mode) {
  STUB_ENTER(STUB_INITIALIZED, "'stream':%zu,'mode':%d", (size_t)handle, (int)mode);
  StubContext* context = NULL;
  StubStream* stream = NULL;
  STUB_TRY(StubStreamContext(handle, &context, &stream));
  STUB_REQUIRE(stream != NULL, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  STUB_REQUIRE(!stream->capturing, CUDA_ERROR_ILLEGAL_STATE);
  stream->capturing = true;
  stream->mode = mode;
  stream->capturer = pthread_self();
  stream->invalidated = false;
  return StubLeave(CUDA_SUCCESS);
}

/* The graph is only a token: nothing here instantiates one. */
CUresult CUDAAPI cuStreamEndCapture(CUstream handle, CUgraph* graph) {
  STUB_ENTER(STUB_INITIALIZED, "'stream':%zu", (size_t)handle);
  STUB_REQUIRE(graph != NULL, CUDA_ERROR_INVALID_VALUE);
  StubContext* context = NULL;
  StubStream* stream = NULL;
  STUB_TRY(StubStreamContext(handle, &context, &stream));
  STUB_REQUIRE(stream != NULL && stream->capturing, CUDA_ERROR_ILLEGAL_STATE);
  stream->capturing = false;
  *graph = stream->invalidated ? NULL : (CUgraph)stream;
  return StubLeave(stream->invalidated ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS);
}

CUresult CUDAAPI cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  STUB_ENTER(STUB_ALWAYS, "'mode':%d", mode != NULL ? (int)*mode : -1);
  STUB_REQUIRE(mode != NULL, CUDA_ERROR_INVALID_VALUE);
  CUstreamCaptureMode previous = capture_mode;
  capture_mode = *mode;
  *mode = previous;
  return StubLeave(CUDA_SUCCESS);
}
