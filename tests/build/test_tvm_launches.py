"""Functions made of TVM's tables, in TVM's calling convention, over the driver stand-in."""

from __future__ import annotations

import ctypes
import json

import pytest
from tvm_kit import FunctionInfo, module_bytes, table_json

import tvmffi_cubin as tc

SOURCE = r"""
#include <cuda.h>
#include <cuda_fp16.h>
extern "C" __global__ void scale(float* x, float a, int n, unsigned m, long long k, double d) {}
extern "C" __global__ void box(const __grid_constant__ CUtensorMap map, float* x) {}
extern "C" __global__ void narrow(signed char a, __half b, bool c) {}
extern "C" __global__ void block() { extern __shared__ float memory[]; memory[0] = 1; }
"""
ARGS = ("handle", "float32", "int32", "uint32", "int64", "float64")
COOPERATIVE, PDL, CLUSTER = 2, 6, 4  # CU_LAUNCH_ATTRIBUTE_*
SMEM = "tir.use_dyn_shared_memory"


@pytest.fixture(scope="module")
def cubin(_own_environment: None) -> bytes:
    return tc.nvrtc.compile(SOURCE, arch="sm_90").image


def loaded(cubin: bytes, *functions: FunctionInfo) -> tc.Module:
    launches = tc.tvm.read_table(table_json(*functions))
    return tc.load_inline("tvm_made", functions=launches, embed_cubin=cubin)


def test_a_table_launches_as_tvm_does(cubin, driver_stub, x):
    tags = ("blockIdx.x", "blockIdx.y", "threadIdx.x", "threadIdx.z", SMEM)
    mod = loaded(cubin, FunctionInfo("scale", ARGS, tags))
    # The kernel's arguments, then what the tags name, in their order.
    mod.scale(x, 0.5, -3, 2**32 - 1, -(2**40), 2, 7, 5, 64, 2, 4096)
    mod.scale(ctypes.c_void_p(x.data_ptr), 1, 2, 3, 4, 5.5, 1, 1, 32, 1, 0)
    first, second = driver_stub.launches()
    assert (first.grid, first.block, first.dynamic_smem_bytes) == ((7, 5, 1), (64, 1, 2), 4096)
    assert first.values("PfiIqd") == (x.data_ptr, 0.5, -3, 2**32 - 1, -(2**40), 2.0)
    assert second.values("PfiIqd") == (x.data_ptr, 1.0, 2, 3, 4, 5.5)
    assert first.attributes == second.attributes == {}


def test_a_zero_counts_as_one(cubin, driver_stub):
    tags = ("blockIdx.x", "threadIdx.x", "clusterCtaIdx.x", SMEM)
    mod = loaded(cubin, FunctionInfo("block", (), tags))
    mod.block(0, 0, 0, 0)
    (launch,) = driver_stub.launches()
    assert (launch.grid, launch.block, launch.cluster) == ((1, 1, 1), (1, 1, 1), (1, 1, 1))
    with pytest.raises(ValueError, match="block: dynamic_smem_bytes is -1, expected 0 to 42949672"):
        mod.block(1, 32, 1, -1)
    with pytest.raises(TypeError, match=r"got 3 arguments, expected 4: block\(int64_t blockIdx_x"):
        mod.block(1, 32, 1)


def test_the_newest_fields_set_what_a_launch_has(cubin, driver_stub):
    fields = (
        *("stream", "grid.x", "grid.z", "block.x", "cluster.x", "dynamic_smem_bytes"),
        *("cooperative", "priority", "programmatic_stream_serialization"),
        *("cluster_scheduling_policy", "mem_sync_domain", "programmatic_event.event"),
        "programmatic_event.flags",
    )
    mod = loaded(cubin, FunctionInfo("block", (), cuda_launch_fields=fields))
    stream = 2  # CU_STREAM_PER_THREAD
    mod.block(ctypes.c_void_p(stream), 4, 3, 64, 2, 1024, 0, -1, 1, 1, 1, 0, 0)
    (launch,) = driver_stub.launches()
    assert (launch.grid, launch.block, launch.cluster) == ((4, 1, 3), (64, 1, 1), (2, 1, 1))
    assert (launch.dynamic_smem_bytes, launch.stream) == (1024, stream)
    assert COOPERATIVE not in launch.attributes or not any(launch.attributes[COOPERATIVE])
    assert launch.attributes[PDL][:4] == launch.attributes[5][:4] == launch.attributes[10][:4]
    assert launch.attributes[8][:4] == b"\xff\xff\xff\xff"
    # A zero in the grid launches nothing, as everywhere; what a launch has as 0 alone is 0.
    mod.block(ctypes.c_void_p(stream), 4, 0, 64, 2, 0, 0, 0, 0, 0, 0, 0, 0)
    with pytest.raises(ValueError, match=r"block: .*programmatic_event_flags == 0"):
        mod.block(ctypes.c_void_p(stream), 4, 1, 64, 2, 0, 0, 0, 0, 0, 0, 0, 1)
    assert len(driver_stub.launches()) == 1


@pytest.mark.parametrize(
    ("types", "extra"), [(("handle", "handle"), (1,)), (("grid_constant", "handle"), ())]
)
def test_a_tensor_map_is_passed_by_value(cubin, driver_stub, x, types, extra):
    info = FunctionInfo("box", types, ("blockIdx.x", "threadIdx.x"), extra)
    mod = loaded(cubin, info)
    made = ctypes.create_string_buffer(bytes(range(128)), 128 + 64)
    mod.box(bytes(range(128)), x, 1, 32)
    mod.box(ctypes.c_void_p(ctypes.addressof(made)), x, 1, 32)  # as TVM's host code has it
    one, two = driver_stub.launches()
    assert one.params[0] == two.params[0] == bytes(range(128))


def test_a_table_of_another_image_is_told(cubin):
    with pytest.raises(ValueError, match=r"kernel 'scale': params declares .*, the kernel takes"):
        loaded(cubin, FunctionInfo("scale", ARGS[:5]))


def test_a_module_of_tvm_is_loaded_from_its_files_and_bytes(cubin, driver_stub, here):
    info = FunctionInfo("block", (), ("blockIdx.x", "threadIdx.x"))
    (here / "k-1.cubin").write_bytes(cubin)
    (here / "k-1.tvm_meta.json").write_text(json.dumps(table_json(info)))
    (here / "k.bin").write_bytes(module_bytes(cubin, [info]))
    for source in ("k-1.cubin", "k.bin", module_bytes(cubin, [info], newest=False)):
        tc.tvm.load(source).block(3, 64)
    tc.load_description("k-1.tvm_meta.json", embed_cubin={"k": "k-1.cubin"}).block(3, 64)
    assert [x.grid for x in driver_stub.launches()] == [(3, 1, 1)] * 4
    assert tc.tvm.load("k-1.cubin").manifest["name"] == "k-1"
    with pytest.raises(ValueError, match=r"^table: damaged"):
        tc.tvm.load(module_bytes(cubin, [info])[:-3])
    for given in ({"functions": "block"}, {"embed_cubin": cubin}):  # they are the table's
        with pytest.raises(TypeError, match="got multiple values for keyword"):
            tc.tvm.load("k-1.cubin", **given)
