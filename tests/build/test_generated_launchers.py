"""What a compiler's generated launcher does, from a description alone: TileLang's, as a whole."""

from __future__ import annotations

from collections import Counter

import pytest
from stub.cuda_array import cuda_array
from stub.encoded_map import EncodedMap

import tvmffi_cubin as tc
from tvmffi_cubin import Launch, TensorMap

# Named as CuTe's compiler names the kernels of one function.
SOURCE = """
#include <cuda.h>
#define MAP const __grid_constant__ CUtensorMap
extern "C" __global__ void kernel_cutlass_main_kernel_f32_0(MAP a, MAP b, float* c, int m) {
  extern __shared__ float tile[];
  c[0] = tile[m];
}
extern "C" __global__ void kernel_cutlass_main_kernel_1_f32_0(MAP image, float* c) {
  extern __shared__ float tile[];
  c[0] = tile[0];
}
"""
FIRST, SECOND = "kernel_cutlass_main_kernel_f32_0", "kernel_cutlass_main_kernel_1_f32_0"
SMEM = 100 * 1024
MAX_DYNAMIC, PDL = 8, 6
PARAMS = "void* a, void* b, float* c, int m, int k, uint64_t stream, int device_id"
COMMON = {"stream": "stream", "device": "device_id", "dynamic_smem_bytes": SMEM}


def matrix(tensor: str) -> TensorMap:
    return TensorMap(
        tensor,
        box_dim=(64, 32),
        dtype="float16",
        global_dim=("m", "k"),
        global_strides="2 * k",
        swizzle="64B",
        l2_promotion="128B",
    )


LAUNCHER = [
    Launch(
        kernel="main_kernel",
        grid=("ceil_div(m, 64)", 2),
        block=128,
        params=PARAMS,
        args={"a": matrix("a"), "b": matrix("b")},
        **COMMON,
    ),
    Launch(
        kernel="main_kernel_1",
        grid=4,
        block=(32, 4),
        params="CUtensorMap image, float* c, void* a, int m, int k, uint64_t stream, int device_id",
        args={
            "image": TensorMap(
                "a",
                lower_corner=(-1, -1),
                upper_corner=(-1, -1),
                channels_per_pixel=64,
                pixels_per_column=32,
                dtype="float16",
                global_dim=(1, "m", "m", "k"),
            )
        },
        programmatic_dependent_launch=True,
        **COMMON,
    ),
]


@pytest.fixture(scope="module")
def mod(_own_environment: None) -> tc.Module:
    image = tc.nvrtc.compile(SOURCE, arch="sm_90")
    functions = {"launch": LAUNCHER}
    return tc.load_inline("generated", embed_cubin=image, functions=functions, arch="sm_90")


def tensors(stub, device: int):
    return [cuda_array(stub, 1 << 16, "float16", device=device) for _ in range(2)] + [
        cuda_array(stub, 4, device=device)
    ]


def test_the_kernels_are_launched_in_order_with_what_the_call_says(mod, driver_stub):
    a, b, c = tensors(driver_stub, 1)
    with driver_stub.stream(1) as stream:
        mod.launch(a, b, c, 100, 64, stream, 1)
        first, second = driver_stub.launches()
    assert [x.kernel for x in (first, second)] == [FIRST, SECOND]
    assert [(x.stream, x.device) for x in (first, second)] == [(stream, 1)] * 2
    assert [x.grid for x in (first, second)] == [(2, 2, 1), (4, 1, 1)]
    assert [x.block for x in (first, second)] == [(128, 1, 1), (32, 4, 1)]
    assert [x.dynamic_smem_bytes for x in (first, second)] == [SMEM, SMEM]
    assert [list(x.attributes) for x in (first, second)] == [[], [PDL]]
    maps = [EncodedMap.of(data) for data in first.params[:2]]
    assert [x.address for x in maps] == [a.data_ptr, b.data_ptr]
    assert {(x.dims, x.strides, x.box) for x in maps} == {((64, 100), (128,), (32, 64))}
    assert first.params[2:] == (c.data_ptr.to_bytes(8, "little"), (100).to_bytes(4, "little"))
    image = EncodedMap.of(second.params[0])
    assert (image.mode, image.dims, image.lower) == (1, (64, 100, 100, 1), (-1, -1))


def test_devices_have_state_of_their_own_and_descriptors_none(mod, driver_stub):
    mod.unload()
    before = driver_stub.object_counts()
    calls = 3
    for _ in range(calls):
        for device in (0, 1):
            mod.launch(*tensors(driver_stub, device), 100, 64, 0, device)
    counts = Counter(call.function for call in driver_stub.log())
    assert counts["cuLaunchKernelEx"] == 2 * 2 * calls
    assert counts["cuLibraryLoadData"] == 1
    assert counts["cuLibraryGetKernel"] == 2
    # Each device's context once, the limit once for each kernel on each device, all maps anew.
    assert counts["cuDevicePrimaryCtxRetain"] == 2
    limits = [call.args for call in driver_stub.calls("cuKernelSetAttribute")]
    raised = [x["device"] for x in limits if x["attribute"] == MAX_DYNAMIC]
    assert sorted(raised) == [0, 0, 1, 1]
    assert counts["cuTensorMapEncodeTiled"] == 2 * 2 * calls
    assert counts["cuTensorMapEncodeIm2col"] == 2 * calls
    # Clean-up goes on after an error, and another one tries again what is left.
    driver_stub.fail("cuLibraryUnload", 2)
    with pytest.raises(tc.LaunchError, match="cuLibraryUnload failed: CUDA_ERROR_OUT_OF_MEMORY"):
        mod.unload()
    left = driver_stub.object_counts()
    assert left.retained_contexts == before.retained_contexts
    mod.unload()
    assert driver_stub.object_counts() == before
