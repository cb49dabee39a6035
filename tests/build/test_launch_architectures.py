"""Modules for several architectures: each device takes what fits it, or says what there is."""

from __future__ import annotations

import struct

import pytest
from several_architectures import EVERYTHING, SOURCE, as_new_as_nvrtc, launched, load, needs_sm_100a
from stub.cuda_array import cuda_array
from stub.driver_stub import DriverStub

import tvmffi_cubin as tc
from tvmffi_cubin import nvrtc
from tvmffi_cubin.cuda import program
from tvmffi_cubin.errors import LaunchError

INVALID_IMAGE = 200

pytestmark = needs_sm_100a


@pytest.fixture
def driver_stub(driver_stub: DriverStub) -> DriverStub:
    return as_new_as_nvrtc(driver_stub)


# What is launched


def test_each_device_takes_its_own_image(driver_stub):
    mod = load(EVERYTHING)
    driver_stub.set_devices(90, 80, 86, 100, 89, 120, 103)
    for device in range(7):
        mod.add(cuda_array(driver_stub, 4, device=device), device)
    assert launched(driver_stub) == [
        *((0, "sm_90a"), (1, "sm_80"), (2, "sm_80"), (3, "sm_100a"), (4, "sm_80")),
        *((5, "compute_80"), (6, "compute_80")),
    ]
    assert [struct.unpack("<i", launch.params[1])[0] for launch in driver_stub.launches()] == [
        *range(7)
    ]


def test_where_none_fits_the_error_lists_what_is_there(driver_stub):
    mod = load(["sm_80", "sm_100a"], name="none_fits")
    with pytest.raises(LaunchError) as error:
        mod.add(cuda_array(driver_stub, 4), 0)
    assert str(error.value).startswith(
        "add: the image kernels is for sm_80, sm_100a, device 0 is sm_90: compile it for that arch "
        "(cuLaunchKernelEx failed: CUDA_ERROR_NO_BINARY_FOR_GPU (209)"
    )


def test_a_kernel_that_its_device_lacks_says_which_have_it(driver_stub):
    mod = load(EVERYTHING)
    mod.newer(cuda_array(driver_stub, 4))
    with pytest.raises(LaunchError) as error:
        mod.older(cuda_array(driver_stub, 4))
    assert str(error.value).startswith(
        "older: kernel older of image kernels on device 0: cuLibraryGetKernel failed: "
        "CUDA_ERROR_NOT_FOUND (500)"
    )
    assert "The image has it for sm_80, compute_80 alone, by a cond" in str(error.value)


# Drivers that are too old


def test_ptx_that_is_too_new_for_the_driver_names_both_versions(driver_stub):
    mod = load("compute_90")
    made_by = ".".join(map(str, nvrtc.version()))
    driver_stub.set_driver_version(12040)
    with pytest.raises(LaunchError) as error:
        mod.add(cuda_array(driver_stub, 4), 0)
    assert f"the image kernels was made by CUDA {made_by}, the driver supports CUDA 12.4: " in str(
        error.value
    )
    assert "UNSUPPORTED_PTX_VERSION (222)" in str(error.value)


@pytest.mark.parametrize("function", ["cuLibraryLoadData", "cuLibraryGetKernel"])
def test_an_image_of_a_newer_cuda_names_the_remedy(function, driver_stub, monkeypatch):
    monkeypatch.setattr(program.Nvrtc, "version", lambda self: (14, 1))
    mod = load("sm_90", name="newer_cuda")
    mod.unload()
    driver_stub.fail(function, INVALID_IMAGE, nth=0)
    driver_stub.set_driver_version(13000)
    with pytest.raises(LaunchError) as error:
        mod.add(cuda_array(driver_stub, 4), 0)
    assert (
        "add: the image kernels was made by CUDA 14.1, the driver supports CUDA 13.0: update the "
        f"driver, or compile a cubin with a CUDA that it supports ({function} failed: "
    ) in str(error.value)


# Wrappers


WRAPPER = r"""
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/function.h>
#include <tvmffi_cubin/tvmffi_cubin.h>

EMBED_CUBIN(kernels);

void Run(tvm::ffi::TensorView x, tvm::ffi::String name) {
  auto kernel = EMBED_CUBIN_GET_KERNEL(kernels, name.c_str());
  void* data = x.data_ptr();
  int n = 5;
  void* args[] = {&data, &n};
  tvmffi_cubin::LaunchConfig config(1, 32);
  tvmffi_cubin::CheckDriver(kernel.Launch(args, config.SetDevice(x.device().device_id)));
}
TVM_FFI_DLL_EXPORT_TYPED_FUNC(run, Run);
"""


def test_a_wrapper_launches_what_fits(driver_stub):
    mod = tc.load_inline("wrapped", [SOURCE, WRAPPER], arch=EVERYTHING)
    mod.run(cuda_array(driver_stub, 4), "add")
    assert launched(driver_stub) == [(0, "sm_90a")]


def test_a_wrappers_image_that_does_not_fit_lists_what_is_there(driver_stub):
    mod = tc.load_inline("wrapped", [SOURCE, WRAPPER], arch=["sm_75", "sm_100a"])
    with pytest.raises(LaunchError, match="the image is for sm_75, sm_100a, device 0 is sm_90: "):
        mod.run(cuda_array(driver_stub, 4), "add")
