"""Tensor maps in C++: what the driver would refuse is refused first, with value and limit."""

from __future__ import annotations

from dataclasses import replace

import pytest
import tvm_ffi
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from stub.cuda_array import CPU, CUDA_HOST, CUDA_MANAGED, cuda_array
from stub.encoded_map import EncodedMap
from tensor_map_cases import BITS, TYPES, Im2col, Tiled, documented, driver_answer, edges
from wrapper_workshop import Workshop

import tvmffi_cubin as tc

INVALID_VALUE = 1
MODES = [-1, 0, 0, 0, 0]


@pytest.fixture(scope="session")
def maps(workshop: Workshop) -> tvm_ffi.Module:
    return tvm_ffi.load_module(workshop.build("tensor_maps.cc"))


def typed(name: str) -> int:
    return TYPES.index(name)


# What is asked for is what the driver gets


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
    ("dtype", "expected"),
    [
        ("int8", "uint8"),
        ("uint8", "uint8"),
        ("bool", "uint8"),
        ("float8_e4m3fn", "uint8"),
        ("float8_e8m0fnu", "uint8"),
        ("int16", "uint16"),
        ("uint16", "uint16"),
        ("int32", "int32"),
        ("uint32", "uint32"),
        ("int64", "int64"),
        ("uint64", "uint64"),
        ("float16", "float16"),
        ("bfloat16", "bfloat16"),
        ("float32", "float32"),
        ("float64", "float64"),
    ],
)
def test_the_data_type_is_the_tensors(maps, driver_stub, dtype, expected):
    x = cuda_array(driver_stub, (2, 128), dtype)
    made = EncodedMap.of(bytes(maps.tiled(x, [2, 16], MODES, [])))
    assert TYPES[made.type] == expected
    assert made.dims == (128, 2)


@pytest.mark.parametrize(
    ("dtype", "width", "data_type", "expected"),
    [
        ("float32", 64, "tfloat32", 64),
        ("float32", 64, "uint32", 64),
        ("bfloat16", 64, "uint16", 64),
        ((17, 4, 2), 64, None, 128),
        ((17, 4, 2), 64, "16u4_align16b", 128),
        ((17, 4, 2), 64, "uint8", 64),
        ("uint8", 64, "16u4_align8b", 128),
        ("uint8", 96, "16u6_align16b", 128),
        ("float8_e4m3fn", 192, "16u6_align16b", 256),
    ],
)
def test_another_data_type_counts_its_own_elements(
    maps, driver_stub, dtype, width, data_type, expected
):
    x = cuda_array(driver_stub, (2, width), dtype)
    number = -1 if data_type is None else typed(data_type)
    made = EncodedMap.of(bytes(maps.tiled(x, [2, 128], [number, 0, 0, 0, 0], [])))
    assert made.dims == (expected, 2)
    assert made.strides == (width * x.dtype[1] * x.dtype[2] // 8,)
    assert TYPES[made.type] == (data_type or "16u4_align8b")


def test_a_dimension_of_one_element_may_have_any_stride(maps, driver_stub):
    x = cuda_array(driver_stub, (1, 1, 64), strides=(3, 5, 1))
    assert EncodedMap.of(bytes(maps.tiled(x, [1, 1, 64], MODES, []))).strides == (16, 16)
    column = cuda_array(driver_stub, (64, 1), strides=(4, 9))
    assert EncodedMap.of(bytes(maps.tiled(column, [8, 4], MODES, []))).strides == (16,)


def test_a_map_is_an_argument_of_a_kernel(maps, driver_stub):
    x = cuda_array(driver_stub, (16, 128), "bfloat16", device=1)
    maps.launch(x)
    for launch in driver_stub.launches():
        assert EncodedMap.of(launch.params[0]).address == x.data_ptr
        assert launch.params[1] == b"\x07\x00\x00\x00"
    assert len(driver_stub.launches()) == 2
    assert driver_stub.calls("cuTensorMapEncodeTiled")[0].device == 1


# What the driver does not take


TILED = [
    ({"shape": (), "strides": (), "box": ()}, "the rank is 0, the driver takes 1 to 5"),
    (
        {"shape": (1,) * 6, "strides": (16,) * 5, "box": (1,) * 6},
        "the rank is 6, the driver takes 1 to 5",
    ),
    ({"interleave": 1}, "the rank is 2, the driver takes 3 to 5 with an interleave"),
    ({"box": (1, 2, 3)}, "the rank is 2, box_dim is for rank 3"),
    ({"steps": (1, 1, 1)}, "element_strides has 3 dimensions, wanted 2"),
    ({"address": (1 << 20) + 8}, "lies at 0x100008, wanted an address that is a multiple of 16"),
    (
        {"type": typed("16u6_align16b"), "address": 16, "box": (1, 128)},
        "lies at 0x10, wanted an address that is a multiple of 32",
    ),
    ({"shape": (0, 128)}, "shape[0] is 0, the driver takes 1 to 4294967296"),
    ({"shape": (2**32 + 1, 128)}, "shape[0] is 4294967297, the driver takes 1 to 4294967296"),
    (
        {"type": typed("16u4_align16b"), "shape": (64, 64), "box": (1, 128)},
        "shape[1] is 64, data type 16u4_align16b takes multiples of 128",
    ),
    (
        {"type": typed("16u4_align8b"), "shape": (64, 127)},
        "shape[1] is 127, data type 16u4_align8b takes multiples of 2",
    ),
    ({"strides": (520,)}, "stride[0] is 520 bytes, the driver takes multiples of 16"),
    ({"strides": (-512,)}, "stride[0] is -512 bytes, the driver takes multiples of 16 from 0"),
    ({"strides": (2**40,)}, "stride[0] is 1099511627776 bytes, the driver takes multiples of 16"),
    (
        {"type": typed("16u6_align16b"), "strides": (528,), "box": (1, 128)},
        "stride[0] is 528 bytes, the driver takes multiples of 32",
    ),
    ({"box": (0, 32)}, "box_dim[0] is 0, the driver takes 1 to 256"),
    ({"box": (257, 32)}, "box_dim[0] is 257, the driver takes 1 to 256"),
    ({"box": (1, 260)}, "box_dim[1] is 260, the driver takes 1 to 256"),
    (
        {"box": (1, 3)},
        "box_dim[1] is 3 elements of float32, 96 bits, wanted a multiple of 128, 16 bytes",
    ),
    (
        {"box": (1, 64), "swizzle": 3},
        "box_dim[1] is 64 elements of float32, 256 bytes, swizzle '128B' takes at most 128",
    ),
    ({"box": (1, 32), "swizzle": 1}, "128 bytes, swizzle '32B' takes at most 32"),
    ({"box": (1, 32), "swizzle": 2}, "128 bytes, swizzle '64B' takes at most 64"),
    ({"box": (1, 64), "swizzle": 6}, "256 bytes, swizzle '128B_atom_64B' takes at most 128"),
    (
        {"type": typed("16u4_align16b"), "box": (1, 64)},
        "box_dim[1] is 64, data type 16u4_align16b takes 128 alone",
    ),
    ({"steps": (9, 1)}, "element_strides[0] is 9, the driver takes 1 to 8"),
    ({"steps": (0, 1)}, "element_strides[0] is 0, the driver takes 1 to 8"),
    ({"steps": (1, 2)}, "element_strides[1], of the innermost dimension, is 2, wanted 1"),
    (
        {"type": typed("int32"), "fill": 1},
        "oob_fill is 'nan', the data type int32: only floating types have one",
    ),
    (
        {"type": typed("16u4_align16b"), "swizzle": 1, "box": (1, 128)},
        "swizzle is '32B', data type 16u4_align16b takes 'none', '128B' and '128B_atom_32B'",
    ),
]
IMAGE = {"shape": (2, 8, 64), "strides": (8 * 256, 256), "box": (1, 8, 32)}
TILED += [
    (
        {**IMAGE, "interleave": 2, "swizzle": 3},
        "swizzle is '128B', CUDA's documentation allows '32B' alone with interleave '32B'",
    ),
    (
        {**IMAGE, "interleave": 2, "swizzle": 1, "strides": (8 * 256, 272)},
        "stride[1] is 272 bytes, the driver takes multiples of 32",
    ),
    (
        {**IMAGE, "interleave": 2, "swizzle": 1, "address": 16},
        "lies at 0x10, wanted an address that is a multiple of 32",
    ),
    (
        {**IMAGE, "interleave": 1, "type": typed("16u6_align16b")},
        "interleave is '16B', data type 16u6_align16b takes 'none' alone",
    ),
    ({**IMAGE, "interleave": 1, "steps": (1, 1, 9)}, "element_strides[2] is 9, the driver takes"),
    (
        {**IMAGE, "interleave": 1, "box": (1, 8, 3)},
        "box_dim[2] is 3 elements of float32, 96 bits, wanted a multiple of 128, 16 bytes",
    ),
]
IM2COL = [
    ({"shape": (2, 64), "strides": (256,)}, "the rank is 2, the driver takes 3 to 5 for im2col"),
    ({"lower": (0,), "upper": (0,)}, "the rank is 4, the corners are for rank 3"),
    ({"lower": (-129, 0)}, "lower_corner[0] is -129, the driver takes -128 to 127"),
    ({"upper": (0, 128)}, "upper_corner[1] is 128, the driver takes -128 to 127"),
    (
        {"shape": (1, 9, 64), "strides": (9 * 256, 256), "lower": (-32769,), "upper": (0,)},
        "lower_corner[0] is -32769, the driver takes -32768 to 32767",
    ),
    (
        {
            "shape": (1, 9, 9, 9, 64),
            "strides": (9**3 * 256, 9 * 9 * 256, 9 * 256, 256),
            "lower": (0, 0, 0),
            "upper": (0, 0, 16),
        },
        "upper_corner[2] is 16, the driver takes -16 to 15",
    ),
    (
        {"upper": (0, -10)},
        "lower_corner[1] is -1 and upper_corner[1] -10: of the 9 elements of shape[2] no pixel is",
    ),
    ({"channels": 257}, "channels_per_pixel is 257, the driver takes 1 to 256"),
    ({"channels": 2}, "channels_per_pixel is 2 elements of float32, 64 bits, wanted a multiple"),
    ({"channels": 64, "swizzle": 3}, "channels_per_pixel is 64 elements of float32, 256 bytes"),
    ({"pixels": 0}, "pixels_per_column is 0, the driver takes 1 to 1024"),
    ({"pixels": 1025}, "pixels_per_column is 1025, the driver takes 1 to 1024"),
]


@pytest.mark.parametrize(("change", "message"), TILED)
def test_a_tiled_map_that_the_driver_does_not_take(maps, driver_stub, change, message):
    with pytest.raises(ValueError) as caught:
        replace(Tiled(), **change).make(maps)
    assert message in str(caught.value)
    assert not driver_stub.calls("cuTensorMapEncodeTiled")


@pytest.mark.parametrize(("change", "message"), IM2COL)
def test_an_im2col_map_that_the_driver_does_not_take(maps, driver_stub, change, message):
    with pytest.raises(ValueError) as caught:
        replace(Im2col(), **change).make(maps)
    assert message in str(caught.value)
    assert not driver_stub.calls("cuTensorMapEncodeIm2col")


@pytest.mark.parametrize(
    ("shape", "strides", "dtype", "error", "message"),
    [
        ((4, 8), (16, 2), "float32", ValueError, "stride[1], of the innermost dimension, is 2"),
        ((4, 8), (9, 1), (17, 4, 1), ValueError, "stride[0] is 9 elements of 4 bits, no whole"),
        ((4, 8), None, "complex64", TypeError, "no data type for elements of DLPack code 5"),
        ((4, 8), None, (0, 8, 4), TypeError, "of DLPack code 0, 8 bits and 4 lanes: name one"),
        ((4,), None, "float32", ValueError, "the rank is 1, box_dim is for rank 2"),
    ],
)
def test_a_tensor_that_no_map_can_have(maps, driver_stub, shape, strides, dtype, error, message):
    x = cuda_array(driver_stub, shape, dtype, strides=strides)
    with pytest.raises(error) as caught:
        maps.tiled(x, [1, 8], MODES, [])
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("dtype", "data_type", "message"),
    [
        ("float32", "float16", "data type float16 has 16 bits, the tensor's elements have 32"),
        ("float16", "16u4_align8b", "data type 16u4_align8b has 4 bits, the tensor's elements"),
    ],
)
def test_a_data_type_of_another_size_is_refused(maps, driver_stub, dtype, data_type, message):
    x = cuda_array(driver_stub, (4, 64), dtype)
    with pytest.raises(TypeError) as caught:
        maps.tiled(x, [1, 32], [typed(data_type), 0, 0, 0, 0], [])
    assert message in str(caught.value)


PER_MULTIPROCESSOR = "(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)"


@pytest.mark.parametrize(
    ("asked", "fits", "message"),
    [
        (
            Tiled(box=(256, 232)),
            Tiled(box=(256, 228)),
            "one load (box_dim over element_strides) is 237568 bytes, device 0 takes at most "
            "233472, the shared memory of a multiprocessor",
        ),
        (
            Tiled(type=8, box=(256, 256), strides=(1024,)),
            Tiled(type=8, box=(256, 256), strides=(1024,), steps=(3, 1)),
            "is 524288 bytes, device 0 takes at most 233472",
        ),
        (
            Im2col(channels=256, pixels=256),
            Im2col(channels=228, pixels=256),
            "one load (channels_per_pixel * pixels_per_column) is 262144 bytes, device 0 takes",
        ),
    ],
    ids=["tiled", "element_strides", "im2col"],
)
def test_one_load_fits_into_the_shared_memory_of_a_multiprocessor(
    maps, driver_stub, asked, fits, message
):
    with pytest.raises(tc.LaunchLimitError) as caught:
        asked.make(maps)
    assert message in str(caught.value)
    assert PER_MULTIPROCESSOR in str(caught.value)
    assert not driver_stub.calls("cuTensorMapEncodeTiled")
    assert not driver_stub.calls("cuTensorMapEncodeIm2col")
    fits.make(maps)


def test_a_small_load_asks_for_no_limit(maps, driver_stub):
    Tiled(box=(256, 32)).make(maps)
    assert not driver_stub.calls("cuDeviceGetAttribute")


def test_bytes_that_are_no_whole_number_of_six_bit_values_are_refused(maps, driver_stub):
    x = cuda_array(driver_stub, (4, 64), "uint8")
    with pytest.raises(ValueError, match="64 elements of 8 bits, no whole number of 6-bit values"):
        maps.tiled(x, [1, 128], [typed("16u6_align16b"), 0, 0, 0, 0], [])


def test_a_stride_that_no_number_of_bytes_holds(maps, driver_stub):
    x = cuda_array(driver_stub, 64, "float32")
    x.shape, x.strides = (4, 64), (2**60, 1)
    with pytest.raises(ValueError) as caught:
        maps.tiled(x, [1, 8], MODES, [])
    assert (
        "stride[0] is 1152921504606846976 elements of 32 bits, the driver takes 0 to below 2**40"
    ) in str(caught.value)


def test_memory_that_no_kernel_can_reach_has_no_map(maps, driver_stub):
    x = cuda_array(driver_stub, (4, 64), device_type=CPU)
    with pytest.raises(ValueError, match="the tensor is in host memory .* wanted a CUDA device's"):
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


def test_an_address_has_the_tensors_byte_offset_in_it(maps, driver_stub):
    x = cuda_array(driver_stub, (4, 64), byte_offset=48)
    assert EncodedMap.of(bytes(maps.tiled(x, [1, 16], MODES, []))).address == x.data_ptr
    x = cuda_array(driver_stub, (4, 64), byte_offset=8)
    with pytest.raises(ValueError, match="the data lies at 0x.*8, wanted an address"):
        maps.tiled(x, [1, 16], MODES, [])


def test_options_and_memory_agree_on_the_data_type(maps, driver_stub):
    def make(wanted: str | None, has: str) -> EncodedMap:
        modes = [-1 if wanted is None else typed(wanted), 0, 0, 0, 0, typed(has)]
        return EncodedMap.of(bytes(maps.tiled_memory(1 << 20, [64], [0], [16], modes, [])))

    assert make(None, "float32").type == typed("float32")
    assert make("float32", "float32").type == typed("float32")
    with pytest.raises(
        ValueError, match="the options' data type is tfloat32, the memory's float32"
    ):
        make("tfloat32", "float32")


def test_the_limit_of_a_load_is_that_of_the_tensors_device(maps, driver_stub):
    driver_stub.set_devices(90, 120)
    for device in (0, 1):
        x = cuda_array(driver_stub, (256, 128), device=device)
        if device == 0:
            maps.tiled(x, [256, 128], MODES, [])
            continue
        with pytest.raises(tc.LaunchLimitError, match="131072 bytes, device 1 takes at most 10240"):
            maps.tiled(x, [256, 128], MODES, [])


# What the driver refuses all the same


def test_a_refusal_names_the_call_and_the_memory(maps, driver_stub):
    driver_stub.fail("cuTensorMapEncodeTiled", INVALID_VALUE)
    with pytest.raises(tc.LaunchError) as caught:
        replace(Tiled(), swizzle=3, steps=(2, 1)).make(maps)
    text = str(caught.value)
    assert "cuTensorMapEncodeTiled failed: CUDA_ERROR_INVALID_VALUE (1)" in text
    assert (
        "asked for boxes of float32 at 0x100000, shape (64, 128), strides in bytes (512), box_dim "
        "(16, 32), swizzle '128B', interleave 'none'"
    ) in text
    driver_stub.fail("cuTensorMapEncodeIm2col", INVALID_VALUE)
    with pytest.raises(tc.LaunchError) as caught:
        Im2col().make(maps)
    assert "cuTensorMapEncodeIm2col failed" in str(caught.value)
    assert (
        "pixels of float32 at 0x100000, shape (2, 14, 9, 64), strides in bytes (32256, 2304, 256), "
    ) in str(caught.value)


def test_a_refusal_by_an_older_driver_or_device_says_what_is_needed(maps, driver_stub):
    driver_stub.fail("cuTensorMapEncodeTiled", INVALID_VALUE)
    with pytest.raises(tc.LaunchError, match=r"need a device of compute capability 10\.0, and a"):
        replace(Tiled(), swizzle=4).make(maps)
    driver_stub.set_devices(80)
    driver_stub.fail("cuTensorMapEncodeTiled", INVALID_VALUE)
    with pytest.raises(tc.LaunchError, match=r"older than compute capability 9\.0, which tensor"):
        Tiled().make(maps)


# Our verdict is the driver's

SIZES = st.sampled_from([1, 2, 3, 4, 8, 16, 32, 64, 127, 128, 256, 257, 1024])


@st.composite
def asked(draw: st.DrawFn) -> Tiled | Im2col:
    """Mostly what a driver takes, with an odd number here and there."""
    rank = draw(st.integers(1, 5))
    kind = draw(st.sampled_from([Tiled, Tiled, Im2col]) if rank >= 3 else st.just(Tiled))
    type_ = draw(st.sampled_from(range(len(TYPES))))
    inner = draw(st.sampled_from([128, 128, 256, 32, 8, 127]))
    shape = (*(draw(SIZES) for _ in range(rank - 1)), inner)
    strides, step = [], max(32, inner * BITS[type_] // 8)
    for _ in range(rank - 1):
        strides.append(step)
        step *= draw(st.sampled_from([1, 2, 7]))
    if strides and draw(st.integers(0, 7)) == 0:
        odd = draw(st.sampled_from([0, 8, 16, 48, 2**40 - 32, 2**40]))
        strides[draw(st.integers(0, rank - 2))] = odd
    common = {
        "type": type_,
        "address": draw(st.sampled_from([4096, 4096, 4096, 4112, 4104])),
        "shape": shape,
        "strides": tuple(reversed(strides)),
        "steps": draw(st.just(()) | st.tuples(*[st.integers(0, 9)] * (rank - 1), st.just(1))),
        "swizzle": draw(st.integers(0, 6)),
        "interleave": draw(st.sampled_from([0, 0, 0, 1, 1, 2])),
        "promotion": draw(st.integers(0, 3)),
        "fill": draw(st.sampled_from([0, 0, 1])),
    }
    width = draw(st.sampled_from([128, 128, 16, 32, 64, 8, 4, 3, 1, 0, 256, 257]))
    if kind is Tiled:
        box = draw(st.tuples(*[st.integers(0, 257)] * (rank - 1)))
        return Tiled(**common, box=(*box, width))
    corner = st.sampled_from([0, -1, 1, -2, 15, 16, -16, -17, 127, 128, -128, -129, 40000])
    corners = st.tuples(*[corner] * (rank - 2))
    pixels = draw(st.sampled_from([1, 64, 1024, 0, 1025]))
    return Im2col(**common, lower=draw(corners), upper=draw(corners), channels=width, pixels=pixels)


@settings(
    max_examples=600,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(request_=asked())
def test_what_passes_our_checks_is_what_the_driver_takes(maps, driver_stub, request_):
    with driver_stub.unrecorded():
        answer = driver_answer(driver_stub.lib, request_)
        try:
            made = request_.make(maps)
        except ValueError:
            made = None
    assert (made is not None) == (answer == 0 and documented(request_)), request_


@pytest.mark.parametrize("kind", ["tiled", "im2col"])
def test_at_the_limits_our_verdict_is_the_drivers(maps, driver_stub, kind):
    for edge in edges(kind):
        answer = driver_answer(driver_stub.lib, edge)
        try:
            made = edge.make(maps)
        except ValueError:
            made = None
        assert (made is not None) == (answer == 0 and documented(edge)), edge
