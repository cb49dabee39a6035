/*!
 * \file tvmffi_cubin/host_memory.h
 * \brief Which tensors in host memory kernels can read and write.
 */
#ifndef TVMFFI_CUBIN_HOST_MEMORY_H_
#define TVMFFI_CUBIN_HOST_MEMORY_H_

#include <tvm/ffi/c_api.h>

#include "cold.h"
#include "driver.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief Whether a tensor that is not a device's lies in page-locked or managed memory. */
bool IsHostMemoryForKernels(const DLTensor& tensor);

#ifndef TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_COLD bool IsHostMemoryForKernels(const DLTensor& tensor) {
  const DLDeviceType where = tensor.device.device_type;
  if (where == kDLCUDAHost || where == kDLCUDAManaged) return true;
  const Driver* driver = OpenDriver();
  if (where != kDLCPU || driver == nullptr || tensor.data == nullptr) return false;
  // Not its device pointer: the driver refuses to tell that in a thread without a context.
  CUmemorytype type = CU_MEMORYTYPE_HOST;
  return driver->cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                       reinterpret_cast<CUdeviceptr>(tensor.data)) == CUDA_SUCCESS;
}

#endif  // TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_HOST_MEMORY_H_
