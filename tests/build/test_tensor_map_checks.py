"""Tensor maps in C++: what is asked for, and what a refusal means, with value and limit."""

from __future__ import annotations

import pytest
import tvm_ffi
from gpu.tensor_map_kernels import SOURCE
from stub.cuda_array import CPU, CUDA_HOST, CUDA_MANAGED, cuda_array
from stub.encoded_map import EncodedMap
from tensor_map_cases import TYPES, Im2col, Tiled
from wrapper_workshop import Workshop

import tvmffi_cubin as tc

INVALID_VALUE = 1
MODES = [-1, 0, 0, 0, 0]


@pytest.fixture(scope="module")
def maps(workshop: Workshop) -> tvm_ffi.Module:
    return tvm_ffi.load_module(workshop.build("tensor_maps.cc"))


def typed(name: str) -> int:
    return TYPES.index(name)


def test_a_tiled_map_has_the_tensors_own_memory_with_the_innermost_dimension_first(
    maps, driver_stub
):
    x = cuda_array(driver_stub, (4, 6, 64), "float16", strides=(1024, 128, 1))
    made = EncodedMap.of(bytes(maps.tiled(x, [1, 2, 32], [-1, 2, 0, 3, 1], [4, 3, 1])))
    assert made == EncodedMap(
        mode=0,
        type=typed("float16"),
        interleave=0,
        swizzle=2,
        promotion=3,
        fill=1,
        address=x.data_ptr,
        is_marked=False,
        dims=(64, 6, 4),
        strides=(256, 2048),
        element_strides=(1, 3, 4),
        box=(32, 2, 1),
    )


def test_an_im2col_map_has_its_corners_with_the_innermost_dimension_first(maps, driver_stub):
    asked = Im2col(
        shape=(2, 9, 8, 7, 64),
        strides=(9 * 8 * 7 * 256, 8 * 7 * 256, 7 * 256, 256),
        lower=(-3, -2, -1),
        upper=(1, 2, 3),
        steps=(1, 2, 3, 4, 1),
        swizzle=3,
    )
    made = EncodedMap.of(asked.make(maps))
    assert (made.mode, made.lower, made.upper) == (1, (-1, -2, -3), (3, 2, 1))
    assert (made.channels, made.pixels) == (32, 64)
    assert made.dims == (64, 7, 8, 9, 2)
    assert made.element_strides == (1, 4, 3, 2, 1)


@pytest.mark.parametrize(
    ("dtype", "width", "data_type", "expected"),
    [
        ("uint8", 128, None, ("uint8", 128)),
        ("float8_e4m3fn", 128, None, ("uint8", 128)),
        ("bfloat16", 128, None, ("bfloat16", 128)),
        ("float32", 64, "tfloat32", ("tfloat32", 64)),
        ((17, 4, 2), 64, None, ("16u4_align8b", 128)),
        ("uint8", 64, "16u4_align16b", ("16u4_align16b", 128)),
        ("float8_e4m3fn", 192, "16u6_align16b", ("16u6_align16b", 256)),
    ],
)
def test_a_data_type_is_the_tensors_or_counts_its_own_elements(
    maps, driver_stub, dtype, width, data_type, expected
):
    x = cuda_array(driver_stub, (2, width), dtype)
    number = -1 if data_type is None else typed(data_type)
    made = EncodedMap.of(bytes(maps.tiled(x, [2, 128], [number, 0, 0, 0, 0], [])))
    assert (TYPES[made.type], made.dims[0]) == expected
    assert made.strides == (width * x.dtype[1] * x.dtype[2] // 8,)


def test_a_map_is_an_argument_of_a_kernel(maps, driver_stub):
    x = cuda_array(driver_stub, (16, 128), "bfloat16", device=1)
    maps.launch(x)
    for launch in driver_stub.launches():
        assert EncodedMap.of(launch.params[0]).address == x.data_ptr
    assert len(driver_stub.launches()) == 2
    assert driver_stub.calls("cuTensorMapEncodeTiled")[0].device == 1


# What the driver does not take


TILED = [
    (
        {"box": (257, 32), "swizzle": 3},
        "cuTensorMapEncodeTiled failed: CUDA_ERROR_INVALID_VALUE (1): invalid argument: float32 at "
        "0x100000, shape [64, 128], strides in bytes [512], box_dim [257, 32], element_strides "
        "[1, 1], swizzle '128B', interleave 'none'. Required: address and strides multiples of 16 ",
    ),
    ({"interleave": 2}, "interleave '32B'. Required: address and strides multiples of 32 bytes"),
    ({"box": (1, 2, 3)}, "rank is 2, but the map is for rank 3"),
    ({"steps": (1, 2)}, "element_strides[1], of the innermost dimension, is 2, expected 1"),
]
IM2COL = [
    (
        {"lower": (-129, 0)},
        "cuTensorMapEncodeIm2col failed: CUDA_ERROR_INVALID_VALUE (1): invalid argument: float32 "
        "at 0x100000, shape [2, 14, 9, 64], strides in bytes [32256, 2304, 256], lower_corner "
        "[-129, 0], upper_corner [-1, -1], pixels_per_column [64], channels_per_pixel [32], elem",
    ),
    ({"shape": (2, 64), "strides": (256,)}, "rank is 2, but the map is for rank 4"),
]


@pytest.mark.parametrize(
    ("kind", "change", "message"),
    [*((Tiled, *x) for x in TILED), *((Im2col, *x) for x in IM2COL)],
)
def test_a_map_that_the_driver_does_not_take(maps, driver_stub, kind, change, message):
    driver_stub.fail(f"cuTensorMapEncode{kind.__name__}", INVALID_VALUE)
    with pytest.raises(ValueError) as caught:
        kind(**change).make(maps)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("shape", "strides", "dtype", "error", "message"),
    [
        ((4, 8), (16, 2), "float32", ValueError, "stride[1], of the innermost dimension, is 2"),
        ((4, 8), None, "complex64", TypeError, "no data type for elements of DLPack code 5"),
    ],
)
def test_a_tensor_that_no_map_can_have(maps, driver_stub, shape, strides, dtype, error, message):
    x = cuda_array(driver_stub, shape, dtype, strides=strides)
    with pytest.raises(error) as caught:
        maps.tiled(x, [1, 8], MODES, [])
    assert message in str(caught.value)


def test_memory_that_no_kernel_can_reach_has_no_map(maps, driver_stub):
    x = cuda_array(driver_stub, (4, 64), device_type=CPU)
    with pytest.raises(ValueError, match="the tensor is on the host, expected one on a CUDA"):
        maps.tiled(x, [1, 16], MODES, [])
    assert not driver_stub.calls("cuTensorMapEncodeTiled")


@pytest.mark.parametrize("device_type", [CUDA_HOST, CUDA_MANAGED])
def test_pinned_and_managed_memory_has_maps(maps, driver_stub, device_type):
    x = cuda_array(driver_stub, (4, 64), device_type=device_type)
    made = EncodedMap.of(bytes(maps.tiled(x, [1, 16], MODES, [])))
    assert made.address == x.data_ptr
    # As torch has it: pinned memory is the CPU's.
    made = EncodedMap.of(bytes(maps.tiled(x.numpy, [1, 16], MODES, [])))
    assert made.address == x.data_ptr


def test_another_refusal_is_a_launch_error(maps, driver_stub):
    driver_stub.fail("cuTensorMapEncodeTiled", 801)
    with pytest.raises(tc.LaunchError, match=r"require sm_100 and .*, all maps sm_90$"):
        Tiled(swizzle=4).make(maps)


def test_the_kernels_of_the_gpu_tests_compile_without_a_warning():
    assert not tc.nvrtc.compile(SOURCE, arch="sm_90a").log.strip()
