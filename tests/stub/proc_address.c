/*!
 * \file proc_address.c
 * \brief cuGetProcAddress over the one table of entry points.
 */
#include <string.h>

#include "stub.h"

/* Each entry point by its base name, and the CUDA version that brought it. */
/* clang-format off */
#define STUB_ENTRIES(V)                                                                         \
  V(cuInit, 2000) V(cuDriverGetVersion, 2020) V(cuGetErrorName, 6000)                           \
  V(cuGetErrorString, 6000) V(cuGetProcAddress, 11030) V(cuDeviceGet, 2000)                     \
  V(cuDeviceGetCount, 2000) V(cuDeviceGetName, 2000) V(cuDeviceGetAttribute, 2000)              \
  V(cuDevicePrimaryCtxRetain, 7000) V(cuDevicePrimaryCtxRelease, 11000)                         \
  V(cuCtxGetDevice, 2000) V(cuCtxGetCurrent, 4000) V(cuCtxSetCurrent, 4000)                     \
  V(cuCtxPushCurrent, 4000) V(cuCtxPopCurrent, 4000) V(cuStreamGetCtx, 9020)                    \
  V(cuThreadExchangeStreamCaptureMode, 10010) V(cuLibraryLoadData, 12000)                       \
  V(cuLibraryUnload, 12000) V(cuLibraryGetKernel, 12000) V(cuLibraryLoadFromFile, 12000)        \
  V(cuLibraryGetKernelCount, 12040) V(cuLibraryEnumerateKernels, 12040)                         \
  V(cuKernelGetAttribute, 12000) V(cuKernelSetAttribute, 12000)                                 \
  V(cuKernelGetName, 12030) V(cuKernelGetParamInfo, 12040)                                      \
  V(cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050)                                          \
  V(cuOccupancyMaxPotentialClusterSize, 11070) V(cuOccupancyMaxActiveClusters, 11070)           \
  V(cuLaunchKernel, 4000) V(cuLaunchKernelEx, 11060)                                            \
  V(cuTensorMapEncodeTiled, 12000) V(cuTensorMapEncodeIm2col, 12000)                            \
  V(cuPointerGetAttribute, 4000) V(cuMemAlloc, 2000) V(cuMemFree, 2000)                         \
  V(cuMemAllocAsync, 11020) V(cuMemFreeAsync, 11020) V(cuMemcpyAsync, 4000) V(cuMemcpy, 4000)
/* clang-format on */

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

CUresult CUDAAPI cuGetProcAddress(const char* symbol, void** function, int version,
                                  cuuint64_t flags, CUdriverProcAddressQueryResult* status) {
  (void)flags, (void)status;  // a function that is not there says enough
  STUB_ENTER(STUB_ALWAYS);
  STUB_REQUIRE(version <= stub.driver_version, CUDA_ERROR_INVALID_VALUE);
  *function = NULL;
  for (size_t i = 0; i < sizeof(kEntries) / sizeof(kEntries[0]); ++i) {
    // A driver older than an entry point has never heard of it.
    bool known = kEntries[i].since <= version && strcmp(kEntries[i].name, symbol) == 0;
    if (known) *function = kEntries[i].function;
  }
  return StubLeave(CUDA_SUCCESS);
}
