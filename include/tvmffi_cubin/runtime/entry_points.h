/*!
 * \file tvmffi_cubin/runtime/entry_points.h
 * \brief cudaGetDriverEntryPoint, and the profiler's two calls, over the driver.
 */
#ifndef TVMFFI_CUBIN_RUNTIME_ENTRY_POINTS_H_
#define TVMFFI_CUBIN_RUNTIME_ENTRY_POINTS_H_

#include "device.h"

// cudaProfiler.h and cuda_profiler_api.h declare them, and not every wheel has those.
extern "C" CUresult CUDAAPI cuProfilerStart(void);
extern "C" CUresult CUDAAPI cuProfilerStop(void);
extern "C" cudaError_t CUDARTAPI cudaProfilerStart(void);
extern "C" cudaError_t CUDARTAPI cudaProfilerStop(void);

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

TVMFFI_CUBIN_DRIVER_ENTRY(cuGetProcAddress, 12000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuProfilerStart, 4000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuProfilerStop, 4000)

/*! \brief Finds a driver's function. Null, and no error, where the driver has none such. */
inline cudaError_t FindEntryPoint(const char* name, void** function, unsigned int version,
                                  unsigned long long flags,  // NOLINT
                                  enum cudaDriverEntryPointQueryResult* status) {
  CUdriverProcAddressQueryResult found{};
  cudaError_t error;
  if (IsNull(&error, name, function)) return error;
  *function = nullptr;
  const CUresult result = entry::cuGetProcAddress(name, function, static_cast<int>(version),
                                                  static_cast<cuuint64_t>(flags), &found);
  const bool is_told = result == CUDA_SUCCESS || found != CU_GET_PROC_ADDRESS_SUCCESS;
  if (!is_told) found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  if (status != nullptr) {
    *status = static_cast<enum cudaDriverEntryPointQueryResult>(static_cast<int>(found));
  }
  return result == CUDA_ERROR_NOT_FOUND ? cudaSuccess : NoteRuntimeError(result);
}

/*! \brief The version of the functions that are wanted: the runtime's, or an older driver's. */
inline unsigned int EntryPointVersion() {
  int version = CUDART_VERSION;
  // The driver refuses to look for functions of versions beyond its own.
  if (entry::cuDriverGetVersion(&version) == CUDA_SUCCESS &&
      version > CUDART_VERSION) {
    version = CUDART_VERSION;
  }
  return static_cast<unsigned int>(version);
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaGetDriverEntryPoint(const char* name, void** function, unsigned long long flags,  // NOLINT
                        enum cudaDriverEntryPointQueryResult* status) {
  return tvmffi_cubin::FindEntryPoint(name, function, tvmffi_cubin::EntryPointVersion(), flags,
                                      status);
}

#if CUDART_VERSION >= 12050
TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned int version,
                                 unsigned long long flags,  // NOLINT
                                 enum cudaDriverEntryPointQueryResult* status) {
  return tvmffi_cubin::FindEntryPoint(name, function, version, flags, status);
}
#endif

TVMFFI_CUBIN_RUNTIME(cudaError_t) cudaProfilerStart(void) {
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuProfilerStart);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t) cudaProfilerStop(void) {
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuProfilerStop);
}

#endif  // TVMFFI_CUBIN_RUNTIME_ENTRY_POINTS_H_
