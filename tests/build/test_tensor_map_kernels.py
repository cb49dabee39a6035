"""The kernels of the GPU tests of tensor maps compile, and take what those tests pass."""

from __future__ import annotations

import pytest
from gpu.tensor_map_kernels import SOURCE, WRAPPER
from stub.cuda_array import cuda_array
from stub.encoded_map import EncodedMap

import tvmffi_cubin as tc


@pytest.mark.parametrize("arch", ["sm_90", "sm_90a"])
def test_they_compile_without_a_warning(arch):
    cubin = tc.nvrtc.compile(SOURCE, arch=arch)
    assert len(cubin.kernels) == 14
    assert not cubin.log.strip()


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
