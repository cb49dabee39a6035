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

/* What an H200 answers (driver 580), 0 for all others; the rest differ from it as listed below. */
static const Pair kHopper[] = {
    {1, 1024}, {2, 1024}, {3, 1024}, {4, 64}, {5, 2147483647}, {6, 65535}, {7, 65535}, {8, 49152},
    {9, 65536}, {10, 32}, {11, 2147483647}, {12, 65536}, {13, 1980000}, {14, 512}, {15, 1},
    {16, 132}, {19, 1}, {21, 131072}, {22, 131072}, {23, 65536}, {24, 16384}, {25, 16384},
    {26, 16384}, {27, 32768}, {28, 32768}, {29, 2048}, {30, 512}, {31, 1}, {32, 1}, {34, 6},
    {36, 3201000}, {37, 6016}, {38, 62914560}, {39, 2048}, {40, 3}, {41, 1}, {42, 32768},
    {43, 2048}, {44, 1}, {45, 32768}, {46, 32768}, {47, 8192}, {48, 8192}, {49, 32768}, {51, 32},
    {52, 32768}, {53, 32768}, {54, 2046}, {55, 32768}, {56, 131072}, {57, 65536}, {58, 16384},
    {59, 16384}, {60, 16384}, {61, 32768}, {62, 2048}, {63, 32768}, {64, 32768}, {65, 2048},
    {66, 32768}, {67, 32768}, {68, 2046}, {69, 268435456}, {70, 131072}, {71, 65000},
    {72, 2097120}, {73, 32768}, {74, 32768}, {75, 9}, {77, 32768}, {78, 1}, {79, 1}, {80, 1},
    {81, 233472}, {82, 65536}, {83, 1}, {87, 2}, {89, 1}, {90, 1}, {91, 1}, {95, 1}, {96, 1},
    {97, 232448}, {99, 1}, {102, 1}, {103, 1}, {106, 32}, {107, 1}, {108, 39321600},
    {109, 134217728}, {110, 1}, {111, 1024}, {112, 1}, {113, 1}, {114, 1}, {115, 1}, {116, 1},
    {117, 1}, {118, 100}, {119, 9}, {120, 1}, {121, 1}, {122, 1}, {123, 1}, {124, 1}, {125, 1},
    {126, 4}, {127, 1}, {128, 1}, {129, 1}, {131, -1}, {139, 590680286}, {140, 415174878},
    {141, 1}, {142, 1}, {144, 1}, {145, 1},
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

/* STUB_DEVICES lists capabilities; CUDA_VISIBLE_DEVICES picks among them, as the driver has it. */
void StubConfigureFromEnvironment(void) {
  const char* all = getenv("STUB_DEVICES");
  StubConfigureDevices(all != NULL ? all : "90,90,80");
  const char* visible = getenv("CUDA_VISIBLE_DEVICES");
  if (visible == NULL) return;
  StubDevice devices[kMaxDevices];
  int count = stub.device_count;
  memcpy(devices, stub.devices, sizeof(devices));
  stub.device_count = 0;
  for (const char* at = visible; stub.device_count < count;) {
    char* end = NULL;
    long ordinal = strtol(at, &end, 10);
    if (end == at || ordinal < 0 || ordinal >= count) break;
    stub.devices[stub.device_count++] = devices[ordinal];
    if (*end != ',') break;
    at = end + 1;
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
