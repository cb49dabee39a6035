/*!
 * \file kernel.c
 * \brief What a kernel says of itself, and the limits that are set on it, device by device.
 */
#include "stub.h"

int StubDynamicLimit(const StubKernelInfo* info, const StubSettings* settings, int device) {
  if (settings->max_dynamic_smem >= 0) return settings->max_dynamic_smem;
  return StubAttribute(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK) - info->static_smem;
}

CUresult CUDAAPI cuKernelGetAttribute(int* value, CUfunction_attribute attribute, CUkernel kernel,
                                      CUdevice device) {
  STUB_ENTER(STUB_INITIALIZED, "'attribute':%d,'kernel':%zu,'device':%d", (int)attribute,
             (size_t)kernel, device);
  STUB_REQUIRE(StubFindKernel(kernel) != NULL, CUDA_ERROR_INVALID_HANDLE);
  STUB_REQUIRE(StubDeviceExists(device), CUDA_ERROR_INVALID_DEVICE);
  STUB_REQUIRE(value != NULL, CUDA_ERROR_INVALID_VALUE);
  const StubKernelInfo* info = NULL;
  const StubImage* image = NULL;
  STUB_TRY(StubKernelOn(kernel, device, &info, &image));
  const StubSettings* settings = &kernel->settings[device];
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
  STUB_REQUIRE((unsigned)attribute < sizeof(values) / sizeof(values[0]), CUDA_ERROR_INVALID_VALUE);
  *value = values[attribute];
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel,
                                      CUdevice device) {
  STUB_ENTER(STUB_INITIALIZED, "'attribute':%d,'value':%d,'kernel':%zu,'device':%d", (int)attribute,
             value, (size_t)kernel, device);
  STUB_REQUIRE(StubFindKernel(kernel) != NULL, CUDA_ERROR_INVALID_HANDLE);
  STUB_REQUIRE(StubDeviceExists(device), CUDA_ERROR_INVALID_DEVICE);
  StubLogMore(",'name':'%s'", StubQuote(kernel->name));
  const StubKernelInfo* info = NULL;
  STUB_TRY(StubKernelOn(kernel, device, &info, NULL));
  int most = StubAttribute(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN) -
             info->static_smem;
  if (attribute == CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED) {
    kernel->settings[device].non_portable_cluster = value != 0;
    return StubLeave(CUDA_SUCCESS);
  }
  bool known = attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
  STUB_REQUIRE(known && value >= 0 && value <= most, CUDA_ERROR_INVALID_VALUE);
  kernel->settings[device].max_dynamic_smem = value;
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuKernelGetName(const char** name, CUkernel kernel) {
  STUB_ENTER(STUB_INITIALIZED, "'kernel':%zu", (size_t)kernel);
  STUB_REQUIRE(name != NULL, CUDA_ERROR_INVALID_VALUE);
  STUB_REQUIRE(StubFindKernel(kernel) != NULL, CUDA_ERROR_INVALID_HANDLE);
  *name = kernel->name;
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t* offset, size_t* size) {
  STUB_ENTER(STUB_INITIALIZED, "'kernel':%zu,'index':%zu", (size_t)kernel, index);
  STUB_REQUIRE(StubFindKernel(kernel) != NULL, CUDA_ERROR_INVALID_HANDLE);
  StubContext* context = NULL;
  STUB_TRY(StubActiveContext(&context));
  const StubKernelInfo* info = NULL;
  STUB_TRY(StubKernelOn(kernel, context->device, &info, NULL));
  STUB_REQUIRE(offset != NULL && index < (size_t)info->param_count, CUDA_ERROR_INVALID_VALUE);
  *offset = (size_t)info->params[index].offset;
  if (size != NULL) *size = (size_t)info->params[index].size;
  return StubLeave(CUDA_SUCCESS);
}
