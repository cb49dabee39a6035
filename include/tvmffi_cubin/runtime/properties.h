/*!
 * \file tvmffi_cubin/runtime/properties.h
 * \brief cudaGetDeviceProperties over the driver's attributes.
 */
#ifndef TVMFFI_CUBIN_RUNTIME_PROPERTIES_H_
#define TVMFFI_CUBIN_RUNTIME_PROPERTIES_H_

#include "device.h"

// Fields of cudaDeviceProp and the attributes that they are, by the names of cudaDevAttr.
#define TVMFFI_CUBIN_PROPERTIES(V)                                                  \
  V(sharedMemPerBlock, MaxSharedMemoryPerBlock)                                     \
  V(regsPerBlock, MaxRegistersPerBlock)                                             \
  V(warpSize, WarpSize)                                                             \
  V(memPitch, MaxPitch)                                                             \
  V(maxThreadsPerBlock, MaxThreadsPerBlock)                                         \
  V(maxThreadsDim[0], MaxBlockDimX)                                                 \
  V(maxThreadsDim[1], MaxBlockDimY)                                                 \
  V(maxThreadsDim[2], MaxBlockDimZ)                                                 \
  V(maxGridSize[0], MaxGridDimX)                                                    \
  V(maxGridSize[1], MaxGridDimY)                                                    \
  V(maxGridSize[2], MaxGridDimZ)                                                    \
  V(totalConstMem, TotalConstantMemory)                                             \
  V(major, ComputeCapabilityMajor)                                                  \
  V(minor, ComputeCapabilityMinor)                                                  \
  V(textureAlignment, TextureAlignment)                                             \
  V(texturePitchAlignment, TexturePitchAlignment)                                   \
  V(multiProcessorCount, MultiProcessorCount)                                       \
  V(integrated, Integrated)                                                         \
  V(canMapHostMemory, CanMapHostMemory)                                             \
  V(maxTexture1D, MaxTexture1DWidth)                                                \
  V(maxTexture1DMipmap, MaxTexture1DMipmappedWidth)                                 \
  V(maxTexture2D[0], MaxTexture2DWidth)                                             \
  V(maxTexture2D[1], MaxTexture2DHeight)                                            \
  V(maxTexture2DMipmap[0], MaxTexture2DMipmappedWidth)                              \
  V(maxTexture2DMipmap[1], MaxTexture2DMipmappedHeight)                             \
  V(maxTexture2DLinear[0], MaxTexture2DLinearWidth)                                 \
  V(maxTexture2DLinear[1], MaxTexture2DLinearHeight)                                \
  V(maxTexture2DLinear[2], MaxTexture2DLinearPitch)                                 \
  V(maxTexture2DGather[0], MaxTexture2DGatherWidth)                                 \
  V(maxTexture2DGather[1], MaxTexture2DGatherHeight)                                \
  V(maxTexture3D[0], MaxTexture3DWidth)                                             \
  V(maxTexture3D[1], MaxTexture3DHeight)                                            \
  V(maxTexture3D[2], MaxTexture3DDepth)                                             \
  V(maxTexture3DAlt[0], MaxTexture3DWidthAlt)                                       \
  V(maxTexture3DAlt[1], MaxTexture3DHeightAlt)                                      \
  V(maxTexture3DAlt[2], MaxTexture3DDepthAlt)                                       \
  V(maxTextureCubemap, MaxTextureCubemapWidth)                                      \
  V(maxTexture1DLayered[0], MaxTexture1DLayeredWidth)                               \
  V(maxTexture1DLayered[1], MaxTexture1DLayeredLayers)                              \
  V(maxTexture2DLayered[0], MaxTexture2DLayeredWidth)                               \
  V(maxTexture2DLayered[1], MaxTexture2DLayeredHeight)                              \
  V(maxTexture2DLayered[2], MaxTexture2DLayeredLayers)                              \
  V(maxTextureCubemapLayered[0], MaxTextureCubemapLayeredWidth)                     \
  V(maxTextureCubemapLayered[1], MaxTextureCubemapLayeredLayers)                    \
  V(maxSurface1D, MaxSurface1DWidth)                                                \
  V(maxSurface2D[0], MaxSurface2DWidth)                                             \
  V(maxSurface2D[1], MaxSurface2DHeight)                                            \
  V(maxSurface3D[0], MaxSurface3DWidth)                                             \
  V(maxSurface3D[1], MaxSurface3DHeight)                                            \
  V(maxSurface3D[2], MaxSurface3DDepth)                                             \
  V(maxSurface1DLayered[0], MaxSurface1DLayeredWidth)                               \
  V(maxSurface1DLayered[1], MaxSurface1DLayeredLayers)                              \
  V(maxSurface2DLayered[0], MaxSurface2DLayeredWidth)                               \
  V(maxSurface2DLayered[1], MaxSurface2DLayeredHeight)                              \
  V(maxSurface2DLayered[2], MaxSurface2DLayeredLayers)                              \
  V(maxSurfaceCubemap, MaxSurfaceCubemapWidth)                                      \
  V(maxSurfaceCubemapLayered[0], MaxSurfaceCubemapLayeredWidth)                     \
  V(maxSurfaceCubemapLayered[1], MaxSurfaceCubemapLayeredLayers)                    \
  V(surfaceAlignment, SurfaceAlignment)                                             \
  V(concurrentKernels, ConcurrentKernels)                                           \
  V(ECCEnabled, EccEnabled)                                                         \
  V(pciBusID, PciBusId)                                                             \
  V(pciDeviceID, PciDeviceId)                                                       \
  V(pciDomainID, PciDomainId)                                                       \
  V(tccDriver, TccDriver)                                                           \
  V(asyncEngineCount, AsyncEngineCount)                                             \
  V(unifiedAddressing, UnifiedAddressing)                                           \
  V(memoryBusWidth, GlobalMemoryBusWidth)                                           \
  V(l2CacheSize, L2CacheSize)                                                       \
  V(persistingL2CacheMaxSize, MaxPersistingL2CacheSize)                             \
  V(maxThreadsPerMultiProcessor, MaxThreadsPerMultiProcessor)                       \
  V(streamPrioritiesSupported, StreamPrioritiesSupported)                           \
  V(globalL1CacheSupported, GlobalL1CacheSupported)                                 \
  V(localL1CacheSupported, LocalL1CacheSupported)                                   \
  V(sharedMemPerMultiprocessor, MaxSharedMemoryPerMultiprocessor)                   \
  V(regsPerMultiprocessor, MaxRegistersPerMultiprocessor)                           \
  V(managedMemory, ManagedMemory)                                                   \
  V(isMultiGpuBoard, IsMultiGpuBoard)                                               \
  V(multiGpuBoardGroupID, MultiGpuBoardGroupID)                                     \
  V(hostNativeAtomicSupported, HostNativeAtomicSupported)                           \
  V(pageableMemoryAccess, PageableMemoryAccess)                                     \
  V(concurrentManagedAccess, ConcurrentManagedAccess)                               \
  V(computePreemptionSupported, ComputePreemptionSupported)                         \
  V(canUseHostPointerForRegisteredMem, CanUseHostPointerForRegisteredMem)           \
  V(cooperativeLaunch, CooperativeLaunch)                                           \
  V(sharedMemPerBlockOptin, MaxSharedMemoryPerBlockOptin)                           \
  V(pageableMemoryAccessUsesHostPageTables, PageableMemoryAccessUsesHostPageTables) \
  V(directManagedMemAccessFromHost, DirectManagedMemAccessFromHost)                 \
  V(maxBlocksPerMultiProcessor, MaxBlocksPerMultiprocessor)                         \
  V(accessPolicyMaxWindowSize, MaxAccessPolicyWindowSize)                           \
  V(reservedSharedMemPerBlock, ReservedSharedMemoryPerBlock)                        \
  V(hostRegisterSupported, HostRegisterSupported)                                   \
  V(sparseCudaArraySupported, SparseCudaArraySupported)                             \
  V(hostRegisterReadOnlySupported, HostRegisterReadOnlySupported)                   \
  V(timelineSemaphoreInteropSupported, TimelineSemaphoreInteropSupported)           \
  V(memoryPoolsSupported, MemoryPoolsSupported)                                     \
  V(gpuDirectRDMASupported, GPUDirectRDMASupported)                                 \
  V(gpuDirectRDMAFlushWritesOptions, GPUDirectRDMAFlushWritesOptions)               \
  V(gpuDirectRDMAWritesOrdering, GPUDirectRDMAWritesOrdering)                       \
  V(memoryPoolSupportedHandleTypes, MemoryPoolSupportedHandleTypes)                 \
  V(deferredMappingCudaArraySupported, DeferredMappingCudaArraySupported)           \
  V(ipcEventSupported, IpcEventSupport)                                             \
  V(clusterLaunch, ClusterLaunch)

#if CUDART_VERSION < 13000
#define TVMFFI_CUBIN_MORE_PROPERTIES(V)                                 \
  V(clockRate, ClockRate)                                               \
  V(deviceOverlap, GpuOverlap)                                          \
  V(kernelExecTimeoutEnabled, KernelExecTimeout)                        \
  V(computeMode, ComputeMode)                                           \
  V(maxTexture1DLinear, MaxTexture1DLinearWidth)                        \
  V(memoryClockRate, MemoryClockRate)                                   \
  V(singleToDoublePrecisionPerfRatio, SingleToDoublePrecisionPerfRatio) \
  V(cooperativeMultiDeviceLaunch, CooperativeMultiDeviceLaunch)
#else
#define TVMFFI_CUBIN_MORE_PROPERTIES(V)   \
  V(deviceNumaConfig, NumaConfig)         \
  V(deviceNumaId, NumaId)                 \
  V(mpsEnabled, MpsEnabled)               \
  V(hostNumaId, HostNumaId)               \
  V(gpuPciDeviceID, GpuPciDeviceId)       \
  V(gpuPciSubsystemID, GpuPciSubsystemId) \
  V(hostNumaMultinodeIpcSupported, HostNumaMultinodeIpcSupported)
#endif

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

TVMFFI_CUBIN_DRIVER_ENTRY(cuDeviceTotalMem, 3020)
TVMFFI_CUBIN_DRIVER_ENTRY(cuDeviceGetName, 12000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuDeviceGetUuid, 11040)

/*! \brief A device's attribute; 0 where the driver does not know it. */
template <typename T>
void ReadProperty(CUdevice device, enum cudaDeviceAttr attribute, T* field) {
  int value = 0;
  entry::cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(attribute), device);
  *field = static_cast<T>(value);
}

__attribute__((noinline)) inline CUresult ReadProperties(struct cudaDeviceProp* properties,
                                                         int ordinal) {
  CUdevice device = 0;
  CUresult result = entry::cuDeviceGet(&device, ordinal);
  if (result != CUDA_SUCCESS) return result;
  *properties = {};
  result = entry::cuDeviceGetName(properties->name, sizeof(properties->name), device);
  if (result == CUDA_SUCCESS) {
    result = entry::cuDeviceTotalMem(&properties->totalGlobalMem, device);
  }
  entry::cuDeviceGetUuid(reinterpret_cast<CUuuid*>(&properties->uuid), device);
#define TVMFFI_CUBIN_READ(field, name) \
  ReadProperty(device, cudaDevAttr##name, &properties->field);
  TVMFFI_CUBIN_PROPERTIES(TVMFFI_CUBIN_READ)
  TVMFFI_CUBIN_MORE_PROPERTIES(TVMFFI_CUBIN_READ)
#undef TVMFFI_CUBIN_READ
  return result;
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaGetDeviceProperties(struct cudaDeviceProp* properties, int device) {
  cudaError_t error;
  if (tvmffi_cubin::IsNull(&error, properties)) return error;
  return tvmffi_cubin::NoteRuntimeError(tvmffi_cubin::ReadProperties(properties, device));
}

#endif  // TVMFFI_CUBIN_RUNTIME_PROPERTIES_H_
