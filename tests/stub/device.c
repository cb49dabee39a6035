/*!
 * \file device.c
 * \brief The devices that are played: their capabilities and attributes.
 */
#include <stdio.h>
#include <string.h>

#include "stub.h"

typedef struct {
  int attribute, value;
} Pair;

/* What an H200 answers where anybody asks, and so do all devices here. */
static const Pair kHopper[] = {
    {1, 1024},    {2, 1024},   {3, 1024}, {4, 64},      {5, 2147483647}, {6, 65535},
    {7, 65535},   {8, 49152},  {10, 32},  {12, 65536},  {16, 132},       {39, 2048},
    {81, 233472}, {82, 65536}, {95, 1},   {97, 232448}, {106, 32},       {111, 1024},
};

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
  values[CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH] = capability >= 90;
  values[CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED] = capability >= 90;
}

void StubConfigureDevices(int count, const int* capabilities) {
  stub.device_count = count;
  for (int i = 0; i < count; ++i) MakeDevice(&stub.devices[i], capabilities[i]);
}

CUresult CUDAAPI cuDeviceGetCount(int* count) {
  STUB_ENTER(STUB_INITIALIZED);
  *count = stub.device_count;
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDeviceGet(CUdevice* device, int ordinal) {
  STUB_ENTER(STUB_INITIALIZED);
  STUB_REQUIRE(StubDeviceExists(ordinal), CUDA_ERROR_INVALID_DEVICE);
  *device = ordinal;
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  STUB_ENTER(STUB_INITIALIZED);
  STUB_REQUIRE(StubDeviceExists(device), CUDA_ERROR_INVALID_DEVICE);
  *value = StubAttribute(device, attribute);
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDeviceGetName(char* name, int size, CUdevice device) {
  STUB_ENTER(STUB_INITIALIZED);
  snprintf(name, (size_t)size, "Stub sm_%d", stub.devices[device].capability);
  return StubLeave(CUDA_SUCCESS);
}
