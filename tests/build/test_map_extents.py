"""Tensor maps that say themselves what the memory is: `TensorMap(global_dim=...)`."""

from __future__ import annotations

import ctypes
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from stub.cuda_array import cuda_array
from stub.encoded_map import EncodedMap
from tensor_map_cases import TYPES, Tiled, driver_answer

import tvmffi_cubin as tc
from tvmffi_cubin import Launch, TensorMap

SOURCE = """
#include <cuda.h>
extern "C" __global__ void k(const __grid_constant__ CUtensorMap m) {}
"""
RANKS = range(1, 6)


def launch(params: str, map_: TensorMap, **fields) -> Launch:
    shape = {"grid": 1, "block": 1, "kernel": "k", "params": params}
    return Launch(**{**shape, **fields}, args={"m": map_})


def ranked(rank: int) -> Launch:
    """Everything of a map of float32 as parameters."""
    dims = [f"d{i}" for i in range(rank)]
    strides = [f"s{i}" for i in range(rank - 1)]
    params = ", ".join(["void* x", *(f"int64_t {name}" for name in (*dims, *strides))])
    box = (1,) * (rank - 1) + (32,)
    return launch(
        params,
        TensorMap("x", box_dim=box, dtype="float32", global_dim=dims, global_strides=strides),
    )


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
    "loose": launch("void* x, int n, int c", TensorMap("x", box_dim=(1, 4), global_dim=("n", "c"))),
    "packed": launch(
        "void* x, int n, int c",
        TensorMap("x", box_dim=(1, 128), dtype="16u4_align8b", global_dim=("n", "c")),
    ),
    "typed": launch(
        "void* x, int n",
        TensorMap("x", box_dim=(8, 128), dtype="16u4_align8b", global_dim=("n", 256)),
    ),
    "image": launch(
        "void* x, int h, int w",
        TensorMap.im2col(
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
    "both": [
        launch("void* x, int n", TensorMap("x", box_dim=16, dtype="uint8", global_dim="n")),
        launch("void* x, int n", TensorMap("x", box_dim=16)),
    ],
    **{f"ranked_{rank}": ranked(rank) for rank in RANKS},
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
        (lambda m, x: m.view(x, 0, 32, 32), "m of x: global_dim[0] is 0, the driver takes 1 to 42"),
        (lambda m, x: m.view(x, 1, -4, 32), "global_dim[1] is -4, the driver takes 1 to 4294967"),
        (lambda m, x: m.view(x, 2, 32, 33), "global_strides[0] is 132, the driver takes mult"),
        (lambda m, x: m.view(x, 2, 32, -4), "global_strides[0] is -16, the driver takes mult"),
        (lambda m, x: m.typed(None, 1), "typed: tensor map m of x: there is no data: the address"),
        (lambda m, x: m.image(x, 0, 9), "global_dim[1] is 0"),
        (lambda m, x: m.image(x, 2, 9), "the pixels between the corners[0] is "),
        (lambda m, x: m.ranked_1(x, 2**32 + 1), "global_dim[0] is 4294967297, the driver takes 1"),
        (lambda m, x: m.ranked_2(x, 4, 8, 2**40), "global_strides[0] is 1099511627776, "),
        (lambda m, x: m.compact(cuda_like(x, "complex64"), 4, 1), "no data type for elements of"),
    ],
)  # fmt: skip
def test_what_the_driver_would_refuse_names_the_figure(mod, driver_stub, array, call, message):
    with pytest.raises((ValueError, TypeError)) as caught:
        call(mod, array(16))
    assert message in str(caught.value)
    assert not driver_stub.launches(failed=True)


def cuda_like(x, dtype):
    x.dtype = {"complex64": (5, 64, 1)}[dtype]
    return x


SIZES = st.one_of(st.integers(1, 4096), st.sampled_from([0, 1, -1, 2**32, 2**32 + 1, 2**62]))
STRIDES = st.one_of(
    st.integers(0, 4096).map(lambda n: 16 * n),
    st.sampled_from([8, -16, 2**40 - 16, 2**40, 2**62]),
)


@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_every_map_is_the_drivers_or_a_value_error(mod, driver_stub, data):
    dims = data.draw(st.lists(SIZES, min_size=1, max_size=5))
    strides = data.draw(st.lists(STRIDES, min_size=len(dims) - 1, max_size=len(dims) - 1))
    address = data.draw(st.sampled_from([1 << 20, 1 << 20 | 16, 1 << 20 | 8]))
    box = (1,) * (len(dims) - 1) + (32,)
    asked = replace(Tiled(), address=address, shape=dims, strides=strides, box=box)
    with driver_stub.unrecorded():
        is_taken = driver_answer(driver_stub.lib, asked) == 0
    driver_stub.reset()
    function = mod[f"ranked_{len(dims)}"]
    if is_taken:
        function(ctypes.c_void_p(address), *dims, *strides)
        assert made(driver_stub).dims == tuple(reversed(dims))
        assert made(driver_stub).strides == tuple(reversed(strides))
        return
    with pytest.raises(ValueError, match=r"tensor map m of x: (global_|the data lies at)"):
        function(ctypes.c_void_p(address), *dims, *strides)
    assert not driver_stub.launches(failed=True)
