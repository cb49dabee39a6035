/*!
 * \file graph.c
 * \brief Kernel nodes of graphs: which kernel each is for. Nothing here runs a graph.
 */
#include "stub.h"

static CUresult LogNode(const CUDA_KERNEL_NODE_PARAMS* params) {
  if (params == NULL) return CUDA_ERROR_INVALID_VALUE;
  const void* handle = params->func != NULL ? (const void*)params->func : (const void*)params->kern;
  StubFunction* function = NULL;
  StubKernel* kernel = StubFindKernel(handle, &function);
  if (kernel == NULL) return CUDA_ERROR_INVALID_HANDLE;
  StubLogMore("'kernel':'%s','grid':[%u,%u,%u],'block':[%u,%u,%u],'dynamic_smem_bytes':%u",
              StubQuote(kernel->name), params->gridDimX, params->gridDimY, params->gridDimZ,
              params->blockDimX, params->blockDimY, params->blockDimZ, params->sharedMemBytes);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphAddKernelNode(CUgraphNode* node, CUgraph graph,
                                      const CUgraphNode* dependencies, size_t count,
                                      const CUDA_KERNEL_NODE_PARAMS* params) {
  STUB_ENTER(STUB_INITIALIZED);
  STUB_REQUIRE(node != NULL && graph != NULL && (count == 0 || dependencies != NULL),
               CUDA_ERROR_INVALID_VALUE);
  STUB_TRY(LogNode(params));
  *node = (CUgraphNode)params->kern;  // a token
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphKernelNodeSetParams(CUgraphNode node,
                                            const CUDA_KERNEL_NODE_PARAMS* params) {
  STUB_ENTER(STUB_INITIALIZED);
  STUB_REQUIRE(node != NULL, CUDA_ERROR_INVALID_VALUE);
  return StubLeave(LogNode(params));
}

CUresult CUDAAPI cuGraphExecKernelNodeSetParams(CUgraphExec graph, CUgraphNode node,
                                                const CUDA_KERNEL_NODE_PARAMS* params) {
  STUB_ENTER(STUB_INITIALIZED);
  STUB_REQUIRE(graph != NULL && node != NULL, CUDA_ERROR_INVALID_VALUE);
  return StubLeave(LogNode(params));
}
