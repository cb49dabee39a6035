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

static CUresult CopyRows(const CUDA_MEMCPY2D* copy) {
  if (copy->srcMemoryType != CU_MEMORYTYPE_UNIFIED ||
      copy->dstMemoryType != CU_MEMORYTYPE_UNIFIED) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  if (copy->WidthInBytes > copy->srcPitch || copy->WidthInBytes > copy->dstPitch) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (size_t row = 0; row < copy->Height; ++row) {
    memmove((char*)copy->dstDevice + row * copy->dstPitch,
            (const char*)copy->srcDevice + row * copy->srcPitch, copy->WidthInBytes);
  }
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemcpy2DUnaligned(const CUDA_MEMCPY2D* copy) {
  STUB_ENTER(STUB_INITIALIZED, "'width':%zu,'height':%zu", copy->WidthInBytes, copy->Height);
  StubContext* context = NULL;
  STUB_TRY(StubActiveContext(&context));
  return StubLeave(CopyRows(copy));
}

CUresult CUDAAPI cuMemcpy2DAsync(const CUDA_MEMCPY2D* copy, CUstream handle) {
  STUB_ENTER(STUB_INITIALIZED, "'width':%zu,'height':%zu,'stream':%zu", copy->WidthInBytes,
             copy->Height, (size_t)handle);
  StubContext* context = NULL;
  StubStream* stream = NULL;
  STUB_TRY(StubStreamContext(handle, &context, &stream));
  return StubLeave(CopyRows(copy));
}

static CUresult CopyPeer(CUdeviceptr to, CUcontext target, CUdeviceptr from, CUcontext source,
                         size_t size) {
  if (StubFindContext(target) == NULL || StubFindContext(source) == NULL) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  memmove((void*)to, (const void*)from, size);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemcpyPeer(CUdeviceptr to, CUcontext target, CUdeviceptr from, CUcontext source,
                              size_t size) {
  STUB_ENTER(STUB_INITIALIZED, "'to':%llu,'from':%llu,'size':%zu", to, from, size);
  return StubLeave(CopyPeer(to, target, from, source, size));
}

CUresult CUDAAPI cuMemcpyPeerAsync(CUdeviceptr to, CUcontext target, CUdeviceptr from,
                                   CUcontext source, size_t size, CUstream handle) {
  STUB_ENTER(STUB_INITIALIZED, "'to':%llu,'from':%llu,'size':%zu,'stream':%zu", to, from, size,
             (size_t)handle);
  StubContext* context = NULL;
  StubStream* stream = NULL;
  STUB_TRY(StubStreamContext(handle, &context, &stream));
  return StubLeave(CopyPeer(to, target, from, source, size));
}

CUresult CUDAAPI cuMemsetD8(CUdeviceptr to, unsigned char value, size_t size) {
  STUB_ENTER(STUB_INITIALIZED, "'to':%llu,'value':%d,'size':%zu", to, value, size);
  StubContext* context = NULL;
  STUB_TRY(StubActiveContext(&context));
  STUB_REQUIRE(size == 0 || to != 0, CUDA_ERROR_INVALID_VALUE);
  memset((void*)to, value, size);
  return StubLeave(CUDA_SUCCESS);
}
