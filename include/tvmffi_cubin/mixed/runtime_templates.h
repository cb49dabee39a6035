/*!
 * \file tvmffi_cubin/mixed/runtime_templates.h
 * \brief The templates that cuda_runtime.h declares for nvcc alone: kernels and symbols by name.
 */
#ifndef TVMFFI_CUBIN_MIXED_RUNTIME_TEMPLATES_H_
#define TVMFFI_CUBIN_MIXED_RUNTIME_TEMPLATES_H_

#include <cuda_runtime.h>

#include <memory>

/*! \brief A template of CUDA's own name, which calls the C function. */
#define TVMFFI_CUBIN_RUNTIME_TEMPLATE \
  template <typename T>               \
  inline __attribute__((visibility("hidden"))) cudaError_t

TVMFFI_CUBIN_RUNTIME_TEMPLATE cudaFuncSetAttribute(T* function, enum cudaFuncAttribute attribute,
                                                   int value) {
  return ::cudaFuncSetAttribute(reinterpret_cast<const void*>(function), attribute, value);
}

TVMFFI_CUBIN_RUNTIME_TEMPLATE cudaFuncGetAttributes(struct cudaFuncAttributes* attributes,
                                                    T* function) {
  return ::cudaFuncGetAttributes(attributes, reinterpret_cast<const void*>(function));
}

TVMFFI_CUBIN_RUNTIME_TEMPLATE cudaFuncSetCacheConfig(T* function, enum cudaFuncCache config) {
  return ::cudaFuncSetCacheConfig(reinterpret_cast<const void*>(function), config);
}

#if CUDART_VERSION < 13000
TVMFFI_CUBIN_RUNTIME_TEMPLATE cudaFuncSetSharedMemConfig(T* function,
                                                         enum cudaSharedMemConfig config) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  return ::cudaFuncSetSharedMemConfig(reinterpret_cast<const void*>(function), config);
#pragma GCC diagnostic pop
}
#endif

#if CUDART_VERSION >= 12030
TVMFFI_CUBIN_RUNTIME_TEMPLATE cudaFuncGetName(const char** name, T* function) {
  return ::cudaFuncGetName(name, reinterpret_cast<const void*>(function));
}
#endif

#if CUDART_VERSION >= 12010
TVMFFI_CUBIN_RUNTIME_TEMPLATE cudaGetKernel(cudaKernel_t* found, T* function) {
  return ::cudaGetKernel(found, reinterpret_cast<const void*>(function));
}
#endif

TVMFFI_CUBIN_RUNTIME_TEMPLATE cudaGetFuncBySymbol(cudaFunction_t* found, T* function) {
  return ::cudaGetFuncBySymbol(found, reinterpret_cast<const void*>(function));
}

TVMFFI_CUBIN_RUNTIME_TEMPLATE cudaGetSymbolAddress(void** pointer, const T& symbol) {
  return ::cudaGetSymbolAddress(pointer, static_cast<const void*>(std::addressof(symbol)));
}

TVMFFI_CUBIN_RUNTIME_TEMPLATE cudaGetSymbolSize(size_t* size, const T& symbol) {
  return ::cudaGetSymbolSize(size, static_cast<const void*>(std::addressof(symbol)));
}

TVMFFI_CUBIN_RUNTIME_TEMPLATE cudaMemcpyToSymbol(
    const T& symbol, const void* from, size_t bytes, size_t offset = 0,
    enum cudaMemcpyKind kind = cudaMemcpyHostToDevice) {
  return ::cudaMemcpyToSymbol(static_cast<const void*>(std::addressof(symbol)), from, bytes, offset,
                              kind);
}

TVMFFI_CUBIN_RUNTIME_TEMPLATE cudaMemcpyToSymbolAsync(
    const T& symbol, const void* from, size_t bytes, size_t offset = 0,
    enum cudaMemcpyKind kind = cudaMemcpyHostToDevice, cudaStream_t stream = nullptr) {
  return ::cudaMemcpyToSymbolAsync(static_cast<const void*>(std::addressof(symbol)), from, bytes,
                                   offset, kind, stream);
}

TVMFFI_CUBIN_RUNTIME_TEMPLATE cudaMemcpyFromSymbol(
    void* to, const T& symbol, size_t bytes, size_t offset = 0,
    enum cudaMemcpyKind kind = cudaMemcpyDeviceToHost) {
  return ::cudaMemcpyFromSymbol(to, static_cast<const void*>(std::addressof(symbol)), bytes, offset,
                                kind);
}

TVMFFI_CUBIN_RUNTIME_TEMPLATE cudaMemcpyFromSymbolAsync(
    void* to, const T& symbol, size_t bytes, size_t offset = 0,
    enum cudaMemcpyKind kind = cudaMemcpyDeviceToHost, cudaStream_t stream = nullptr) {
  return ::cudaMemcpyFromSymbolAsync(to, static_cast<const void*>(std::addressof(symbol)), bytes,
                                     offset, kind, stream);
}

TVMFFI_CUBIN_RUNTIME_TEMPLATE cudaGraphAddMemcpyNodeToSymbol(
    cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count,
    const T& symbol, const void* from, size_t bytes, size_t offset, enum cudaMemcpyKind kind) {
  return ::cudaGraphAddMemcpyNodeToSymbol(node, graph, after, count,
                                          static_cast<const void*>(std::addressof(symbol)), from,
                                          bytes, offset, kind);
}

TVMFFI_CUBIN_RUNTIME_TEMPLATE cudaGraphAddMemcpyNodeFromSymbol(
    cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count, void* to,
    const T& symbol, size_t bytes, size_t offset, enum cudaMemcpyKind kind) {
  return ::cudaGraphAddMemcpyNodeFromSymbol(node, graph, after, count, to,
                                            static_cast<const void*>(std::addressof(symbol)), bytes,
                                            offset, kind);
}

#undef TVMFFI_CUBIN_RUNTIME_TEMPLATE

#endif  // TVMFFI_CUBIN_MIXED_RUNTIME_TEMPLATES_H_
