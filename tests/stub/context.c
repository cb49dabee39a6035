/*!
 * \file context.c
 * \brief Primary contexts with their retain counts, and each thread's stack of contexts.
 */
#include <string.h>

#include "stub.h"

// A stack that an earlier generation left in some thread counts as empty (see StubForgetStacks).
static int generation = 1;
static _Thread_local struct {
  int generation, depth;
  StubContext* entries[kMaxStack];
} stack;

static void Refresh(void) {
  if (stack.generation == generation) return;
  stack.generation = generation;
  stack.depth = 0;
}

void StubForgetStacks(void) {
  ++generation;
  stub.stacked = 0;
}

StubContext* StubCurrentContext(void) {
  Refresh();
  return stack.depth > 0 ? stack.entries[stack.depth - 1] : NULL;
}

StubContext* StubFindContext(CUcontext handle) {
  for (int i = 0; i < kMaxDevices; ++i) {
    if (handle == &stub.contexts[i] && stub.contexts[i].used) return handle;
  }
  return NULL;
}

CUresult StubActiveContext(StubContext** context) {
  *context = StubCurrentContext();
  if (*context == NULL) return CUDA_ERROR_INVALID_CONTEXT;
  return (*context)->retained > 0 ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

static bool Push(StubContext* context) {
  Refresh();
  if (stack.depth == kMaxStack) return false;
  stack.entries[stack.depth++] = context;
  ++stub.stacked;
  return true;
}

static StubContext* Pop(void) {
  Refresh();
  if (stack.depth == 0) return NULL;
  --stub.stacked;
  return stack.entries[--stack.depth];
}

CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  STUB_ENTER(STUB_INITIALIZED, "'device':%d", device);
  STUB_REQUIRE(context != NULL, CUDA_ERROR_INVALID_VALUE);
  STUB_REQUIRE(StubDeviceExists(device), CUDA_ERROR_INVALID_DEVICE);
  StubContext* primary = &stub.contexts[device];
  primary->device = device;
  primary->used = true;
  ++primary->retained;
  *context = primary;
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDevicePrimaryCtxRelease(CUdevice device) {
  STUB_ENTER(STUB_INITIALIZED, "'device':%d", device);
  STUB_REQUIRE(StubDeviceExists(device), CUDA_ERROR_INVALID_DEVICE);
  STUB_REQUIRE(stub.contexts[device].retained > 0, CUDA_ERROR_INVALID_CONTEXT);
  --stub.contexts[device].retained;
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxGetDevice(CUdevice* device) {
  STUB_ENTER(STUB_INITIALIZED);
  STUB_REQUIRE(device != NULL, CUDA_ERROR_INVALID_VALUE);
  const StubContext* current = StubCurrentContext();
  STUB_REQUIRE(current != NULL, CUDA_ERROR_INVALID_CONTEXT);
  *device = current->device;
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxGetCurrent(CUcontext* context) {
  STUB_ENTER(STUB_INITIALIZED);
  STUB_REQUIRE(context != NULL, CUDA_ERROR_INVALID_VALUE);
  *context = StubCurrentContext();
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxSetCurrent(CUcontext context) {
  STUB_ENTER(STUB_INITIALIZED, "'context':%zu", (size_t)context);
  STUB_REQUIRE(context == NULL || StubFindContext(context) != NULL, CUDA_ERROR_INVALID_CONTEXT);
  Pop();
  STUB_REQUIRE(context == NULL || Push(context), CUDA_ERROR_OUT_OF_MEMORY);
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxPushCurrent(CUcontext context) {
  STUB_ENTER(STUB_INITIALIZED, "'context':%zu", (size_t)context);
  STUB_REQUIRE(context != NULL, CUDA_ERROR_INVALID_VALUE);
  STUB_REQUIRE(StubFindContext(context) != NULL, CUDA_ERROR_INVALID_CONTEXT);
  STUB_REQUIRE(Push(context), CUDA_ERROR_OUT_OF_MEMORY);
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxPopCurrent(CUcontext* context) {
  STUB_ENTER(STUB_INITIALIZED);
  StubContext* popped = Pop();
  STUB_REQUIRE(popped != NULL, CUDA_ERROR_INVALID_CONTEXT);
  if (context != NULL) *context = popped;
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxSynchronize(void) {
  STUB_ENTER(STUB_INITIALIZED);
  StubContext* context = NULL;
  STUB_TRY(StubActiveContext(&context));
  STUB_REQUIRE(!StubCaptureUnderWay(context), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  return StubLeave(CUDA_SUCCESS);
}
