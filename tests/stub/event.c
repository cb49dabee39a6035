/*!
 * \file event.c
 * \brief Events; all work is done at once, so none of them is ever waited for.
 */
#include <stdlib.h>

#include "stub.h"

const StubEvent* StubFindEvent(CUevent handle) {
  const StubEvent* event = stub.events;
  while (event != NULL && event != handle) event = event->next;
  return event;
}

CUresult CUDAAPI cuEventCreate(CUevent* event, unsigned int flags) {
  STUB_ENTER(STUB_INITIALIZED, "'flags':%u", flags);
  STUB_REQUIRE(event != NULL, CUDA_ERROR_INVALID_VALUE);
  StubContext* context = NULL;
  STUB_TRY(StubActiveContext(&context));
  *event = calloc(1, sizeof(**event));
  STUB_REQUIRE(*event != NULL, CUDA_ERROR_OUT_OF_MEMORY);
  **event = (StubEvent){
      .context = context, .timed = !(flags & CU_EVENT_DISABLE_TIMING), .next = stub.events};
  stub.events = *event;
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuEventRecord(CUevent event, CUstream handle) {
  STUB_ENTER(STUB_INITIALIZED, "'event':%zu,'stream':%zu", (size_t)event, (size_t)handle);
  STUB_REQUIRE(event != NULL, CUDA_ERROR_INVALID_HANDLE);
  StubContext* context = NULL;
  StubStream* stream = NULL;
  STUB_TRY(StubStreamContext(handle, &context, &stream));
  STUB_REQUIRE(context == event->context, CUDA_ERROR_INVALID_HANDLE);
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuEventSynchronize(CUevent event) {
  STUB_ENTER(STUB_INITIALIZED, "'event':%zu", (size_t)event);
  return StubLeave(event != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE);
}

CUresult CUDAAPI cuEventDestroy(CUevent event) {
  STUB_ENTER(STUB_INITIALIZED, "'event':%zu", (size_t)event);
  StubEvent** at = &stub.events;
  while (*at != NULL && *at != event) at = &(*at)->next;
  STUB_REQUIRE(*at != NULL, CUDA_ERROR_INVALID_HANDLE);
  *at = event->next;
  free(event);
  return StubLeave(CUDA_SUCCESS);
}
