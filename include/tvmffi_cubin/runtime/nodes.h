/*!
 * \file tvmffi_cubin/runtime/nodes.h
 * \brief Nodes of graphs that are no kernels: copies, fills, host functions, events; over the
 * driver.
 */
#ifndef TVMFFI_CUBIN_RUNTIME_NODES_H_
#define TVMFFI_CUBIN_RUNTIME_NODES_H_

#include "array_copies.h"
#include "symbol.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

TVMFFI_CUBIN_DRIVER_ENTRY(cuGraphAddEmptyNode, 10000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuGraphAddHostNode, 10000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuGraphAddMemcpyNode, 10000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuGraphAddMemsetNode, 10000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuGraphAddChildGraphNode, 10000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuGraphAddEventRecordNode, 11010)
TVMFFI_CUBIN_DRIVER_ENTRY(cuGraphAddEventWaitNode, 11010)
#if CUDART_VERSION < 13000
TVMFFI_CUBIN_DRIVER_ENTRY(cuGraphAddDependencies, 10000)
#endif

/*! \brief The thread's context, in which a node copies or fills. */
inline CUresult NodeContext(CUcontext* context) {
  const CUresult result = EnsureContext();
  return result == CUDA_SUCCESS ? entry::cuCtxGetCurrent(context) : result;
}

inline cudaError_t AddCopy(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                           size_t count, const struct cudaMemcpy3DParms& copy) {
  CUcontext context = nullptr;
  CUDA_MEMCPY3D converted;
  CUresult result = NodeContext(&context);
  if (result == CUDA_SUCCESS) result = DriverCopy(copy, &converted);
  if (result == CUDA_SUCCESS) {
    result = entry::cuGraphAddMemcpyNode(node, graph, after, count, &converted, context);
  }
  return NoteRuntimeError(result);
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                      size_t count) {
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuGraphAddEmptyNode, node, graph, after,
                                     count);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaGraphAddHostNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                     size_t count, const struct cudaHostNodeParams* params) {
  CUDA_HOST_NODE_PARAMS converted{};
  cudaError_t error;
  if (tvmffi_cubin::IsNull(&error, params)) return error;
  converted.fn = params->fn;
  converted.userData = params->userData;
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuGraphAddHostNode, node, graph, after,
                                     count, static_cast<const CUDA_HOST_NODE_PARAMS*>(&converted));
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaGraphAddMemcpyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                       size_t count, const struct cudaMemcpy3DParms* copy) {
  cudaError_t error;
  if (tvmffi_cubin::IsNull(&error, copy)) return error;
  return tvmffi_cubin::AddCopy(node, graph, after, count, *copy);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                         size_t count, void* to, const void* from, size_t bytes,
                         enum cudaMemcpyKind kind) {
  struct cudaMemcpy3DParms copy{};
  copy.srcPtr = {const_cast<void*>(from), bytes, bytes, 1};
  copy.dstPtr = {to, bytes, bytes, 1};
  copy.extent = {bytes, 1, 1};
  copy.kind = kind;
  return tvmffi_cubin::AddCopy(node, graph, after, count, copy);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t* node, cudaGraph_t graph,
                               const cudaGraphNode_t* after, size_t count, const void* symbol,
                               const void* from, size_t bytes, size_t offset,
                               enum cudaMemcpyKind kind) {
  CUdeviceptr to = 0;
  if (!tvmffi_cubin::MayCopy(kind, cudaMemcpyHostToDevice)) return tvmffi_cubin::RefuseDirection();
  const cudaError_t error = tvmffi_cubin::FindPart(symbol, bytes, offset, &to);
  if (error != cudaSuccess) return error;
  return cudaGraphAddMemcpyNode1D(node, graph, after, count, reinterpret_cast<void*>(to), from,
                                  bytes, kind);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t* node, cudaGraph_t graph,
                                 const cudaGraphNode_t* after, size_t count, void* to,
                                 const void* symbol, size_t bytes, size_t offset,
                                 enum cudaMemcpyKind kind) {
  CUdeviceptr from = 0;
  if (!tvmffi_cubin::MayCopy(kind, cudaMemcpyDeviceToHost)) return tvmffi_cubin::RefuseDirection();
  const cudaError_t error = tvmffi_cubin::FindPart(symbol, bytes, offset, &from);
  if (error != cudaSuccess) return error;
  return cudaGraphAddMemcpyNode1D(node, graph, after, count, to, reinterpret_cast<void*>(from),
                                  bytes, kind);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                       size_t count, const struct cudaMemsetParams* params) {
  CUcontext context = nullptr;
  cudaError_t error;
  if (tvmffi_cubin::IsNull(&error, params)) return error;
  const CUresult result = tvmffi_cubin::NodeContext(&context);
  if (result != CUDA_SUCCESS) return tvmffi_cubin::NoteRuntimeError(result);
  CUDA_MEMSET_NODE_PARAMS converted{};
  converted.dst = tvmffi_cubin::DeviceAddress(params->dst);
  converted.pitch = params->pitch;
  converted.value = params->value;
  converted.elementSize = params->elementSize;
  converted.width = params->width;
  converted.height = params->height;
  return tvmffi_cubin::NoteRuntimeError(
      tvmffi_cubin::entry::cuGraphAddMemsetNode(node, graph, after, count, &converted, context));
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                           size_t count, cudaGraph_t child) {
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuGraphAddChildGraphNode, node, graph,
                                     after, count, child);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaGraphAddEventRecordNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                            size_t count, cudaEvent_t event) {
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuGraphAddEventRecordNode, node, graph,
                                     after, count, event);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaGraphAddEventWaitNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                          size_t count, cudaEvent_t event) {
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuGraphAddEventWaitNode, node, graph,
                                     after, count, event);
}

#if CUDART_VERSION < 13000
TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                         size_t count) {
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuGraphAddDependencies, graph, from, to,
                                     count);
}
#endif

#endif  // TVMFFI_CUBIN_RUNTIME_NODES_H_
