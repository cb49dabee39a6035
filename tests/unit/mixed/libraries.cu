#include <cooperative_groups.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cub/block/block_reduce.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <iostream>

namespace cg = cooperative_groups;

__global__ void sum(const half* x, float* out, int n) {
  using Reduce = cub::BlockReduce<float, 128>;
  __shared__ typename Reduce::TempStorage storage;
  auto block = cg::this_thread_block();
  float value = block.thread_rank() < n ? __half2float(x[block.thread_rank()]) : 0.0f;
  float total = Reduce(storage).Sum(value);
  if (block.thread_rank() == 0) *out = total;
}

void run(const half* x, float* out, int n) {
  sum<<<1, 128>>>(x, out, n);
  std::cout << "done\n";
}
