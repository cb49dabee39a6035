/*!
 * \file tvmffi_cubin/runtime/kernel.h
 * \brief cudaFuncSetAttribute and its kin: what calls say and set of a kernel.
 *
 * A kernel is the address of a function that stands for it, or a CUkernel.
 */
#ifndef TVMFFI_CUBIN_RUNTIME_KERNEL_H_
#define TVMFFI_CUBIN_RUNTIME_KERNEL_H_

#include <dlfcn.h>

#include "../core/limits.h"
#include "device.h"
#include "kernel_address.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

TVMFFI_CUBIN_DRIVER_ENTRY(cuKernelSetCacheConfig, 12000)

constexpr auto kNoKernel = static_cast<CUresult>(cudaErrorInvalidDeviceFunction);

/*!
 * \brief Whether what is no function of a kernel can be no handle either, and would crash: it is
 * null, or, in a mixed source, whose kernels are functions, in a loaded object.
 */
inline bool IsNoHandle(const void* address) {
  Dl_info info;
  return address == nullptr || (has_kernel_addresses && dladdr(address, &info) != 0);
}

/*! \brief The driver's handle of a kernel. */
inline CUresult FindKernelHandle(const void* function, CUkernel* handle) {
  if (!OpenDriver()) return CUDA_ERROR_NO_DEVICE;
  const KernelAddress* found = FindKernelAddress(function);
  if (found != nullptr) return found->calls->find(found->slot, handle);
  if (IsNoHandle(function)) return kNoKernel;
  *handle = static_cast<CUkernel>(const_cast<void*>(function));
  return CUDA_SUCCESS;
}

/*! \brief The current device, its context made current; the runtime's calls work on that. */
inline CUresult EnterCurrentDevice(int* device) {
  const CUresult result = EnsureContext();
  if (result == CUDA_SUCCESS) *device = CurrentDevice();
  return result;
}

/*! \brief A kernel's attribute on the current device. */
inline CUresult ReadKernelAttribute(CUkernel kernel, CUfunction_attribute attribute, int* value) {
  int device = 0;
  CUdevice place = 0;
  CUresult result = EnterCurrentDevice(&device);
  if (result == CUDA_SUCCESS) result = entry::cuDeviceGet(&place, device);
  if (result != CUDA_SUCCESS) return result;
  return entry::cuKernelGetAttribute(value, attribute, kernel, place);
}

/*! \brief The driver's name for the attributes that cudaFuncSetAttribute knows. */
inline bool FunctionAttribute(enum cudaFuncAttribute attribute, CUfunction_attribute* converted) {
  switch (attribute) {
    case cudaFuncAttributeMaxDynamicSharedMemorySize:
    case cudaFuncAttributePreferredSharedMemoryCarveout:
    case cudaFuncAttributeClusterDimMustBeSet:
    case cudaFuncAttributeRequiredClusterWidth:
    case cudaFuncAttributeRequiredClusterHeight:
    case cudaFuncAttributeRequiredClusterDepth:
    case cudaFuncAttributeNonPortableClusterSizeAllowed:
    case cudaFuncAttributeClusterSchedulingPolicyPreference:
      // The two share these numbers.
      *converted = static_cast<CUfunction_attribute>(static_cast<int>(attribute));
      return true;
    default:
      return false;
  }
}
static_assert(static_cast<int>(cudaFuncAttributeMaxDynamicSharedMemorySize) ==
                      CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES &&
                  static_cast<int>(cudaFuncAttributeClusterSchedulingPolicyPreference) ==
                      CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE,
              "CUDA's two APIs number functions' attributes alike");

/*! \brief Sets an attribute on the current device. */
inline CUresult SetKernelAttribute(const void* function, enum cudaFuncAttribute attribute,
                                   int value) {
  CUkernel kernel = nullptr;
  CUfunction_attribute converted;
  int device = 0;
  CUdevice place = 0;
  CUresult result = FindKernelHandle(function, &kernel);
  if (result == CUDA_SUCCESS) result = EnterCurrentDevice(&device);
  if (result != CUDA_SUCCESS) return result;
  if (!FunctionAttribute(attribute, &converted)) return CUDA_ERROR_INVALID_VALUE;
  const KernelAddress* found = FindKernelAddress(function);
  if (found != nullptr && attribute == cudaFuncAttributeMaxDynamicSharedMemorySize) {
    return value < 0 ? CUDA_ERROR_INVALID_VALUE
                     : found->calls->raise_smem(found->slot, device, value);
  }
  result = entry::cuDeviceGet(&place, device);
  if (result != CUDA_SUCCESS) return result;
  return entry::cuKernelSetAttribute(converted, value, kernel, place);
}

/*! \brief Fills in what a kernel is on the current device. */
inline CUresult ReadKernelAttributes(CUkernel kernel, struct cudaFuncAttributes* attributes) {
  int shared = 0, constant = 0, local = 0;
  const struct {
    CUfunction_attribute attribute;
    int* value;
  } rows[] = {
      {CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, &shared},
      {CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, &constant},
      {CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, &local},
      {CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &attributes->maxThreadsPerBlock},
      {CU_FUNC_ATTRIBUTE_NUM_REGS, &attributes->numRegs},
      {CU_FUNC_ATTRIBUTE_PTX_VERSION, &attributes->ptxVersion},
      {CU_FUNC_ATTRIBUTE_BINARY_VERSION, &attributes->binaryVersion},
      {CU_FUNC_ATTRIBUTE_CACHE_MODE_CA, &attributes->cacheModeCA},
      {CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, &attributes->maxDynamicSharedSizeBytes},
      {CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, &attributes->preferredShmemCarveout},
      {CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET, &attributes->clusterDimMustBeSet},
      {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, &attributes->requiredClusterWidth},
      {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, &attributes->requiredClusterHeight},
      {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, &attributes->requiredClusterDepth},
      {CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE,
       &attributes->clusterSchedulingPolicyPreference},
      {CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED,
       &attributes->nonPortableClusterSizeAllowed},
  };
  *attributes = {};
  for (const auto& row : rows) {
    const CUresult result = ReadKernelAttribute(kernel, row.attribute, row.value);
    if (result != CUDA_SUCCESS) return result;
  }
  attributes->sharedSizeBytes = static_cast<size_t>(shared);
  attributes->constSizeBytes = static_cast<size_t>(constant);
  attributes->localSizeBytes = static_cast<size_t>(local);
  return CUDA_SUCCESS;
}

/*! \brief Calls a driver entry point with a kernel, in the current device's context. */
template <typename Call>
cudaError_t CallWithKernel(const void* function, Call&& call) {
  CUkernel kernel = nullptr;
  int device = 0;
  CUresult result = FindKernelHandle(function, &kernel);
  if (result == CUDA_SUCCESS) result = EnterCurrentDevice(&device);
  return NoteRuntimeError(result == CUDA_SUCCESS ? call(kernel) : result);
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaFuncSetAttribute(const void* function, enum cudaFuncAttribute attribute, int value) {
  return tvmffi_cubin::NoteRuntimeError(
      tvmffi_cubin::SetKernelAttribute(function, attribute, value));
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaFuncGetAttributes(struct cudaFuncAttributes* attributes, const void* function) {
  cudaError_t error;
  if (tvmffi_cubin::IsNull(&error, attributes)) return error;
  return tvmffi_cubin::CallWithKernel(function, [attributes](CUkernel kernel) {
    return tvmffi_cubin::ReadKernelAttributes(kernel, attributes);
  });
}

// A preference, and devices since Volta pass it over.
TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaFuncSetCacheConfig(const void* function, enum cudaFuncCache config) {
  return tvmffi_cubin::CallWithKernel(function, [config](CUkernel kernel) {
    const auto converted = static_cast<CUfunc_cache>(static_cast<int>(config));
    return tvmffi_cubin::entry::cuKernelSetCacheConfig(
        kernel, converted, tvmffi_cubin::CurrentDevice());
  });
}

#if CUDART_VERSION < 13000
// The same; and the driver has it for a CUfunction alone.
TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaFuncSetSharedMemConfig(const void* function, enum cudaSharedMemConfig) {
  return tvmffi_cubin::CallWithKernel(function, [](CUkernel) { return CUDA_SUCCESS; });
}
#endif

#if CUDART_VERSION >= 12030
TVMFFI_CUBIN_RUNTIME(cudaError_t) cudaFuncGetName(const char** name, const void* function) {
  return tvmffi_cubin::CallWithKernel(function, [name](CUkernel kernel) {
    return tvmffi_cubin::entry::cuKernelGetName(name, kernel);
  });
}
#endif

#if CUDART_VERSION >= 12040
TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaFuncGetParamInfo(const void* function, size_t index, size_t* offset, size_t* size) {
  return tvmffi_cubin::CallWithKernel(function, [=](CUkernel kernel) {
    return tvmffi_cubin::entry::cuKernelGetParamInfo(kernel, index, offset, size);
  });
}
#endif

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaGetFuncBySymbol(cudaFunction_t* found, const void* function) {
  return tvmffi_cubin::CallWithKernel(function, [found](CUkernel kernel) {
    return tvmffi_cubin::entry::cuKernelGetFunction(found, kernel);
  });
}

#if CUDART_VERSION >= 12010
TVMFFI_CUBIN_RUNTIME(cudaError_t) cudaGetKernel(cudaKernel_t* found, const void* function) {
  cudaError_t error;
  if (tvmffi_cubin::IsNull(&error, found)) return error;
  return tvmffi_cubin::CallWithKernel(function, [found](CUkernel kernel) {
    *found = reinterpret_cast<cudaKernel_t>(kernel);
    return CUDA_SUCCESS;
  });
}
#endif

#endif  // TVMFFI_CUBIN_RUNTIME_KERNEL_H_
