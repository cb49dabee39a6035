/*!
 * \file tvmffi_cubin/runtime/capture.h
 * \brief Graphs as they are captured from streams and launched, over the driver.
 */
#ifndef TVMFFI_CUBIN_RUNTIME_CAPTURE_H_
#define TVMFFI_CUBIN_RUNTIME_CAPTURE_H_

#include "../core/device.h"
#include "device.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

TVMFFI_CUBIN_DRIVER_ENTRY(cuStreamBeginCapture, 10010)
TVMFFI_CUBIN_DRIVER_ENTRY(cuStreamEndCapture, 10000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuStreamAddCallback, 5000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuGraphCreate, 10000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuGraphDestroy, 10000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuGraphClone, 10000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuGraphInstantiateWithFlags, 11040)
TVMFFI_CUBIN_DRIVER_ENTRY(cuGraphUpload, 11010)
TVMFFI_CUBIN_DRIVER_ENTRY(cuGraphLaunch, 10000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuGraphExecDestroy, 10000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuGraphExecUpdate, 12000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuGraphGetNodes, 10000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuGraphGetRootNodes, 10000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuGraphNodeGetType, 10000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuGraphDebugDotPrint, 11030)

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode) {
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuStreamBeginCapture, stream,
                                     static_cast<CUstreamCaptureMode>(static_cast<int>(mode)));
}

TVMFFI_CUBIN_RUNTIME(cudaError_t) cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuStreamEndCapture, stream, graph);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode* mode) {
  cudaError_t error;
  if (tvmffi_cubin::IsNull(&error, mode)) return error;
  auto converted = static_cast<CUstreamCaptureMode>(static_cast<int>(*mode));
  const CUresult result = tvmffi_cubin::entry::cuThreadExchangeStreamCaptureMode(&converted);
  *mode = static_cast<enum cudaStreamCaptureMode>(static_cast<int>(converted));
  return tvmffi_cubin::NoteRuntimeError(result);
}

// The driver's callback differs by the type of the error alone, and the two share their numbers.
TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* data,
                      unsigned int flags) {
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuStreamAddCallback, stream,
                                     reinterpret_cast<CUstreamCallback>(callback), data, flags);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t) cudaGraphCreate(cudaGraph_t* graph, unsigned int flags) {
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuGraphCreate, graph, flags);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t) cudaGraphDestroy(cudaGraph_t graph) {
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuGraphDestroy, graph);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t) cudaGraphClone(cudaGraph_t* clone, cudaGraph_t graph) {
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuGraphClone, clone, graph);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaGraphInstantiateWithFlags(cudaGraphExec_t* made, cudaGraph_t graph,
                              unsigned long long flags) {  // NOLINT
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuGraphInstantiateWithFlags, made, graph,
                                     flags);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaGraphInstantiate(cudaGraphExec_t* made, cudaGraph_t graph,
                     unsigned long long flags) {  // NOLINT
  return cudaGraphInstantiateWithFlags(made, graph, flags);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t) cudaGraphUpload(cudaGraphExec_t graph, cudaStream_t stream) {
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuGraphUpload, graph, stream);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t) cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuGraphLaunch, graph, stream);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t) cudaGraphExecDestroy(cudaGraphExec_t graph) {
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuGraphExecDestroy, graph);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaGraphExecUpdate(cudaGraphExec_t made, cudaGraph_t graph, cudaGraphExecUpdateResultInfo* told) {
  CUgraphExecUpdateResultInfo found{};
  cudaError_t error;
  if (tvmffi_cubin::IsNull(&error, told)) return error;
  error = tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuGraphExecUpdate, made, graph, &found);
  told->result = static_cast<enum cudaGraphExecUpdateResult>(static_cast<int>(found.result));
  told->errorNode = found.errorNode;
  told->errorFromNode = found.errorFromNode;
  return error;
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuGraphGetNodes, graph, nodes, count);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuGraphGetRootNodes, graph, nodes, count);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType* type) {
  CUgraphNodeType found{};
  cudaError_t error;
  if (tvmffi_cubin::IsNull(&error, type)) return error;
  error = tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuGraphNodeGetType, node, &found);
  if (error == cudaSuccess) {
    *type = static_cast<enum cudaGraphNodeType>(static_cast<int>(found));
  }
  return error;
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaGraphDebugDotPrint(cudaGraph_t graph, const char* path, unsigned int flags) {
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuGraphDebugDotPrint, graph, path, flags);
}

#endif  // TVMFFI_CUBIN_RUNTIME_CAPTURE_H_
