/*!
 * \file proc_address.c
 * \brief cuGetProcAddress over the one table of entry points.
 */
#include <string.h>

#include "stub.h"

/* Each entry point by its base name, and the CUDA version that brought it. */
#define STUB_ENTRIES(V)                                                                        \
  V(cuInit, 2000) V(cuDriverGetVersion, 2020) V(cuGetErrorName, 6000) V(cuGetErrorString, 6000) \
  V(cuGetProcAddress, 11030)                                                                   \
  V(cuDeviceGet, 2000) V(cuDeviceGetCount, 2000) V(cuDeviceGetName, 2000)                      \
  V(cuDeviceGetAttribute, 2000)                                                                \
  V(cuDevicePrimaryCtxRetain, 7000) V(cuDevicePrimaryCtxRelease, 11000)                        \
  V(cuDevicePrimaryCtxGetState, 7000)                                                          \
  V(cuCtxGetDevice, 2000) V(cuCtxGetCurrent, 4000) V(cuCtxSetCurrent, 4000)                    \
  V(cuCtxPushCurrent, 4000) V(cuCtxPopCurrent, 4000) V(cuCtxSynchronize, 2000)                 \
  V(cuStreamCreate, 2000) V(cuStreamDestroy, 4000) V(cuStreamSynchronize, 2000)                \
  V(cuStreamGetCtx, 9020) V(cuStreamIsCapturing, 10000) V(cuStreamBeginCapture, 10010)         \
  V(cuStreamEndCapture, 10000) V(cuThreadExchangeStreamCaptureMode, 10010)                     \
  V(cuEventCreate, 2000) V(cuEventRecord, 2000) V(cuEventSynchronize, 2000)                    \
  V(cuEventDestroy, 4000)                                                                      \
  V(cuLibraryLoadData, 12000) V(cuLibraryUnload, 12000) V(cuLibraryGetKernel, 12000)           \
  V(cuLibraryLoadFromFile, 12000)                                                              \
  V(cuLibraryGetKernelCount, 12040) V(cuLibraryEnumerateKernels, 12040)                        \
  V(cuKernelGetFunction, 12000) V(cuKernelGetAttribute, 12000) V(cuKernelSetAttribute, 12000)  \
  V(cuLibraryGetGlobal, 12000) V(cuKernelSetCacheConfig, 12000)                             \
  V(cuKernelGetName, 12030) V(cuKernelGetParamInfo, 12040)                                     \
  V(cuFuncGetAttribute, 2020) V(cuFuncSetAttribute, 9000) V(cuFuncLoad, 12040)                 \
  V(cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050)                                         \
  V(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, 7000)                                \
  V(cuOccupancyAvailableDynamicSMemPerBlock, 10020)                                            \
  V(cuOccupancyMaxPotentialClusterSize, 11070) V(cuOccupancyMaxActiveClusters, 11070)          \
  V(cuLaunchKernel, 4000) V(cuLaunchKernelEx, 11060) V(cuLaunchCooperativeKernel, 9000)        \
  V(cuTensorMapEncodeTiled, 12000) V(cuTensorMapEncodeIm2col, 12000)                           \
  V(cuPointerGetAttribute, 4000) V(cuPointerGetAttributes, 7000)                               \
  V(cuMemAlloc, 2000) V(cuMemFree, 2000) V(cuMemAllocManaged, 6000) V(cuMemHostAlloc, 2020)    \
  V(cuMemFreeHost, 2000) V(cuMemAllocAsync, 11020) V(cuMemFreeAsync, 11020)                    \
  V(cuMemcpyAsync, 4000) V(cuMemsetD8Async, 3020)                                              \
  V(cuMemcpy, 4000) V(cuMemcpy2DUnaligned, 3020) V(cuMemcpy2DAsync, 3020)                      \
  V(cuStreamCreateWithPriority, 5050) V(cuStreamQuery, 2000) V(cuStreamWaitEvent, 3020)        \
  V(cuEventQuery, 2000) V(cuEventElapsedTime, 2000) V(cuMemGetInfo, 3020)                      \
  V(cuGraphAddKernelNode, 12000) V(cuGraphKernelNodeSetParams, 12000)                          \
  V(cuGraphExecKernelNodeSetParams, 12000)                                                     \
  V(cuMemcpyPeer, 4000) V(cuMemcpyPeerAsync, 4000) V(cuMemsetD8, 3020)                         \
  V(cuEventRecordWithFlags, 11010) V(cuStreamGetPriority, 5050) V(cuLaunchHostFunc, 10000)     \
  V(cuCtxGetStreamPriorityRange, 5050) V(cuDeviceTotalMem, 3020)                    \
  V(cuArray3DCreate, 3020) V(cuArray3DGetDescriptor, 3020) V(cuArrayDestroy, 2000)             \
  V(cuMemcpy3D, 3020) V(cuMemcpy3DAsync, 3020)                                                 \
  V(cuTexObjectCreate, 5000) V(cuTexObjectDestroy, 5000)                                       \
  V(cuSurfObjectCreate, 5000) V(cuSurfObjectDestroy, 5000)                                     \
  V(cuMemHostRegister, 6050) V(cuMemHostUnregister, 4000)                                      \
  V(cuMemHostGetDevicePointer, 3020) V(cuMemAllocPitch, 3020)                                  \
  V(cuMemsetD2D8, 3020) V(cuMemsetD2D8Async, 3020)                                             \
  V(cuDeviceCanAccessPeer, 4000) V(cuCtxEnablePeerAccess, 4000)                                \
  V(cuCtxDisablePeerAccess, 4000) V(cuDeviceGetPCIBusId, 4010)                                 \
  V(cuDevicePrimaryCtxSetFlags, 11000) V(cuCtxSetLimit, 3010) V(cuCtxGetLimit, 3010)           \
  V(cuDeviceGetDefaultMemPool, 11020) V(cuMemPoolSetAttribute, 11020)                          \
  V(cuMemPoolGetAttribute, 11020) V(cuMemAllocFromPoolAsync, 11020)                            \
  V(cuGraphCreate, 10000) V(cuGraphDestroy, 10000) V(cuGraphAddEmptyNode, 10000)               \
  V(cuGraphAddHostNode, 10000) V(cuGraphAddMemcpyNode, 10000)                                  \
  V(cuGraphAddMemsetNode, 10000) V(cuGraphGetNodes, 10000)                                     \
  V(cuGraphInstantiateWithFlags, 11040) V(cuGraphLaunch, 10000) V(cuGraphExecDestroy, 10000) \
  V(cuProfilerStart, 4000) V(cuProfilerStop, 4000)

typedef struct {
  const char* name;
  void* function;
  int since;
} Entry;

static const Entry kEntries[] = {
#define STUB_ENTRY(name, since) {#name, (void*)&name, since},
    STUB_ENTRIES(STUB_ENTRY)
#undef STUB_ENTRY
};

static void* Find(const char* symbol, int version, CUdriverProcAddressQueryResult* status) {
  *status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  for (size_t i = 0; i < sizeof(kEntries) / sizeof(kEntries[0]); ++i) {
    // A driver older than an entry point has never heard of it.
    if (kEntries[i].since > stub.driver_version) continue;
    if (strcmp(kEntries[i].name, symbol) != 0) continue;
    bool known = version >= kEntries[i].since;
    *status = known ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
    return known ? kEntries[i].function : NULL;
  }
  return NULL;
}

CUresult CUDAAPI cuGetProcAddress(const char* symbol, void** function, int version,
                                  cuuint64_t flags, CUdriverProcAddressQueryResult* status) {
  STUB_ENTER(STUB_ALWAYS, "'symbol':'%s','version':%d,'flags':%llu", StubQuote(symbol), version,
             (unsigned long long)flags);
  STUB_REQUIRE(symbol != NULL && function != NULL, CUDA_ERROR_INVALID_VALUE);
  STUB_REQUIRE(version <= stub.driver_version, CUDA_ERROR_INVALID_VALUE);
  CUdriverProcAddressQueryResult found;
  *function = Find(symbol, version, &found);
  if (status != NULL) *status = found;
  return StubLeave(CUDA_SUCCESS);
}

/* The form of 11.3, under the name that cuda.h takes for the newer one. */
STUB_EXPORT CUresult StubGetProcAddressV1(const char* symbol, void** function, int version,
                                          cuuint64_t flags) __asm__("cuGetProcAddress");

CUresult StubGetProcAddressV1(const char* symbol, void** function, int version, cuuint64_t flags) {
  void* found = NULL;
  CUresult result = cuGetProcAddress(symbol, &found, version, flags, NULL);
  if (result != CUDA_SUCCESS) return result;
  if (found == NULL) return CUDA_ERROR_NOT_FOUND;
  *function = found;
  return CUDA_SUCCESS;
}
