"""Launches that carry tensor maps: what kernels get of the tensors that a call is given."""

import ctypes
import shutil

import pytest
from stub.cuda_array import cuda_array
from stub.encoded_map import EncodedMap
from tensor_map_cases import TYPES

import tvmffi_cubin as tc
from tvmffi_cubin import Launch, TensorMap

ENCODE = "cuTensorMapEncodeTiled"
SOURCE = r"""
#include <cuda.h>
#define MAP const __grid_constant__ CUtensorMap
extern "C" __global__ void copy(MAP x, MAP y) {}
extern "C" __global__ void beside(const float* x, MAP map, int n) {}
extern "C" __global__ void convolve(MAP image, int n) {}
extern "C" __global__ void plain(float* x) {}
template <int kRows> __global__ void rows(MAP x) {}
extern "C" __global__ void k(MAP m) {}
"""


def launch(params: str, map_: TensorMap, **fields) -> Launch:
    shape = {"grid": 1, "block": 1, "kernel": "k", "params": params}
    return Launch(**{**shape, **fields}, args={"m": map_})


BOX = {"x": TensorMap(box_dim=(16, 64), swizzle="128B"), "y": TensorMap(box_dim=(16, 64))}
FUNCTIONS = {
    "copy": Launch(grid="ceil_div(x.shape[0], 16)", block=32, args=BOX),
    "beside": Launch(
        grid=1, block=32, args={"map": TensorMap("x", box_dim=("n", 32)), "n": "x.shape[0] // 4"}
    ),
    "raw": Launch(kernel="beside", grid=1, block=32),
    "convolve": Launch(
        grid=1,
        block=32,
        args={
            "image": TensorMap(
                lower_corner=("-n", -1), upper_corner=("n - 2", 1), channels_per_pixel=32,
                pixels_per_column="n * 64", element_strides=(1, 2, 2, 1), l2_promotion="256B",
            )
        },
    ),
    "both": [
        Launch(kernel="plain", grid=1, block=1),
        Launch(kernel="beside", grid="n", block=1, args={"map": TensorMap("t", box_dim=16)}),
    ],
    "rows": Launch(kernel="rows<8>", grid=1, block=1, args={"x": TensorMap(box_dim=(8, 64))}),
    # Of memory that the maps say themselves.
    "view": launch(
        "const float* x, int rows, int columns, int pitch",
        TensorMap("x", box_dim=(8, 32), global_dim=("rows", "columns"), global_strides="pitch * 4"),
    ),
    "compact": launch(
        "void* x, int n, int64_t blocks",
        TensorMap("x", box_dim=(1, 8, 16), global_dim=("n", 8, 64)),
        grid="blocks",
    ),
    "typed": launch(
        "void* x, int n",
        TensorMap("x", box_dim=(8, 128), dtype="16u4_align8b", global_dim=("n", 256)),
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def mod(_own_environment: None) -> tc.Module:
    return tc.load_inline("maps", SOURCE, functions=FUNCTIONS, arch="sm_90")


@pytest.fixture
def array(driver_stub):
    def make(*shape, dtype="float16", **options):
        return cuda_array(driver_stub, shape, dtype, **options)

    return make


def maps(stub) -> list[EncodedMap]:
    """The maps of the last launch."""
    return [EncodedMap.of(data) for data in stub.launches()[-1].params if len(data) == 128]


def test_each_map_is_that_of_the_tensor_in_its_place(mod, driver_stub, array):
    x, y = array(100, 64), array(50, 128, dtype="bfloat16")
    mod.copy(x, y)
    one, two = maps(driver_stub)
    assert (one.address, two.address) == (x.data_ptr, y.data_ptr)
    assert (one.dims, two.dims) == ((64, 100), (128, 50))
    assert (one.strides, two.strides) == ((128,), (256,))
    assert (one.box, one.swizzle, two.swizzle) == ((64, 16), 3, 0)
    assert (TYPES[one.type], TYPES[two.type]) == ("float16", "bfloat16")
    assert driver_stub.launches()[-1].grid == (7, 1, 1)
    # Strides may be any that the driver takes.
    mod.copy(array(8, 64, strides=(72, 1)), array(8, 64, strides=(0, 1)))
    assert [x.strides for x in maps(driver_stub)] == [(144,), (0,)]


def test_a_map_may_be_of_a_tensor_that_the_kernel_takes_too(mod, driver_stub, array):
    x = array(32, 64, dtype="float32")
    mod.beside(x)
    launch = driver_stub.launches()[-1]
    assert launch.params[0] == x.data_ptr.to_bytes(8, "little")
    assert maps(driver_stub)[0].box == (32, 8)


def test_an_im2col_map(mod, driver_stub, array):
    image = array(4, 28, 28, 64, dtype="float32")
    mod.convolve(image, 1)
    (made,) = maps(driver_stub)
    assert (made.mode, made.dims) == (1, (64, 28, 28, 4))
    assert (made.lower, made.upper) == ((-1, -1), (1, -1))
    assert (made.channels, made.pixels, made.promotion) == (32, 64, 3)
    assert made.element_strides == (1, 2, 2, 1)


def test_what_does_not_fit_names_the_map_and_its_tensor(mod, driver_stub, array):
    x = array(2048, 64, dtype="float32")
    driver_stub.fail(ENCODE, 1)
    with pytest.raises(ValueError, match=r"^beside: tensor map map: .*box_dim \[512, 32\]"):
        mod.beside(x)
    driver_stub.fail(ENCODE, 1, nth=2)
    with pytest.raises(ValueError, match=r"^copy: tensor map y: .*float16 at 0x\w+8, shape"):
        mod.copy(array(8, 64), array(8, 64, address_offset=8))
    with pytest.raises(ValueError, match=r"\(x: void\*\): got a tensor .* rank 3 on .*, exp"):
        mod.copy(array(8, 8, 64), array(8, 64))
    with pytest.raises(TypeError, match=r"\(x: void\*\): got None, expected a tensor"):
        mod.copy(None, array(8, 64))
    assert not driver_stub.launches()


def test_a_launch_without_blocks_makes_no_map(mod, driver_stub, array):
    x, empty = array(8, dtype="float32"), array(0, dtype="float32")
    mod.both(x, empty, 0)
    assert [launch.kernel for launch in driver_stub.launches()] == ["plain"]
    assert not driver_stub.calls(ENCODE)
    with pytest.raises(ValueError, match=r"tensor map map: no data"):
        mod.both(x, empty, 1)


@pytest.mark.parametrize("version", [13010, 13020])
@pytest.mark.parametrize(
    ("shape", "strides", "is_large"), [((64, 64), None, False), ((17, 64), (4096, 1), True)]
)
def test_maps_of_little_memory_are_not_marked_as_large(
    tmp_path, driver_stub, version, shape, strides, is_large
):
    # Before CUDA 13.2 the driver marks all of them, and a Blackwell then addresses too much.
    driver_stub.set_driver_version(version)
    so = tc.build_inline("maps", SOURCE, functions={"rows": FUNCTIONS["rows"]}, arch="sm_90")
    fresh = shutil.copy(so, tmp_path / "fresh.so")  # of which none has asked for the version
    data = cuda_array(driver_stub, (1, 1), "float16")
    data.shape, data.strides = shape, strides
    tc.load_module(str(fresh)).rows(data)
    assert maps(driver_stub)[0].is_marked is is_large


def test_a_map_that_the_caller_has_made_goes_as_bytes_or_by_its_address(mod, driver_stub, array):
    x, data = array(8, dtype="float32"), bytes(range(128))
    room = ctypes.create_string_buffer(data, 256)
    for offset in (None, 0, 64, 1):  # kernels get it aligned, wherever it is
        given = data
        if offset is not None:
            room[offset : offset + 128] = data
            given = ctypes.c_void_p(ctypes.addressof(room) + offset)
        mod.raw(x, given, 1)
        assert driver_stub.launches()[-1].params[1] == data
    with pytest.raises(ValueError, match="got 64 bytes, expected 128"):
        mod.raw(x, data[:64], 1)
    # One in device memory is refused before the driver reads it.
    with pytest.raises(TypeError, match=rf"the address 0x{x.data_ptr:x}, expected bytes of a CU"):
        mod.raw(x, ctypes.c_void_p(x.data_ptr), 1)


# Tensor maps that say themselves what the memory is: `TensorMap(global_dim=...)`


def test_a_flat_tensor_is_read_as_a_matrix(mod, driver_stub, array):
    x = array(4096, dtype="float32")
    mod.view(x, 30, 100, 128)
    (map_,) = maps(driver_stub)
    assert (map_.address, TYPES[map_.type]) == (x.data_ptr, "float32")
    assert (map_.dims, map_.strides, map_.box) == ((100, 30), (512,), (32, 8))


def test_without_strides_the_memory_has_no_gaps(mod, driver_stub, array):
    for dtype, size in (("float32", 4), ("bfloat16", 2), ("int8", 1)):
        mod.compact(array(4, dtype=dtype), 5, 1)
        (map_,) = maps(driver_stub)
        assert (map_.dims, map_.strides) == ((64, 8, 5), (64 * size, 8 * 64 * size))
    mod.typed(array(16, dtype="float64"), 9)
    (map_,) = maps(driver_stub)
    assert (map_.dims, map_.strides) == ((256, 9), (128,))


def test_what_the_driver_would_refuse_names_the_figure(mod, driver_stub, array):
    driver_stub.fail(ENCODE, 1)
    with pytest.raises(ValueError, match=r"strides in bytes \[132\], box_dim"):
        mod.view(array(16, dtype="float32"), 2, 32, 33)
    with pytest.raises(ValueError, match="typed: tensor map m: no data: the address"):
        mod.typed(None, 1)
    assert not driver_stub.launches(failed=True)
