// Graphs, by capture and node by node, callbacks, and what devices tell of themselves.
#include <cuda_profiler_api.h>
#include <cuda_runtime.h>

#define CUDA_OK(call)                                                                    \
  do {                                                                                   \
    auto result = call;                                                                  \
    TVM_FFI_ICHECK(result == cudaSuccess) << #call << ": " << cudaGetErrorString(result); \
  } while (false)

__global__ void add(float* x, float by, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += by;
}

__constant__ float steps[4];
__device__ float last;

__global__ void add_step(float* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += steps[2];
  if (i == 0) last = steps[2];
}

void launched(cudaGraph_t graph, cudaStream_t stream, int times) {
  cudaGraphExec_t made;
  CUDA_OK(cudaGraphInstantiate(&made, graph, nullptr, nullptr, 0));
  for (int i = 0; i < times; ++i) CUDA_OK(cudaGraphLaunch(made, stream));
  CUDA_OK(cudaStreamSynchronize(stream));
  CUDA_OK(cudaGraphExecDestroy(made));
  CUDA_OK(cudaGraphDestroy(graph));
}

// x becomes x + 3 * by.
void captured(tvm::ffi::TensorView x, double by) {
  cudaStream_t stream;
  cudaGraph_t graph;
  CUDA_OK(cudaDeviceSynchronize());
  CUDA_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CUDA_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  add<<<2, 32, 0, stream>>>((float*)x.data_ptr(), by, static_cast<int>(x.numel()));
  CUDA_OK(cudaStreamEndCapture(stream, &graph));
  launched(graph, stream, 3);
  CUDA_OK(cudaStreamDestroy(stream));
}

// y becomes x + 2 * by, and all of z is 7; tells how many nodes that takes.
int64_t by_nodes(tvm::ffi::TensorView x, tvm::ffi::TensorView y, tvm::ffi::TensorView z,
                 double by) {
  int n = static_cast<int>(x.numel()), told = 0;
  float step = by;
  auto* to = static_cast<float*>(y.data_ptr());
  cudaGraph_t graph;
  cudaGraphNode_t nodes[5];
  CUDA_OK(cudaDeviceSynchronize());
  CUDA_OK(cudaGraphCreate(&graph, 0));
  CUDA_OK(cudaGraphAddMemcpyNode1D(&nodes[0], graph, nullptr, 0, to, x.data_ptr(),
                                   n * sizeof(float), cudaMemcpyDeviceToDevice));
  void* arguments[] = {&to, &step, &n};
  cudaKernelNodeParams launch{};
  launch.func = (void*)add;
  launch.gridDim = 2;
  launch.blockDim = 32;
  launch.kernelParams = arguments;
  CUDA_OK(cudaGraphAddKernelNode(&nodes[1], graph, &nodes[0], 1, &launch));
  CUDA_OK(cudaGraphAddKernelNode(&nodes[2], graph, &nodes[1], 1, &launch));
  cudaMemsetParams fill{};
  fill.dst = z.data_ptr();
  fill.value = 7;
  fill.elementSize = 4;
  fill.width = z.numel();
  fill.height = 1;
  CUDA_OK(cudaGraphAddMemsetNode(&nodes[3], graph, &nodes[2], 1, &fill));
  cudaHostNodeParams host{};
  host.fn = [](void* data) { ++*static_cast<int*>(data); };
  host.userData = &told;
  CUDA_OK(cudaGraphAddHostNode(&nodes[4], graph, &nodes[3], 1, &host));
  size_t count = 0;
  CUDA_OK(cudaGraphGetNodes(graph, nullptr, &count));
  launched(graph, nullptr, 1);
  return static_cast<int64_t>(count) + 100 * told;
}

// x becomes x + by; tells what the kernel left in a variable, where it ran.
double by_symbols(tvm::ffi::TensorView x, double by) {
  const int n = static_cast<int>(x.numel());
  const float values[2] = {static_cast<float>(by), -1.0f};
  float left = static_cast<float>(by);
  auto* data = static_cast<float*>(x.data_ptr());
  cudaGraph_t graph;
  cudaGraphNode_t in, kernel, out;
  CUDA_OK(cudaDeviceSynchronize());
  CUDA_OK(cudaGraphCreate(&graph, 0));
  CUDA_OK(cudaGraphAddMemcpyNodeToSymbol(&in, graph, nullptr, 0, steps, values, sizeof(values),
                                         2 * sizeof(float), cudaMemcpyHostToDevice));
  void* arguments[] = {&data, const_cast<int*>(&n)};
  cudaKernelNodeParams launch{};
  launch.func = (void*)add_step;
  launch.gridDim = 2;
  launch.blockDim = 32;
  launch.kernelParams = arguments;
  CUDA_OK(cudaGraphAddKernelNode(&kernel, graph, &in, 1, &launch));
  CUDA_OK(cudaGraphAddMemcpyNodeFromSymbol(&out, graph, &kernel, 1, &left, last, sizeof(left),
                                           0, cudaMemcpyDeviceToHost));
  launched(graph, nullptr, 1);
  return left;
}

int64_t devices() {
  int count = 0, device = 0, can = 0;
  size_t stack = 0, again = 1;
  uint64_t kept = 0, keep = 1 << 20;
  char bus[32] = "";
  cudaMemPool_t pool;
  CUDA_OK(cudaProfilerStart());
  CUDA_OK(cudaProfilerStop());
  CUDA_OK(cudaGetDeviceCount(&count));
  CUDA_OK(cudaGetDevice(&device));
  if (count > 1) CUDA_OK(cudaDeviceCanAccessPeer(&can, device, device == 0 ? 1 : 0));
  CUDA_OK(cudaDeviceGetPCIBusId(bus, sizeof(bus), device));
  CUDA_OK(cudaDeviceGetLimit(&stack, cudaLimitStackSize));
  CUDA_OK(cudaDeviceSetLimit(cudaLimitStackSize, stack));
  CUDA_OK(cudaDeviceGetLimit(&again, cudaLimitStackSize));
  CUDA_OK(cudaDeviceGetDefaultMemPool(&pool, device));
  CUDA_OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept));
  CUDA_OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
  CUDA_OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
  CUDA_OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept));
  return (can == 0 || can == 1) + 2 * (stack == again) + 4 * (keep == 1 << 20) +
         8 * (bus[0] != '\0');
}
