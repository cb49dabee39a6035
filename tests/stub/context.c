/*!
 * \file context.c
 * \brief Primary contexts with their retain counts, and each thread's stack of contexts.
 */
#include <stdlib.h>

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

CUresult StubActiveContext(StubContext** context) {
  *context = StubCurrentContext();
  if (*context == NULL) return CUDA_ERROR_INVALID_CONTEXT;
  return (*context)->retained > 0 ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

static void Push(StubContext* context) {
  Refresh();
  if (stack.depth == kMaxStack) abort();
  stack.entries[stack.depth++] = context;
  ++stub.stacked;
}

static StubContext* Pop(void) {
  Refresh();
  if (stack.depth == 0) return NULL;
  --stub.stacked;
  return stack.entries[--stack.depth];
}

CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  STUB_ENTER(STUB_INITIALIZED);
  STUB_REQUIRE(StubDeviceExists(device), CUDA_ERROR_INVALID_DEVICE);
  *context = &stub.contexts[device];
  (*context)->device = device;
  ++(*context)->retained;
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDevicePrimaryCtxRelease(CUdevice device) {
  STUB_ENTER(STUB_INITIALIZED);
  STUB_REQUIRE(stub.contexts[device].retained > 0, CUDA_ERROR_INVALID_CONTEXT);
  --stub.contexts[device].retained;
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxGetDevice(CUdevice* device) {
  STUB_ENTER(STUB_INITIALIZED);
  const StubContext* current = StubCurrentContext();
  STUB_REQUIRE(current != NULL, CUDA_ERROR_INVALID_CONTEXT);
  *device = current->device;
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxGetCurrent(CUcontext* context) {
  STUB_ENTER(STUB_INITIALIZED);
  *context = StubCurrentContext();
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxSetCurrent(CUcontext context) {
  STUB_ENTER(STUB_INITIALIZED);
  Pop();
  if (context != NULL) Push(context);
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxPushCurrent(CUcontext context) {
  STUB_ENTER(STUB_INITIALIZED);
  Push(context);
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxPopCurrent(CUcontext* context) {
  STUB_ENTER(STUB_INITIALIZED);
  *context = Pop();
  return StubLeave(*context != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT);
}

CUresult CUDAAPI cuCtxSynchronize(void) {
  STUB_ENTER(STUB_INITIALIZED);
  StubContext* context = NULL;
  return StubLeave(StubActiveContext(&context));
}
