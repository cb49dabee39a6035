"""Tensor maps that say themselves what the memory is: `TensorMap(global_dim=...)`."""

from __future__ import annotations

import pytest
from stub.cuda_array import cuda_array
from stub.encoded_map import EncodedMap
from tensor_map_cases import TYPES

import tvmffi_cubin as tc
from tvmffi_cubin import Launch, TensorMap

SOURCE = """
#include <cuda.h>
extern "C" __global__ void k(const __grid_constant__ CUtensorMap m) {}
"""


def launch(params: str, map_: TensorMap, **fields) -> Launch:
    shape = {"grid": 1, "block": 1, "kernel": "k", "params": params}
    return Launch(**{**shape, **fields}, args={"m": map_})


FUNCTIONS = {
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
    "image": launch(
        "void* x, int h, int w",
        TensorMap(
            "x",
            lower_corner=(-1, "-h"),
            upper_corner=(-3, 0),
            channels_per_pixel=32,
            pixels_per_column=64,
            dtype="float16",
            global_dim=(2, "h", "w", 64),
            global_strides=("h * w * 128 + 16", "w * 128", 128),
        ),
    ),
}


@pytest.fixture(scope="module")
def mod(_own_environment: None) -> tc.Module:
    return tc.load_inline("extents", SOURCE, functions=FUNCTIONS, arch="sm_90")


@pytest.fixture
def array(driver_stub):
    def make(*shape, dtype="float32", **options):
        return cuda_array(driver_stub, shape, dtype, **options)

    return make


def made(stub, position: int = -1) -> EncodedMap:
    return EncodedMap.of(stub.launches()[position].params[0])


def test_a_flat_tensor_is_read_as_a_matrix(mod, driver_stub, array):
    x = array(4096)
    mod.view(x, 30, 100, 128)
    assert made(driver_stub) == EncodedMap(
        mode=0,
        type=TYPES.index("float32"),
        interleave=0,
        swizzle=0,
        promotion=0,
        fill=0,
        address=x.data_ptr,
        is_marked=False,
        dims=(100, 30),
        strides=(512,),
        element_strides=(1, 1),
        box=(32, 8),
    )


def test_without_strides_the_memory_has_no_gaps(mod, driver_stub, array):
    for dtype, size in (("float32", 4), ("bfloat16", 2), ("int8", 1)):
        mod.compact(array(4, dtype=dtype), 5, 1)
        assert made(driver_stub).dims == (64, 8, 5)
        assert made(driver_stub).strides == (64 * size, 8 * 64 * size)
    mod.typed(array(16, dtype="float64"), 9)
    assert (made(driver_stub).dims, made(driver_stub).strides) == ((256, 9), (128,))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m, x: m.view(x, 0, 32, 32), "m of x: cuTensorMapEncodeTiled failed"),
        (lambda m, x: m.view(x, 2, 32, 33), "strides in bytes [132] (wanted 0 to"),
        (lambda m, x: m.typed(None, 1), "typed: tensor map m of x: there is no data: the address"),
    ],
)  # fmt: skip
def test_what_the_driver_would_refuse_names_the_figure(mod, driver_stub, array, call, message):
    for kind in ("Tiled", "Im2col"):
        driver_stub.fail(f"cuTensorMapEncode{kind}", 1)
    with pytest.raises((ValueError, TypeError)) as caught:
        call(mod, array(16))
    assert message in str(caught.value)
    assert not driver_stub.launches(failed=True)
