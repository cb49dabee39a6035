/*!
 * \file library.c
 * \brief Images as CUlibrary, kernels as CUkernel.
 *
 * As the real driver does under lazy loading, cuLibraryLoadData takes anything: what is wrong with
 * an image is answered when a kernel is asked for, and a capture of a stream allows it. What loads
 * at once it does not allow.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stub.h"

StubLibrary* StubFindLibrary(CUlibrary handle) {
  StubLibrary* library = stub.libraries;
  while (library != NULL && library != handle) library = library->next;
  return library;
}

StubKernel* StubFindKernel(const void* handle) {
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

const StubImage* StubImageFor(const StubLibrary* library, int device) {
  const StubImage* best = NULL;
  for (int i = 0; i < library->image_count; ++i) {
    const StubImage* image = &library->images[i];
    if (StubImageFits(image, device) && StubImageIsBetter(image, best)) best = image;
  }
  return best;
}

CUresult StubKernelOn(const StubKernel* kernel, int device, const StubKernelInfo** info,
                      const StubImage** image) {
  const StubImage* found = StubImageFor(kernel->library, device);
  if (found == NULL) return CUDA_ERROR_NO_BINARY_FOR_GPU;
  if (!StubDriverCompiles(found)) return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
  *info = FindInfo(found, kernel->name);
  if (*info == NULL) return CUDA_ERROR_NOT_FOUND;
  if (image != NULL) *image = found;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option* jit_options,
                                   void** jit_values, unsigned int jit_count,
                                   CUlibraryOption* options, void** values, unsigned int count) {
  (void)jit_options, (void)jit_values, (void)options, (void)values;
  STUB_ENTER(STUB_INITIALIZED, "'code':%zu,'jit_options':%u,'options':%u", (size_t)code, jit_count,
             count);
  STUB_REQUIRE(library != NULL && code != NULL, CUDA_ERROR_INVALID_VALUE);
  STUB_REQUIRE(!stub.eager || !StubCaptureForbids(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  StubLibrary* made = calloc(1, sizeof(*made));
  STUB_REQUIRE(made != NULL, CUDA_ERROR_OUT_OF_MEMORY);
  made->image_count = StubReadImages(code, made->images);
  made->next = stub.libraries;
  stub.libraries = made;
  *library = made;
  StubLogMore(",'library':%zu", (size_t)made);
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
  if (code == NULL || fread(code, 1, (16 << 20) - 1, file) == 0) abort();
  fclose(file);
  return cuLibraryLoadData(library, code, jit_options, jit_values, jit_count, options, values,
                           count);
}

CUresult CUDAAPI cuLibraryUnload(CUlibrary library) {
  STUB_ENTER(STUB_INITIALIZED, "'library':%zu", (size_t)library);
  StubLibrary** at = &stub.libraries;
  while (*at != NULL && *at != library) at = &(*at)->next;
  STUB_REQUIRE(*at != NULL, CUDA_ERROR_INVALID_HANDLE);
  STUB_REQUIRE(!StubCaptureForbids(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  *at = library->next;
  StubFreeGlobals(library);
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

static StubKernel* MakeKernel(StubLibrary* library, const char* name) {
  StubKernel** at = &library->kernels;
  for (; *at != NULL; at = &(*at)->next) {
    if (strcmp((*at)->name, name) == 0) return *at;
  }
  *at = calloc(1, sizeof(StubKernel));
  if (*at == NULL) abort();
  (*at)->library = library;
  (*at)->name = strdup(name);
  for (int i = 0; i < kMaxDevices; ++i) (*at)->settings[i] = (StubSettings){-1, 0};
  return *at;
}

/* The image that answers for a library: one that some device can run. */
static CUresult AnyImage(const StubLibrary* library, const StubImage** image) {
  for (int device = 0; device < stub.device_count; ++device) {
    *image = StubImageFor(library, device);
    if (*image == NULL) continue;
    return StubDriverCompiles(*image) ? CUDA_SUCCESS : CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
  }
  return library->image_count > 0 ? CUDA_ERROR_NO_BINARY_FOR_GPU : CUDA_ERROR_INVALID_IMAGE;
}

CUresult CUDAAPI cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
  STUB_ENTER(STUB_INITIALIZED, "'library':%zu,'name':'%s'", (size_t)library, StubQuote(name));
  STUB_REQUIRE(kernel != NULL && name != NULL, CUDA_ERROR_INVALID_VALUE);
  STUB_REQUIRE(StubFindLibrary(library) != NULL, CUDA_ERROR_INVALID_HANDLE);
  const StubImage* image = NULL;
  STUB_TRY(AnyImage(library, &image));
  STUB_REQUIRE(FindInfo(image, name) != NULL, CUDA_ERROR_NOT_FOUND);
  *kernel = MakeKernel(library, name);
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuLibraryGetKernelCount(unsigned int* count, CUlibrary library) {
  STUB_ENTER(STUB_INITIALIZED, "'library':%zu", (size_t)library);
  STUB_REQUIRE(count != NULL, CUDA_ERROR_INVALID_VALUE);
  STUB_REQUIRE(StubFindLibrary(library) != NULL, CUDA_ERROR_INVALID_HANDLE);
  const StubImage* image = NULL;
  STUB_TRY(AnyImage(library, &image));
  *count = (unsigned int)image->kernel_count;
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuLibraryEnumerateKernels(CUkernel* kernels, unsigned int count,
                                           CUlibrary library) {
  STUB_ENTER(STUB_INITIALIZED, "'library':%zu,'count':%u", (size_t)library, count);
  STUB_REQUIRE(kernels != NULL, CUDA_ERROR_INVALID_VALUE);
  STUB_REQUIRE(StubFindLibrary(library) != NULL, CUDA_ERROR_INVALID_HANDLE);
  const StubImage* image = NULL;
  STUB_TRY(AnyImage(library, &image));
  for (unsigned int i = 0; i < count && i < (unsigned int)image->kernel_count; ++i) {
    kernels[i] = MakeKernel(library, image->kernels[i].name);
  }
  return StubLeave(CUDA_SUCCESS);
}
