/*!
 * \file global.c
 * \brief Device variables of an image: one in each device's memory, filled as the image says.
 */
#include <stdlib.h>
#include <string.h>

#include "stub.h"

typedef struct StubGlobal {
  const char* name;
  int device;
  size_t size;
  void* memory;
  StubGlobal* next;
} Global;

void StubAddVariable(StubImage* image, const char* name, size_t size, const void* initial) {
  size_t bytes = (size_t)(image->variable_count + 1) * sizeof(StubVariable);
  image->variables = realloc(image->variables, bytes);
  StubVariable made = {strdup(name), size, calloc(1, size)};
  if (image->variables == NULL || made.initial == NULL) abort();
  if (initial != NULL) memcpy(made.initial, initial, size);
  image->variables[image->variable_count++] = made;
}

void StubFreeVariables(StubImage* image) {
  for (int i = 0; i < image->variable_count; ++i) {
    free(image->variables[i].name);
    free(image->variables[i].initial);
  }
  free(image->variables);
}

void StubFreeGlobals(StubLibrary* library) {
  while (library->globals != NULL) {
    Global* global = library->globals;
    library->globals = global->next;
    StubFreeMemory(global->memory);
    free(global);
  }
}

static const StubVariable* FindVariable(const StubImage* image, const char* name) {
  for (int i = 0; i < image->variable_count; ++i) {
    if (strcmp(image->variables[i].name, name) == 0) return &image->variables[i];
  }
  return NULL;
}

static Global* FindGlobal(StubLibrary* library, const StubVariable* variable, int device) {
  for (Global* global = library->globals; global != NULL; global = global->next) {
    if (global->device == device && strcmp(global->name, variable->name) == 0) return global;
  }
  Global* made = malloc(sizeof(*made));
  if (made == NULL) abort();
  void* memory = StubAllocateMemory(variable->size, device);
  memcpy(memory, variable->initial, variable->size);
  *made = (Global){variable->name, device, variable->size, memory, library->globals};
  library->globals = made;
  return made;
}

CUresult CUDAAPI cuLibraryGetGlobal(CUdeviceptr* address, size_t* bytes, CUlibrary handle,
                                    const char* name) {
  STUB_ENTER(STUB_INITIALIZED, "'library':%zu,'name':'%s'", (size_t)handle, StubQuote(name));
  STUB_REQUIRE(name != NULL && (address != NULL || bytes != NULL), CUDA_ERROR_INVALID_VALUE);
  StubLibrary* library = StubFindLibrary(handle);
  STUB_REQUIRE(library != NULL, CUDA_ERROR_INVALID_HANDLE);
  StubContext* context = NULL;
  STUB_TRY(StubActiveContext(&context));
  const StubImage* image = StubImageFor(library, context->device);
  STUB_REQUIRE(image != NULL, CUDA_ERROR_NO_BINARY_FOR_GPU);
  const StubVariable* variable = FindVariable(image, name);
  STUB_REQUIRE(variable != NULL, CUDA_ERROR_NOT_FOUND);
  const Global* global = FindGlobal(library, variable, context->device);
  if (address != NULL) *address = (CUdeviceptr)global->memory;
  if (bytes != NULL) *bytes = global->size;
  return StubLeave(CUDA_SUCCESS);
}
