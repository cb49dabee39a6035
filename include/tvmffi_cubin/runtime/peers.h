/*!
 * \file tvmffi_cubin/runtime/peers.h
 * \brief Devices' peers, limits and flags, and pools of memory, over the driver.
 */
#ifndef TVMFFI_CUBIN_RUNTIME_PEERS_H_
#define TVMFFI_CUBIN_RUNTIME_PEERS_H_

#include "memory.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

TVMFFI_CUBIN_DRIVER_ENTRY(cuDeviceCanAccessPeer, 4000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuDeviceGetP2PAttribute, 8000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuDeviceGetPCIBusId, 4010)
TVMFFI_CUBIN_DRIVER_ENTRY(cuDeviceGetByPCIBusId, 4010)
TVMFFI_CUBIN_DRIVER_ENTRY(cuDevicePrimaryCtxSetFlags, 11000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuCtxEnablePeerAccess, 4000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuCtxDisablePeerAccess, 4000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuCtxGetFlags, 7000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuCtxGetLimit, 3010)
TVMFFI_CUBIN_DRIVER_ENTRY(cuCtxSetLimit, 3010)
TVMFFI_CUBIN_DRIVER_ENTRY(cuCtxResetPersistingL2Cache, 11000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuDeviceGetDefaultMemPool, 11020)
TVMFFI_CUBIN_DRIVER_ENTRY(cuDeviceGetMemPool, 11020)
TVMFFI_CUBIN_DRIVER_ENTRY(cuDeviceSetMemPool, 11020)
TVMFFI_CUBIN_DRIVER_ENTRY(cuMemPoolGetAttribute, 11020)
TVMFFI_CUBIN_DRIVER_ENTRY(cuMemPoolSetAttribute, 11020)
TVMFFI_CUBIN_DRIVER_ENTRY(cuMemPoolTrimTo, 11020)
TVMFFI_CUBIN_DRIVER_ENTRY(cuMemAllocFromPoolAsync, 11020)

/*! \brief Calls with the driver's handle of a device, which needs no context. */
template <typename Call>
cudaError_t CallWithDevice(int device, Call&& call) {
  CUdevice handle = 0;
  CUresult result = entry::cuDeviceGet(&handle, device);
  if (result == CUDA_SUCCESS) result = call(handle);
  return NoteRuntimeError(result);
}

/*! \brief Calls with the primary context of another device. */
template <typename Entry, typename... Arguments>
cudaError_t CallWithPeer(Entry& call, int device, Arguments... arguments) {
  CUcontext peer = nullptr;
  CUresult result = EnsureContext();
  if (result == CUDA_SUCCESS) result = PrimaryContext(device, &peer).result;
  return NoteRuntimeError(result == CUDA_SUCCESS ? call(peer, arguments...) : result);
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

TVMFFI_CUBIN_RUNTIME(cudaError_t) cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  return tvmffi_cubin::CallWithDevice(device, [=](CUdevice first) {
    CUdevice second = 0;
    const CUresult result = tvmffi_cubin::entry::cuDeviceGet(&second, peer);
    if (result != CUDA_SUCCESS) return result;
    return tvmffi_cubin::entry::cuDeviceCanAccessPeer(can, first, second);
  });
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaDeviceGetP2PAttribute(int* value, enum cudaDeviceP2PAttr attribute, int device, int peer) {
  return tvmffi_cubin::CallWithDevice(device, [=](CUdevice first) {
    CUdevice second = 0;
    const CUresult result = tvmffi_cubin::entry::cuDeviceGet(&second, peer);
    if (result != CUDA_SUCCESS) return result;
    return tvmffi_cubin::entry::cuDeviceGetP2PAttribute(
        value, static_cast<CUdevice_P2PAttribute>(static_cast<int>(attribute)), first, second);
  });
}

TVMFFI_CUBIN_RUNTIME(cudaError_t) cudaDeviceEnablePeerAccess(int peer, unsigned int flags) {
  return tvmffi_cubin::CallWithPeer(tvmffi_cubin::entry::cuCtxEnablePeerAccess, peer, flags);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t) cudaDeviceDisablePeerAccess(int peer) {
  return tvmffi_cubin::CallWithPeer(tvmffi_cubin::entry::cuCtxDisablePeerAccess, peer);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t) cudaDeviceGetPCIBusId(char* id, int length, int device) {
  return tvmffi_cubin::CallWithDevice(device, [=](CUdevice handle) {
    return tvmffi_cubin::entry::cuDeviceGetPCIBusId(id, length, handle);
  });
}

TVMFFI_CUBIN_RUNTIME(cudaError_t) cudaDeviceGetByPCIBusId(int* device, const char* id) {
  return tvmffi_cubin::NoteRuntimeError(tvmffi_cubin::entry::cuDeviceGetByPCIBusId(device, id));
}

TVMFFI_CUBIN_RUNTIME(cudaError_t) cudaDeviceGetLimit(size_t* value, enum cudaLimit limit) {
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuCtxGetLimit, value,
                                     static_cast<CUlimit>(static_cast<int>(limit)));
}

TVMFFI_CUBIN_RUNTIME(cudaError_t) cudaDeviceSetLimit(enum cudaLimit limit, size_t value) {
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuCtxSetLimit,
                                     static_cast<CUlimit>(static_cast<int>(limit)), value);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t) cudaCtxResetPersistingL2Cache(void) {
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuCtxResetPersistingL2Cache);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t) cudaGetDeviceFlags(unsigned int* flags) {
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuCtxGetFlags, flags);
}

// Memory of the host can always be mapped; the driver has no more to do for that flag.
TVMFFI_CUBIN_RUNTIME(cudaError_t) cudaSetDeviceFlags(unsigned int flags) {
  const int device = tvmffi_cubin::CurrentDevice();
  return tvmffi_cubin::CallWithDevice(device, [=](CUdevice handle) {
    return tvmffi_cubin::entry::cuDevicePrimaryCtxSetFlags(handle, flags & ~cudaDeviceMapHost);
  });
}

TVMFFI_CUBIN_RUNTIME(cudaError_t) cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  return tvmffi_cubin::CallWithDevice(device, [=](CUdevice handle) {
    return tvmffi_cubin::entry::cuDeviceGetDefaultMemPool(pool, handle);
  });
}

TVMFFI_CUBIN_RUNTIME(cudaError_t) cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
  return tvmffi_cubin::CallWithDevice(device, [=](CUdevice handle) {
    return tvmffi_cubin::entry::cuDeviceGetMemPool(pool, handle);
  });
}

TVMFFI_CUBIN_RUNTIME(cudaError_t) cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
  return tvmffi_cubin::CallWithDevice(device, [=](CUdevice handle) {
    return tvmffi_cubin::entry::cuDeviceSetMemPool(handle, pool);
  });
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void* value) {
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuMemPoolGetAttribute, pool,
                                     static_cast<CUmemPool_attribute>(static_cast<int>(attribute)),
                                     value);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void* value) {
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuMemPoolSetAttribute, pool,
                                     static_cast<CUmemPool_attribute>(static_cast<int>(attribute)),
                                     value);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t) cudaMemPoolTrimTo(cudaMemPool_t pool, size_t bytes) {
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuMemPoolTrimTo, pool, bytes);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaMallocFromPoolAsync(void** pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
  return tvmffi_cubin::Allocate(tvmffi_cubin::entry::cuMemAllocFromPoolAsync, pointer, bytes, pool,
                                stream);
}

#endif  // TVMFFI_CUBIN_RUNTIME_PEERS_H_
