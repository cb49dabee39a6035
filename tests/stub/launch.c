/*!
 * \file launch.c
 * \brief Launches: checked as the driver checks them, and recorded with every parameter's bytes.
 */
#include "stub.h"

/* Parameters come as pointers, or as one buffer laid out by the image's offsets. */
static const char* ParameterBuffer(void** extra) {
  for (int i = 0; extra != NULL && extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
    if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER) return extra[i + 1];
  }
  return NULL;
}

static void LogParameters(const StubKernelInfo* info, void** params, void** extra) {
  const char* buffer = ParameterBuffer(extra);
  StubLog("'params':[");
  for (int i = 0; i < info->param_count; ++i) {
    if (i > 0) StubLog(",");
    StubLogHex(buffer != NULL ? buffer + info->params[i].offset : params[i],
               (size_t)info->params[i].size);
  }
  StubLog("],");
}

static void LogConfig(const CUlaunchConfig* config) {
  StubLog("'grid':[%u,%u,%u],'block':[%u,%u,%u],'dynamic_smem_bytes':%u,'stream':%zu,",
          config->gridDimX, config->gridDimY, config->gridDimZ, config->blockDimX,
          config->blockDimY, config->blockDimZ, config->sharedMemBytes, (size_t)config->hStream);
  StubLog("'attributes':[");
  for (unsigned int i = 0; i < config->numAttrs; ++i) {
    StubLog("%s[%d,", i > 0 ? "," : "", (int)config->attrs[i].id);
    StubLogHex(&config->attrs[i].value, sizeof(config->attrs[i].value));
    StubLog("]");
  }
  StubLog("],");
}

/* In the open call: a kernel goes where its stream is. */
static CUresult Launch(const CUlaunchConfig* config, CUfunction kernel, void** params,
                       void** extra) {
  StubStream* stream = NULL;
  StubContext* context = NULL;
  StubTarget target;
  char image[32];
  LogConfig(config);
  STUB_TRY(StubStreamContext(config->hStream, &context, &stream));
  bool captured = stream != NULL && stream->capturing;
  STUB_REQUIRE(!captured || !stream->invalidated, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  STUB_TRY(StubKernelOn(kernel, context->device, &target));
  StubImageName(target.image, image);
  StubLog("'kernel':'%.1000s','launched_on':%d,'image':'%s',", target.info->name, context->device,
          image);
  CUresult refusal = StubCheckLaunch(config, &target);
  // A capture does not outlive what is refused in it.
  if (refusal != CUDA_SUCCESS && captured) stream->invalidated = true;
  STUB_TRY(refusal);
  LogParameters(target.info, params, extra);
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction kernel, void** params,
                                  void** extra) {
  STUB_ENTER(STUB_INITIALIZED);
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
