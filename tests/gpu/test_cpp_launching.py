"""Launches from C++ on a real device, by kernels that only work with what the launch carries."""

from __future__ import annotations

from pathlib import Path

import pytest
from launch_setters import rows

import tvmffi_cubin as tc

torch = pytest.importorskip("torch", reason="the GPU tests use torch's tensors, it is missing")

CPP = Path(__file__).parents[1] / "cpp"
KERNELS = r"""
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

// Each block reads what the next one of its cluster has in its shared memory.
__device__ void ring_of(int* y) {
  __shared__ int mine;
  auto cluster = cg::this_cluster();
  mine = blockIdx.x;
  cluster.sync();
  unsigned next = (cluster.block_rank() + 1) % cluster.num_blocks();
  if (threadIdx.x == 0) y[blockIdx.x] = *cluster.map_shared_rank(&mine, next);
  cluster.sync();
}
extern "C" __global__ void ring(int* y) { ring_of(y); }
extern "C" __global__ void __cluster_dims__(16, 1, 1) wide(int* y) { ring_of(y); }

// y: a sum that is complete only once every block has added to it, then what each block reads.
extern "C" __global__ void grid_sum(int* y) {
  if (threadIdx.x == 0) atomicAdd(&y[0], blockIdx.x + 1);
  cg::this_grid().sync();
  if (threadIdx.x == 0) y[1 + blockIdx.x] = y[0];
}
"""
WRAPPER = r"""
#include "configure.h"
#include <tvm/ffi/extra/cuda/cubin_launcher.h>
#include <tvmffi_cubin/tvmffi_cubin.h>

EMBED_CUBIN(kernels);

using tvm::ffi::TensorView;
using tvmffi_cubin::LaunchConfig;

CUstream StreamOf(TensorView y) {
  return static_cast<CUstream>(TVMFFIEnvGetStream(kDLCUDA, y.device().device_id));
}

void Run(tvm::ffi::String name, TensorView rows, TensorView y) {
  auto kernel = EMBED_CUBIN_GET_KERNEL(kernels, name.c_str());
  LaunchConfig config(1, 32);
  config.SetStream(StreamOf(y)).SetDevice(y.device().device_id);
  Configure(&config, rows);
  tvmffi_cubin::CheckDriver(kernel.Launch(config, y.data_ptr()));
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

int64_t Resident(tvm::ffi::String name, TensorView rows, int device) {
  LaunchConfig config(1, 32);
  Configure(&config, rows);
  config.SetDevice(device);
  return EMBED_CUBIN_GET_KERNEL(kernels, name.c_str()).GetOccupancy(config).cooperative_blocks;
}

TVM_FFI_DLL_EXPORT_TYPED_FUNC(run, Run);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(run_guide, RunGuide);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(resident, Resident);
"""


def load(name: str) -> tc.Module:
    return tc.load_inline(name, [KERNELS, WRAPPER], extra_include_paths=[CPP])


@pytest.fixture(scope="module")
def launches():
    if torch.cuda.get_device_capability() < (9, 0):
        pytest.skip("clusters and dependent launches need a device of 9.0 or newer")
    return load("gpu_cpp_launches")


def zeros(count: int):
    return torch.zeros(count, dtype=torch.int32, device="cuda")


def next_in_cluster(blocks: int, cluster: int) -> list[int]:
    """For each block the number of the next one in its cluster."""
    return [i - i % cluster + (i + 1) % cluster for i in range(blocks)]


@pytest.mark.parametrize("cluster", [2, 16])
def test_blocks_of_a_cluster_read_their_neighbour(launches, cluster):
    y = zeros(32)
    launches.run("ring", rows([("grid", (32, 1, 1)), ("cluster", (cluster, 1, 1))]), y)
    assert y.tolist() == next_in_cluster(32, cluster)
    y.zero_()
    launches.run_guide(y, 32, cluster)
    assert y.tolist() == next_in_cluster(32, cluster)


def test_a_cluster_that_the_kernel_fixes_at_16_launches_first_in_a_graph(launches):
    # A module of its own: of the other one the driver has the kernel opted in already.
    fresh = load("gpu_cpp_first")
    y, graph = zeros(64), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        fresh.run("wide", rows([("grid", (64, 1, 1))]), y)
    graph.replay()
    assert y.tolist() == next_in_cluster(64, 16)


@pytest.mark.parametrize("cluster", [None, 2])
def test_a_cooperative_grid_of_the_largest_size_synchronizes(launches, cluster):
    shape = [("block", (128, 1, 1)), ("cooperative", (1,))]
    shape += [("cluster", (cluster, 1, 1))] if cluster else []
    most = launches.resident("grid_sum", rows(shape), 0)
    assert most >= torch.cuda.get_device_properties(0).multi_processor_count
    y = zeros(1 + most)
    launches.run("grid_sum", rows([*shape, ("grid", (most, 1, 1))]), y)
    assert set(y.tolist()) == {most * (most + 1) // 2}
    with pytest.raises(tc.LaunchLimitError, match=rf"can hold {most} of this shape"):
        launches.run("grid_sum", rows([*shape, ("grid", (most + 2, 1, 1))]), y)
    # The device is as good as before.
    launches.run("ring", rows([("grid", (2, 1, 1)), ("cluster", (2, 1, 1))]), y)
    assert y[:2].tolist() == [1, 0]
