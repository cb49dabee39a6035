/*!
 * \file kernel.c
 * \brief What a kernel says of itself, and the limits that are set on it, device by device.
 */
#include "stub.h"

int StubDynamicLimit(const StubKernelInfo* info, const StubSettings* settings, int device) {
  if (settings->max_dynamic_smem >= 0) return settings->max_dynamic_smem;
  return StubAttribute(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK) - info->static_smem;
}

CUresult StubGetFunctionAttribute(int* value, CUfunction_attribute attribute,
                                  const StubKernel* kernel, const StubSettings* settings,
                                  int device) {
  const StubKernelInfo* info = NULL;
  const StubImage* image = NULL;
  if (value == NULL) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = StubKernelOn(kernel, device, &info, &image);
  if (result != CUDA_SUCCESS) return result;
  bool clustered = info->cluster[0] > 0;
  const int values[] = {
      info->max_threads,
      info->static_smem,
      0,
      info->local,
      info->registers,
      image->arch,
      image->arch,
      0,
      StubDynamicLimit(info, settings, device),
      -1,
      clustered,
      info->cluster[0],
      info->cluster[1],
      info->cluster[2],
      settings->non_portable_cluster,
      0,
  };
  if ((unsigned)attribute >= sizeof(values) / sizeof(values[0])) return CUDA_ERROR_INVALID_VALUE;
  *value = values[attribute];
  return CUDA_SUCCESS;
}

CUresult StubSetFunctionAttribute(CUfunction_attribute attribute, int value,
                                  const StubKernel* kernel, StubSettings* settings, int device) {
  const StubKernelInfo* info = NULL;
  CUresult result = StubKernelOn(kernel, device, &info, NULL);
  if (result != CUDA_SUCCESS) return result;
  int most = StubAttribute(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN) -
             info->static_smem;
  switch ((int)attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      if (value < 0 || value > most) return CUDA_ERROR_INVALID_VALUE;
      settings->max_dynamic_smem = value;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
      settings->non_portable_cluster = value != 0;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult CUDAAPI cuKernelGetAttribute(int* value, CUfunction_attribute attribute, CUkernel kernel,
                                      CUdevice device) {
  STUB_ENTER(STUB_INITIALIZED, "'attribute':%d,'kernel':%zu,'device':%d", (int)attribute,
             (size_t)kernel, device);
  STUB_REQUIRE(StubFindKernel(kernel, NULL) != NULL, CUDA_ERROR_INVALID_HANDLE);
  STUB_REQUIRE(StubDeviceExists(device), CUDA_ERROR_INVALID_DEVICE);
  return StubLeave(
      StubGetFunctionAttribute(value, attribute, kernel, &kernel->settings[device], device));
}

CUresult CUDAAPI cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel,
                                      CUdevice device) {
  STUB_ENTER(STUB_INITIALIZED, "'attribute':%d,'value':%d,'kernel':%zu,'device':%d", (int)attribute,
             value, (size_t)kernel, device);
  STUB_REQUIRE(StubFindKernel(kernel, NULL) != NULL, CUDA_ERROR_INVALID_HANDLE);
  STUB_REQUIRE(StubDeviceExists(device), CUDA_ERROR_INVALID_DEVICE);
  StubLogMore(",'name':'%s'", StubQuote(kernel->name));
  return StubLeave(
      StubSetFunctionAttribute(attribute, value, kernel, &kernel->settings[device], device));
}

CUresult CUDAAPI cuKernelGetName(const char** name, CUkernel kernel) {
  STUB_ENTER(STUB_INITIALIZED, "'kernel':%zu", (size_t)kernel);
  STUB_REQUIRE(name != NULL, CUDA_ERROR_INVALID_VALUE);
  STUB_REQUIRE(StubFindKernel(kernel, NULL) != NULL, CUDA_ERROR_INVALID_HANDLE);
  *name = kernel->name;
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t* offset, size_t* size) {
  STUB_ENTER(STUB_INITIALIZED, "'kernel':%zu,'index':%zu", (size_t)kernel, index);
  STUB_REQUIRE(StubFindKernel(kernel, NULL) != NULL, CUDA_ERROR_INVALID_HANDLE);
  StubContext* context = NULL;
  STUB_TRY(StubActiveContext(&context));
  const StubKernelInfo* info = NULL;
  STUB_TRY(StubKernelOn(kernel, context->device, &info, NULL));
  STUB_REQUIRE(offset != NULL && index < (size_t)info->param_count, CUDA_ERROR_INVALID_VALUE);
  *offset = (size_t)info->params[index].offset;
  if (size != NULL) *size = (size_t)info->params[index].size;
  return StubLeave(CUDA_SUCCESS);
}
