"""Kernels that only work with what a launch is to carry, and a wrapper that launches any."""

from __future__ import annotations

KERNELS = r"""
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__device__ int block_id() {
  return (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
}

// Each block reads what the next one of its cluster has in its shared memory.
__device__ void ring_of(int* y) {
  __shared__ int mine;
  auto cluster = cg::this_cluster();
  mine = block_id();
  cluster.sync();
  unsigned next = (cluster.block_rank() + 1) % cluster.num_blocks();
  if (threadIdx.x == 0) y[block_id()] = *cluster.map_shared_rank(&mine, next);
  cluster.sync();
}
extern "C" __global__ void ring(int* y) { ring_of(y); }
extern "C" __global__ void __cluster_dims__(16, 1, 1) wide(int* y) { ring_of(y); }

// y: a sum that is complete only once every block has added to it, then what each block reads.
extern "C" __global__ void grid_sum(int* y) {
  if (threadIdx.x == 0) atomicAdd(&y[0], block_id() + 1);
  cg::this_grid().sync();
  if (threadIdx.x == 0) y[1 + block_id()] = y[0];
}
"""

WRAPPER = r"""
#include "configure.h"
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/extra/cuda/cubin_launcher.h>
#include <tvmffi_cubin/tvmffi_cubin.h>

EMBED_CUBIN(kernels);

using tvm::ffi::TensorView;
using tvmffi_cubin::CheckDriver;
using tvmffi_cubin::LaunchConfig;

CUstream StreamOf(TensorView y) {
  return static_cast<CUstream>(TVMFFIEnvGetStream(kDLCUDA, y.device().device_id));
}

void Run(tvm::ffi::String name, TensorView rows, TensorView y) {
  auto kernel = EMBED_CUBIN_GET_KERNEL(kernels, name.c_str());
  LaunchConfig config(1, 32);
  config.SetStream(StreamOf(y)).SetDevice(y.device().device_id);
  Configure(&config, rows);
  CheckDriver(kernel.Launch(config, y.data_ptr()));
}

void RunGuide(TensorView y, int64_t blocks, int64_t cluster) {
  namespace api = tvm::ffi::cuda_api;
  static tvm::ffi::CubinKernel kernel(EMBED_CUBIN_MODULE(kernels).GetHandle(), "ring");
  void* y_ptr = y.data_ptr();
  void* args[] = {&y_ptr};
  api::LaunchConfig config{};
  api::LaunchAttrType attribute{};
  api::ConstructLaunchConfig(kernel.GetHandle(), StreamOf(y), 0,
                             tvm::ffi::dim3(static_cast<unsigned>(blocks)), tvm::ffi::dim3(32),
                             static_cast<int>(cluster), config, attribute);
  TVM_FFI_CHECK_CUBIN_LAUNCHER_CUDA_ERROR(kernel.LaunchEx(args, config));
}

tvm::ffi::Array<int64_t> Occupancy(tvm::ffi::String name, TensorView rows, int device) {
  auto kernel = EMBED_CUBIN_GET_KERNEL(kernels, name.c_str());
  LaunchConfig config(1, 32);
  Configure(&config, rows);
  config.SetDevice(device);
  const tvmffi_cubin::Occupancy found = kernel.GetOccupancy(config);
  return {found.blocks_per_sm, found.cooperative_blocks, found.cluster_blocks, found.clusters};
}

TVM_FFI_DLL_EXPORT_TYPED_FUNC(run, Run);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(run_guide, RunGuide);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(occupancy, Occupancy);
"""
