/*!
 * \file device.c
 * \brief The devices that are played: their capabilities, names and attributes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stub.h"

typedef struct {
  int attribute, value;
} Pair;

/* What an H200 answers where anybody asks; the other devices differ as listed below. */
static const Pair kHopper[] = {
    {1, 1024},    {2, 1024},   {3, 1024}, {4, 64},      {5, 2147483647}, {6, 65535},
    {7, 65535},   {8, 49152},  {10, 32},  {12, 65536},  {16, 132},       {39, 2048},
    {81, 233472}, {82, 65536}, {95, 1},   {97, 232448}, {106, 32},       {111, 1024},
};

/* What sets the other architectures apart, by CU_DEVICE_ATTRIBUTE number. */
static const struct {
  int capability;
  const char* name;
  int multiprocessors, optin_smem, smem_per_sm, threads_per_sm, blocks_per_sm;
  bool cluster;
} kModels[] = {
    {80, "Stub A100", 108, 166912, 167936, 2048, 32, false},
    {86, "Stub A40", 84, 101376, 102400, 1536, 16, false},
    {89, "Stub L40", 142, 101376, 102400, 1536, 24, false},
    {90, "Stub H200", 132, 232448, 233472, 2048, 32, true},
    {100, "Stub B200", 148, 232448, 233472, 2048, 32, true},
    {103, "Stub B300", 148, 232448, 233472, 2048, 32, true},
    {120, "Stub RTX 5090", 170, 101376, 102400, 1536, 24, true},
};
enum { kModelCount = sizeof(kModels) / sizeof(kModels[0]) };

bool StubDeviceExists(int device) { return device >= 0 && device < stub.device_count; }

int StubAttribute(int device, CUdevice_attribute attribute) {
  return stub.devices[device].attributes[attribute];
}

static void MakeDevice(StubDevice* device, int capability) {
  memset(device, 0, sizeof(*device));
  device->capability = capability;
  int* values = device->attributes;
  for (size_t i = 0; i < sizeof(kHopper) / sizeof(kHopper[0]); ++i) {
    values[kHopper[i].attribute] = kHopper[i].value;
  }
  values[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR] = capability / 10;
  values[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR] = capability % 10;
  for (int i = 0; i < kModelCount; ++i) {
    if (kModels[i].capability != capability) continue;
    values[CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT] = kModels[i].multiprocessors;
    values[CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN] = kModels[i].optin_smem;
    values[CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR] = kModels[i].smem_per_sm;
    values[CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR] = kModels[i].threads_per_sm;
    values[CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR] = kModels[i].blocks_per_sm;
    values[CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH] = kModels[i].cluster;
    values[CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED] = kModels[i].cluster;
  }
}

void StubConfigureDevices(const char* capabilities) {
  stub.device_count = 0;
  for (const char* at = capabilities; *at != '\0' && stub.device_count < kMaxDevices;) {
    char* end = NULL;
    long capability = strtol(at, &end, 10);
    if (end == at) break;
    MakeDevice(&stub.devices[stub.device_count++], (int)capability);
    at = *end == ',' ? end + 1 : end;
  }
}

CUresult CUDAAPI cuDeviceGetCount(int* count) {
  STUB_ENTER(STUB_INITIALIZED);
  STUB_REQUIRE(count != NULL, CUDA_ERROR_INVALID_VALUE);
  *count = stub.device_count;
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDeviceGet(CUdevice* device, int ordinal) {
  STUB_ENTER(STUB_INITIALIZED, "'ordinal':%d", ordinal);
  STUB_REQUIRE(device != NULL, CUDA_ERROR_INVALID_VALUE);
  STUB_REQUIRE(StubDeviceExists(ordinal), CUDA_ERROR_INVALID_DEVICE);
  *device = ordinal;
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  STUB_ENTER(STUB_INITIALIZED, "'attribute':%d,'device':%d", (int)attribute, device);
  STUB_REQUIRE(value != NULL && (int)attribute > 0 && (int)attribute < kMaxAttributes,
               CUDA_ERROR_INVALID_VALUE);
  STUB_REQUIRE(StubDeviceExists(device), CUDA_ERROR_INVALID_DEVICE);
  *value = StubAttribute(device, attribute);
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDeviceGetName(char* name, int size, CUdevice device) {
  STUB_ENTER(STUB_INITIALIZED, "'device':%d", device);
  STUB_REQUIRE(name != NULL && size > 0, CUDA_ERROR_INVALID_VALUE);
  STUB_REQUIRE(StubDeviceExists(device), CUDA_ERROR_INVALID_DEVICE);
  const char* model = "Stub device";
  for (int i = 0; i < kModelCount; ++i) {
    if (kModels[i].capability == stub.devices[device].capability) model = kModels[i].name;
  }
  snprintf(name, (size_t)size, "%s", model);
  return StubLeave(CUDA_SUCCESS);
}
