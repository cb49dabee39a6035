/*!
 * \file launch.c
 * \brief Launches: checked as the driver checks them, recorded with every parameter's bytes, and
 * computed by a host function where a test gives one.
 */
#include <stdlib.h>
#include <string.h>

#include "stub.h"

typedef void (*StubKernelFn)(const char* launch);

typedef struct Callback {
  char* kernel;
  StubKernelFn function;
  struct Callback* next;
} Callback;

static Callback* callbacks;

void StubForgetCallbacks(void) {
  while (callbacks != NULL) {
    Callback* callback = callbacks;
    callbacks = callback->next;
    free(callback->kernel);
    free(callback);
  }
}

/*! \brief Has `function` do a kernel's work at each launch; it gets the launch's log record. */
STUB_EXPORT void stub_set_kernel(const char* kernel, StubKernelFn function) {
  pthread_mutex_lock(&stub.mutex);
  Callback* made = malloc(sizeof(*made));
  if (made == NULL) abort();
  *made = (Callback){strdup(kernel), function, callbacks};
  callbacks = made;
  pthread_mutex_unlock(&stub.mutex);
}

static StubKernelFn FindCallback(const char* kernel) {
  for (const Callback* callback = callbacks; callback != NULL; callback = callback->next) {
    if (strcmp(callback->kernel, kernel) == 0) return callback->function;
  }
  return NULL;
}

/* Parameters come as pointers, or as one buffer laid out by the image's offsets. */
static const void* ParameterBuffer(void** extra) {
  for (int i = 0; extra != NULL && extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
    if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER) return extra[i + 1];
  }
  return NULL;
}

static CUresult LogParameters(const StubKernelInfo* info, void** params, void** extra) {
  const char* buffer = ParameterBuffer(extra);
  if (info->param_count > 0 && params == NULL && buffer == NULL) return CUDA_ERROR_INVALID_VALUE;
  StubLogMore(",'params':[");
  for (int i = 0; i < info->param_count; ++i) {
    const void* bytes = buffer != NULL ? buffer + info->params[i].offset : params[i];
    if (i > 0) StubLogMore(",");
    StubLogHex(bytes, bytes != NULL ? (size_t)info->params[i].size : 0);
  }
  StubLogMore("]");
  return CUDA_SUCCESS;
}

static void LogConfig(const CUlaunchConfig* config) {
  StubLogMore("'grid':[%u,%u,%u],'block':[%u,%u,%u],'dynamic_smem_bytes':%u,'stream':%zu",
              config->gridDimX, config->gridDimY, config->gridDimZ, config->blockDimX,
              config->blockDimY, config->blockDimZ, config->sharedMemBytes,
              (size_t)config->hStream);
  StubLogMore(",'attributes':[");
  for (unsigned int i = 0; i < config->numAttrs; ++i) {
    StubLogMore("%s[%d,", i > 0 ? "," : "", (int)config->attrs[i].id);
    StubLogHex(&config->attrs[i].value, sizeof(config->attrs[i].value));
    StubLogMore("]");
  }
  StubLogMore("]");
}

/* Where the work goes: a kernel follows the stream. */
static CUresult Resolve(const CUlaunchConfig* config, CUfunction handle, Target* target) {
  StubStream* stream = NULL;
  StubContext* context = NULL;
  StubKernel* kernel = StubFindKernel(handle);
  if (kernel == NULL) return CUDA_ERROR_INVALID_HANDLE;
  StubLogMore(",'kernel':'%s'", StubQuote(kernel->name));
  CUresult result = StubStreamContext(config->hStream, &context, &stream);
  if (result != CUDA_SUCCESS) return result;
  if (stream != NULL && stream->capturing && stream->invalidated) {
    return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  }
  target->stream = stream;
  target->device = context->device;
  target->settings = &kernel->settings[context->device];
  StubLogMore(",'launched_on':%d", context->device);
  const StubImage* image = NULL;
  result = StubKernelOn(kernel, context->device, &target->info, &image);
  if (result != CUDA_SUCCESS) return result;
  char name[32];
  StubImageName(image, name);
  StubLogMore(",'image':'%s'", name);
  return CUDA_SUCCESS;
}

static CUresult Launch(const CUlaunchConfig* config, CUfunction handle, void** params,
                       void** extra) {
  LogConfig(config);
  Target target;
  STUB_TRY(Resolve(config, handle, &target));
  CUresult refusal = StubCheckLaunch(config, &target);
  // A capture does not outlive what is refused in it.
  if (refusal != CUDA_SUCCESS && target.stream != NULL && target.stream->capturing) {
    target.stream->invalidated = true;
  }
  STUB_TRY(refusal);
  STUB_TRY(LogParameters(target.info, params, extra));
  StubKernelFn callback = FindCallback(target.info->name);
  char* record = callback != NULL ? StubLogCopyOpenRecord() : NULL;
  StubLeave(CUDA_SUCCESS);
  // Outside the mutex: the function may be Python's, whose own lock another caller may hold.
  if (record != NULL) callback(record);
  free(record);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction kernel, void** params,
                                  void** extra) {
  STUB_ENTER(STUB_INITIALIZED);
  STUB_REQUIRE(config != NULL, CUDA_ERROR_INVALID_VALUE);
  return Launch(config, kernel, params, extra);
}

CUresult CUDAAPI cuLaunchKernel(CUfunction kernel, unsigned int grid_x, unsigned int grid_y,
                                unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                                unsigned int block_z, unsigned int smem, CUstream stream,
                                void** params, void** extra) {
  STUB_ENTER(STUB_INITIALIZED);
  CUlaunchConfig config = {grid_x,  grid_y, grid_z, block_x, block_y,
                           block_z, smem,   stream, NULL,    0};
  return Launch(&config, kernel, params, extra);
}
