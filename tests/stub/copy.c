/*!
 * \file copy.c
 * \brief Copies and fills; all memory is the host's, so each is done at once.
 */
#include <string.h>

#include "stub.h"

static CUresult Copy(void* to, const void* from, size_t size) {
  StubContext* context = NULL;
  CUresult result = StubActiveContext(&context);
  if (result != CUDA_SUCCESS) return result;
  if (size > 0 && (to == NULL || from == NULL)) return CUDA_ERROR_INVALID_VALUE;
  memmove(to, from, size);
  return CUDA_SUCCESS;
}

static CUresult CopyOn(void* to, const void* from, size_t size, CUstream handle) {
  StubContext* context = NULL;
  StubStream* stream = NULL;
  CUresult result = StubStreamContext(handle, &context, &stream);
  if (result != CUDA_SUCCESS) return result;
  if (size > 0 && (to == NULL || from == NULL)) return CUDA_ERROR_INVALID_VALUE;
  memmove(to, from, size);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t size) {
  STUB_ENTER(STUB_INITIALIZED, "'to':%llu,'from':%llu,'size':%zu", to, from, size);
  return StubLeave(Copy((void*)to, (const void*)from, size));
}

CUresult CUDAAPI cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream) {
  STUB_ENTER(STUB_INITIALIZED, "'to':%llu,'from':%llu,'size':%zu,'stream':%zu", to, from, size,
             (size_t)stream);
  return StubLeave(CopyOn((void*)to, (const void*)from, size, stream));
}

CUresult CUDAAPI cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t size,
                                 CUstream handle) {
  STUB_ENTER(STUB_INITIALIZED, "'to':%llu,'value':%d,'size':%zu,'stream':%zu", to, value, size,
             (size_t)handle);
  StubContext* context = NULL;
  StubStream* stream = NULL;
  STUB_TRY(StubStreamContext(handle, &context, &stream));
  STUB_REQUIRE(size == 0 || to != 0, CUDA_ERROR_INVALID_VALUE);
  memset((void*)to, value, size);
  return StubLeave(CUDA_SUCCESS);
}
