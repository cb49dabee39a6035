/*!
 * \file node.c
 * \brief Graphs and their nodes that are no kernels, counted; none of them is run.
 */
#include "stub.h"

enum { kMaxGraphs = 64 };

typedef struct {
  size_t nodes;
} Graph;

// Never used again: a graph that is destroyed may be a captured one, which is none of these.
static Graph graphs[kMaxGraphs];
static int used;

static bool IsOurs(CUgraph graph) {
  return (Graph*)graph >= graphs && (Graph*)graph < graphs + used;
}

static CUresult AddNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count) {
  if (node == NULL || !IsOurs(graph) || (count > 0 && after == NULL)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *node = (CUgraphNode)(1 + ((Graph*)graph)->nodes++);  // a token
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphCreate(CUgraph* graph, unsigned int flags) {
  STUB_ENTER(STUB_INITIALIZED, "'flags':%u", flags);
  STUB_REQUIRE(graph != NULL && flags == 0, CUDA_ERROR_INVALID_VALUE);
  STUB_REQUIRE(used < kMaxGraphs, CUDA_ERROR_OUT_OF_MEMORY);
  *graph = (CUgraph)&graphs[used++];
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphDestroy(CUgraph graph) {
  STUB_ENTER(STUB_INITIALIZED);
  return StubLeave(graph != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult CUDAAPI cuGraphAddEmptyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after,
                                     size_t count) {
  STUB_ENTER(STUB_INITIALIZED);
  return StubLeave(AddNode(node, graph, after, count));
}

CUresult CUDAAPI cuGraphAddHostNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after,
                                    size_t count, const CUDA_HOST_NODE_PARAMS* params) {
  STUB_ENTER(STUB_INITIALIZED);
  STUB_REQUIRE(params->fn != NULL, CUDA_ERROR_INVALID_VALUE);
  return StubLeave(AddNode(node, graph, after, count));
}

CUresult CUDAAPI cuGraphAddMemcpyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after,
                                      size_t count, const CUDA_MEMCPY3D* copy, CUcontext context) {
  STUB_ENTER(STUB_INITIALIZED, "'types':[%d,%d],'size':[%zu,%zu,%zu]", (int)copy->srcMemoryType,
             (int)copy->dstMemoryType, copy->WidthInBytes, copy->Height, copy->Depth);
  STUB_REQUIRE(StubFindContext(context) != NULL, CUDA_ERROR_INVALID_CONTEXT);
  return StubLeave(AddNode(node, graph, after, count));
}

CUresult CUDAAPI cuGraphAddMemsetNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after,
                                      size_t count, const CUDA_MEMSET_NODE_PARAMS* fill,
                                      CUcontext context) {
  STUB_ENTER(STUB_INITIALIZED, "'value':%u,'element':%u,'size':[%zu,%zu],'pitch':%zu", fill->value,
             fill->elementSize, fill->width, fill->height, fill->pitch);
  STUB_REQUIRE(StubFindContext(context) != NULL, CUDA_ERROR_INVALID_CONTEXT);
  return StubLeave(AddNode(node, graph, after, count));
}

CUresult CUDAAPI cuGraphGetNodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
  STUB_ENTER(STUB_INITIALIZED);
  STUB_REQUIRE(IsOurs(graph) && nodes == NULL, CUDA_ERROR_NOT_SUPPORTED);
  *count = ((Graph*)graph)->nodes;
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphInstantiateWithFlags(CUgraphExec* made, CUgraph graph,
                                             unsigned long long flags) {
  STUB_ENTER(STUB_INITIALIZED, "'flags':%llu", flags);
  STUB_REQUIRE(graph != NULL, CUDA_ERROR_INVALID_VALUE);
  *made = (CUgraphExec)graph;  // a token
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphLaunch(CUgraphExec graph, CUstream handle) {
  STUB_ENTER(STUB_INITIALIZED, "'stream':%zu", (size_t)handle);
  StubContext* context = NULL;
  StubStream* stream = NULL;
  STUB_REQUIRE(graph != NULL, CUDA_ERROR_INVALID_VALUE);
  return StubLeave(StubStreamContext(handle, &context, &stream));
}

CUresult CUDAAPI cuGraphExecDestroy(CUgraphExec graph) {
  STUB_ENTER(STUB_INITIALIZED);
  return StubLeave(graph != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}
