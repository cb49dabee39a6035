/*!
 * \file library.c
 * \brief Images as CUlibrary, kernels as CUkernel, device variables; the limits set on a kernel.
 *
 * As the real driver does, cuLibraryLoadData takes anything: what is wrong with an image is
 * answered when a kernel is asked for.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stub.h"

/* A device variable in one device's memory. */
struct StubGlobal {
  const char* name;
  int device;
  size_t size;
  void* memory;
  StubGlobal* next;
};

static bool IsLibrary(CUlibrary handle) {
  const StubLibrary* library = stub.libraries;
  while (library != NULL && library != handle) library = library->next;
  return library != NULL;
}

static StubKernel* FindKernel(const void* handle) {
  for (StubLibrary* library = stub.libraries; library != NULL; library = library->next) {
    for (StubKernel* kernel = library->kernels; kernel != NULL; kernel = kernel->next) {
      if (handle == kernel) return kernel;
    }
  }
  return NULL;
}

static const StubKernelInfo* FindInfo(const StubImage* image, const char* name) {
  for (int i = 0; i < image->kernel_count; ++i) {
    if (strcmp(image->kernels[i].name, name) == 0) return &image->kernels[i];
  }
  return NULL;
}

/* The image that the driver would take on a device; null where none fits. */
static const StubImage* ImageFor(const StubLibrary* library, int device) {
  const StubImage* best = NULL;
  for (int i = 0; i < library->image_count; ++i) {
    const StubImage* image = &library->images[i];
    if (StubImageFits(image, device) && StubImageIsBetter(image, best)) best = image;
  }
  return best;
}

CUresult StubKernelOn(const void* handle, int device, StubTarget* target) {
  const StubKernel* kernel = FindKernel(handle);
  if (kernel == NULL) return CUDA_ERROR_INVALID_HANDLE;
  const StubImage* image = ImageFor(kernel->library, device);
  if (image == NULL) return CUDA_ERROR_NO_BINARY_FOR_GPU;
  if (!StubDriverCompiles(image)) return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
  *target = (StubTarget){device, image, FindInfo(image, kernel->name), &kernel->settings[device]};
  return target->info != NULL ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult CUDAAPI cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option* jit_options,
                                   void** jit_values, unsigned int jit_count,
                                   CUlibraryOption* options, void** values, unsigned int count) {
  (void)jit_options, (void)jit_values, (void)jit_count, (void)options, (void)values, (void)count;
  STUB_ENTER(STUB_INITIALIZED);
  STUB_REQUIRE(!StubCaptureForbids(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  *library = calloc(1, sizeof(**library));
  (*library)->image_count = StubReadImages(code, (*library)->images);
  (*library)->next = stub.libraries;
  stub.libraries = *library;
  return StubLeave(CUDA_SUCCESS);
}

/* The log has it as the load of what is in the file. */
CUresult CUDAAPI cuLibraryLoadFromFile(CUlibrary* library, const char* path,
                                       CUjit_option* jit_options, void** jit_values,
                                       unsigned int jit_count, CUlibraryOption* options,
                                       void** values, unsigned int count) {
  FILE* file = fopen(path, "rb");
  if (file == NULL) return CUDA_ERROR_FILE_NOT_FOUND;
  char* code = calloc(16 << 20, 1);  // what is read of images stays in use
  if (fread(code, 1, (16 << 20) - 1, file) == 0) abort();
  fclose(file);
  return cuLibraryLoadData(library, code, jit_options, jit_values, jit_count, options, values,
                           count);
}

CUresult CUDAAPI cuLibraryUnload(CUlibrary library) {
  STUB_ENTER(STUB_INITIALIZED);
  StubLibrary** at = &stub.libraries;
  while (*at != NULL && *at != library) at = &(*at)->next;
  STUB_REQUIRE(*at != NULL, CUDA_ERROR_INVALID_HANDLE);
  STUB_REQUIRE(!StubCaptureForbids(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  *at = library->next;
  while (library->globals != NULL) {
    StubGlobal* global = library->globals;
    library->globals = global->next;
    StubFreeMemory((uintptr_t)global->memory);
    free(global);
  }
  for (int i = 0; i < library->image_count; ++i) StubFreeImage(&library->images[i]);
  while (library->kernels != NULL) {
    StubKernel* kernel = library->kernels;
    library->kernels = kernel->next;
    free(kernel->name);
    free(kernel);
  }
  free(library);
  return StubLeave(CUDA_SUCCESS);
}

/* ---- Kernels ---- */

static StubKernel* MakeKernel(StubLibrary* library, const char* name) {
  StubKernel** at = &library->kernels;
  for (; *at != NULL; at = &(*at)->next) {
    if (strcmp((*at)->name, name) == 0) return *at;
  }
  *at = calloc(1, sizeof(StubKernel));
  (*at)->library = library;
  (*at)->name = strdup(name);
  for (int i = 0; i < kMaxDevices; ++i) (*at)->settings[i] = (StubSettings){-1, false};
  return *at;
}

/* The image that answers for a library: one that some device can run. */
static CUresult AnyImage(const StubLibrary* library, const StubImage** image) {
  if (!IsLibrary((CUlibrary)library)) return CUDA_ERROR_INVALID_HANDLE;
  for (int device = 0; device < stub.device_count; ++device) {
    *image = ImageFor(library, device);
    if (*image == NULL) continue;
    return StubDriverCompiles(*image) ? CUDA_SUCCESS : CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
  }
  return library->image_count > 0 ? CUDA_ERROR_NO_BINARY_FOR_GPU : CUDA_ERROR_INVALID_IMAGE;
}

CUresult CUDAAPI cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
  STUB_ENTER(STUB_INITIALIZED);
  const StubImage* image = NULL;
  STUB_TRY(AnyImage(library, &image));
  STUB_REQUIRE(FindInfo(image, name) != NULL, CUDA_ERROR_NOT_FOUND);
  *kernel = MakeKernel(library, name);
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuLibraryGetKernelCount(unsigned int* count, CUlibrary library) {
  STUB_ENTER(STUB_INITIALIZED);
  const StubImage* image = NULL;
  STUB_TRY(AnyImage(library, &image));
  *count = (unsigned int)image->kernel_count;
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuLibraryEnumerateKernels(CUkernel* kernels, unsigned int count,
                                           CUlibrary library) {
  STUB_ENTER(STUB_INITIALIZED);
  const StubImage* image = NULL;
  STUB_TRY(AnyImage(library, &image));
  for (unsigned int i = 0; i < count && i < (unsigned int)image->kernel_count; ++i) {
    kernels[i] = MakeKernel(library, image->kernels[i].name);
  }
  return StubLeave(CUDA_SUCCESS);
}

int StubDynamicLimit(const StubTarget* target) {
  if (target->settings->max_dynamic_smem >= 0) return target->settings->max_dynamic_smem;
  return StubAttribute(target->device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK) -
         target->info->static_smem;
}

CUresult CUDAAPI cuKernelGetAttribute(int* value, CUfunction_attribute attribute, CUkernel kernel,
                                      CUdevice device) {
  STUB_ENTER(STUB_INITIALIZED);
  StubTarget target;
  STUB_TRY(StubKernelOn(kernel, device, &target));
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      *value = target.info->max_threads;
      break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      *value = target.info->static_smem;
      break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      *value = target.info->registers;
      break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      *value = StubDynamicLimit(&target);
      break;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
      *value = target.info->cluster[attribute - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH];
      break;
    default:
      return StubLeave(CUDA_ERROR_INVALID_VALUE);
  }
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel,
                                      CUdevice device) {
  STUB_ENTER(STUB_INITIALIZED);
  StubTarget target;
  STUB_TRY(StubKernelOn(kernel, device, &target));
  StubLog("'attribute':%d,'value':%d,'device':%d,'name':'%.1000s',", (int)attribute, value, device,
          target.info->name);
  StubSettings* settings = &kernel->settings[device];
  if (attribute == CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED) {
    settings->non_portable_cluster = value != 0;
    return StubLeave(CUDA_SUCCESS);
  }
  int most = StubAttribute(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  bool known = attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
  bool fits = value >= 0 && value <= most - target.info->static_smem;
  STUB_REQUIRE(known && fits, CUDA_ERROR_INVALID_VALUE);
  settings->max_dynamic_smem = value;
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuKernelGetName(const char** name, CUkernel kernel) {
  STUB_ENTER(STUB_INITIALIZED);
  STUB_REQUIRE(FindKernel(kernel) != NULL, CUDA_ERROR_INVALID_HANDLE);
  *name = kernel->name;
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t* offset, size_t* size) {
  STUB_ENTER(STUB_INITIALIZED);
  StubContext* context = NULL;
  STUB_TRY(StubActiveContext(&context));
  StubTarget target;
  STUB_TRY(StubKernelOn(kernel, context->device, &target));
  STUB_REQUIRE(index < (size_t)target.info->param_count, CUDA_ERROR_INVALID_VALUE);
  *offset = (size_t)target.info->params[index].offset;
  if (size != NULL) *size = (size_t)target.info->params[index].size;
  return StubLeave(CUDA_SUCCESS);
}

/* ---- Device variables ---- */

static const StubVariable* FindVariable(const StubImage* image, const char* name) {
  for (int i = 0; i < image->variable_count; ++i) {
    if (strcmp(image->variables[i].name, name) == 0) return &image->variables[i];
  }
  return NULL;
}

static const StubGlobal* FindGlobal(StubLibrary* library, const StubVariable* variable,
                                    int device) {
  for (StubGlobal* global = library->globals; global != NULL; global = global->next) {
    if (global->device == device && global->name == variable->name) return global;
  }
  StubGlobal* made = malloc(sizeof(*made));
  void* memory = StubAllocateMemory(variable->size);
  memset(memory, 0, variable->size);
  if (variable->initial != NULL) memcpy(memory, variable->initial, variable->size);
  *made = (StubGlobal){variable->name, device, variable->size, memory, library->globals};
  library->globals = made;
  return made;
}

CUresult CUDAAPI cuLibraryGetGlobal(CUdeviceptr* address, size_t* bytes, CUlibrary library,
                                    const char* name) {
  STUB_ENTER(STUB_INITIALIZED);
  STUB_REQUIRE(IsLibrary(library), CUDA_ERROR_INVALID_HANDLE);
  StubContext* context = NULL;
  STUB_TRY(StubActiveContext(&context));
  const StubImage* image = ImageFor(library, context->device);
  STUB_REQUIRE(image != NULL, CUDA_ERROR_NO_BINARY_FOR_GPU);
  const StubVariable* variable = FindVariable(image, name);
  STUB_REQUIRE(variable != NULL, CUDA_ERROR_NOT_FOUND);
  const StubGlobal* global = FindGlobal(library, variable, context->device);
  *address = (CUdeviceptr)global->memory;
  *bytes = global->size;
  return StubLeave(CUDA_SUCCESS);
}
