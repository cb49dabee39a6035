"""The kernels of the GPU tests of tensor maps compile, and take what those tests pass."""

from __future__ import annotations

import re

import pytest
from gpu.tensor_map_kernels import SOURCE, WRAPPER
from stub.cuda_array import cuda_array
from stub.encoded_map import EncodedMap

import tvmffi_cubin as tc
from tvmffi_cubin import Launch, TensorMap

CORNERS = {"channels_per_pixel": 32, "pixels_per_column": 16}


@pytest.mark.parametrize("arch", ["sm_90", "sm_90a"])
def test_they_compile_without_a_warning(arch):
    cubin = tc.nvrtc.compile(SOURCE, arch=arch)
    assert len(cubin.kernels) == 14
    assert not cubin.log.strip()


def test_tensors_stand_in_the_places_of_maps():
    functions = {}
    for rank in range(1, 6):
        box = (*[1] * (rank - 1), 16)
        functions[f"load_{rank}"] = Launch(grid=1, block=1, args={"x": TensorMap(box_dim=box)})
        functions[f"store_{rank}"] = Launch(grid=1, block=1, args={"y": TensorMap(box_dim=box)})
    for rank in range(3, 6):
        corner = (0,) * (rank - 2)
        map_ = TensorMap.im2col(lower_corner=corner, upper_corner=corner, **CORNERS)
        functions[f"pixels_{rank}"] = Launch(grid=1, block=1, args={"x": map_})
    mod = tc.load_inline("gpu_map_kernels", SOURCE, functions=functions, arch="sm_90")
    for rank in range(1, 6):
        ints = ", ".join(f"int c{i}" for i in range(rank))
        assert mod[f"load_{rank}"].signature == (
            f"load_{rank}(void* x, unsigned char* out, int bytes, {ints})"
        )
        assert mod[f"store_{rank}"].signature == (
            f"store_{rank}(void* y, const unsigned char* in, int bytes, {ints})"
        )
    offsets = re.findall(r"unsigned short o\d", mod.pixels_4.signature)
    assert offsets == ["unsigned short o0", "unsigned short o1"]


def test_the_wrapper_makes_its_maps_of_what_it_is_given(driver_stub):
    mod = tc.load_inline(
        "gpu_maps_cpp", kernel_sources=SOURCE, cpp_sources=WRAPPER, functions=["Copy"], arch="sm_90"
    )
    x, y = cuda_array(driver_stub, (64, 96)), cuda_array(driver_stub, (64, 96))
    mod.Copy(x, y)
    (launch,) = driver_stub.launches()
    one, two = (EncodedMap.of(data) for data in launch.params[:2])
    assert (one.address, two.address) == (x.data_ptr, y.data_ptr)
    assert (one.dims, one.box, one.swizzle) == ((96, 64), (32, 32), 3)
    assert (launch.grid, launch.dynamic_smem_bytes) == ((3, 2, 1), 5120)
