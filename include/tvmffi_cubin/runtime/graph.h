/*!
 * \file tvmffi_cubin/runtime/graph.h
 * \brief The calls for kernel nodes of graphs, which take kernels by address.
 *
 * Not with bound parameters: they would hand the kernel what they are given, and nothing more.
 */
#ifndef TVMFFI_CUBIN_RUNTIME_GRAPH_H_
#define TVMFFI_CUBIN_RUNTIME_GRAPH_H_

#include "kernel.h"

#ifndef TVMFFI_CUBIN_BOUND_PARAMS

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

TVMFFI_CUBIN_DRIVER_ENTRY(cuGraphAddKernelNode, 12000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuGraphKernelNodeSetParams, 12000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuGraphExecKernelNodeSetParams, 12000)

/*! \brief Calls a driver entry point with the driver's form of a kernel node. */
template <typename Call>
cudaError_t CallWithNode(const cudaKernelNodeParams* given, Call&& call) {
  cudaError_t error;
  if (IsNull(&error, given)) return error;
  const cudaKernelNodeParams& params = *given;
  return CallWithKernel(params.func, [&](CUkernel kernel) {
    CUDA_KERNEL_NODE_PARAMS node{};
    node.kern = kernel;
    node.gridDimX = params.gridDim.x;
    node.gridDimY = params.gridDim.y;
    node.gridDimZ = params.gridDim.z;
    node.blockDimX = params.blockDim.x;
    node.blockDimY = params.blockDim.y;
    node.blockDimZ = params.blockDim.z;
    node.sharedMemBytes = params.sharedMemBytes;
    node.kernelParams = params.kernelParams;
    node.extra = params.extra;
    return call(&node);
  });
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph,
                       const cudaGraphNode_t* dependencies, size_t num_dependencies,
                       const struct cudaKernelNodeParams* params) {
  return tvmffi_cubin::CallWithNode(params, [&](const CUDA_KERNEL_NODE_PARAMS* converted) {
    return tvmffi_cubin::entry::cuGraphAddKernelNode(node, graph, dependencies, num_dependencies,
                                                     converted);
  });
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const struct cudaKernelNodeParams* params) {
  return tvmffi_cubin::CallWithNode(params, [&](const CUDA_KERNEL_NODE_PARAMS* converted) {
    return tvmffi_cubin::entry::cuGraphKernelNodeSetParams(node, converted);
  });
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaGraphExecKernelNodeSetParams(cudaGraphExec_t graph, cudaGraphNode_t node,
                                 const struct cudaKernelNodeParams* params) {
  return tvmffi_cubin::CallWithNode(params, [&](const CUDA_KERNEL_NODE_PARAMS* converted) {
    return tvmffi_cubin::entry::cuGraphExecKernelNodeSetParams(graph, node, converted);
  });
}

#endif  // TVMFFI_CUBIN_BOUND_PARAMS

#endif  // TVMFFI_CUBIN_RUNTIME_GRAPH_H_
