"""Wrappers of this package's headers and of raw calls: they link, load by themselves, launch."""

import os

import pytest
from launch_kernels import FIRST_CALLS
from processes import in_new_process, run
from stub.cuda_array import cuda_array
from wrapper_workshop import Workshop

import tvmffi_cubin as tc
from tvmffi_cubin import LaunchError

KERNEL = """
extern "C" __global__ void k(float* x) { extern __shared__ float s[]; x[0] = s[0]; }
"""
WRAPPER = """
#include <tvm/ffi/container/tensor.h>
#include <tvmffi_cubin/tvmffi_cubin.h>
EMBED_CUBIN(kernels);
void own(tvm::ffi::TensorView x, int device) {
  static auto kernel = EMBED_CUBIN_GET_KERNEL(kernels, "k");
  void* data = x.data_ptr();
  void* args[] = {&data};
  tvmffi_cubin::LaunchConfig config(1, 1);
  tvmffi_cubin::CheckDriver(kernel.Launch(args, config.SetDevice(device)));
}
// Loads and unloads with every call.
void fresh(tvm::ffi::TensorView x, int device) {
  const tvmffi_cubin::CubinModule module(EMBEDDED_CUBIN_DATA(kernels));
  tvmffi_cubin::CubinKernel kernel = module["k"];
  void* data = x.data_ptr();
  void* args[] = {&data};
  tvmffi_cubin::LaunchConfig config(1, 1);
  config.SetDynamicSmemBytes(100000).SetDevice(device);
  tvmffi_cubin::CheckDriver(kernel.Launch(args, config));
}
"""
FUNCTIONS = {"k": tc.Launch(grid=1, block=1), "own": "", "fresh": ""}


@pytest.fixture(scope="module")
def mod(_own_environment):
    return tc.load_inline("unload_mixed", [KERNEL, WRAPPER], functions=FUNCTIONS, arch="sm_90")


def test_what_generated_functions_hold_goes_and_the_wrapper_keeps_its_image(mod, driver_stub):
    x, y = cuda_array(driver_stub, 4), cuda_array(driver_stub, 4, device=1)
    mod.own(y, 1)
    mod.unload()
    before = driver_stub.object_counts()
    for _ in range(2):
        mod.own(y, 1)
        assert driver_stub.object_counts().libraries == before.libraries
        mod.k(x)
        assert driver_stub.object_counts().libraries == before.libraries + 1
        mod.unload()
        assert driver_stub.object_counts() == before
    assert [launch.device for launch in driver_stub.launches()] == [1, 1, 0, 1, 0]


@pytest.mark.parametrize("function", FIRST_CALLS)
def test_a_refused_call_of_a_wrapper_is_named_and_leaves_nothing_behind(function, mod, driver_stub):
    x = cuda_array(driver_stub, 4)
    mod.fresh(x, 0)
    mod.unload()
    before = driver_stub.object_counts()
    driver_stub.reset()
    driver_stub.fail(function, 2)
    with pytest.raises(tc.LaunchError, match=f"{function} failed: CUDA_ERROR_OUT_OF_MEMORY"):
        mod.fresh(x, 0)
    after = driver_stub.object_counts()
    assert (after.libraries, after.pushed_contexts) == (before.libraries, before.pushed_contexts)
    mod.fresh(x, 0)
    mod.unload()
    assert driver_stub.object_counts() == before


class TestOwnWrapper:
    def test_launches_on_the_chosen_device(self, own, driver_stub):
        x, y = (cuda_array(driver_stub, 300, device=1) for _ in range(2))
        own.add_one_on(x, y, 0, 1)
        (launch,) = driver_stub.launches()
        assert (launch.device, launch.grid, launch.block) == (1, (3, 1, 1), (128, 1, 1))
        assert launch.values("PPq") == (x.data_ptr, y.data_ptr, 300)
        assert driver_stub.object_counts().pushed_contexts == 0

    def test_opts_into_large_shared_memory_once_a_device(self, own, driver_stub):
        y = cuda_array(driver_stub, 1)
        for smem in (100 * 1024, 150 * 1024, 1024):
            own.shared(y, smem)
        assert [one.dynamic_smem_bytes for one in driver_stub.launches()] == [102400, 153600, 1024]
        assert driver_stub.launches()[0].grid == (1, 2, 3)
        sets = [call.args["attribute"] for call in driver_stub.calls("cuKernelSetAttribute")]
        assert sorted(sets) == [8, 14], "shared memory and clusters, once"

    def test_a_kernel_keeps_its_image_loaded(self, own, driver_stub, workshop):
        before = driver_stub.object_counts().libraries
        own.outlives(workshop.image, cuda_array(driver_stub, 1))
        assert len(driver_stub.launches()) == 1
        assert driver_stub.object_counts().libraries == before + 1
        own.release()
        assert driver_stub.object_counts().libraries == before

    def test_an_image_is_judged_when_it_is_first_used(self, own, driver_stub):
        with pytest.raises(LaunchError, match="is damaged, or not a cubin, fatbin or PTX"):
            own.bad_image()
        with pytest.raises(LaunchError, match="the CubinModule has no image"):
            own.empty()


class TestRawCalls:
    def test_calls_reach_the_driver_with_every_argument(self, raw, driver_stub, workshop):
        assert (raw.unknown_to_stub(), raw.one_call(), raw.runtime_calls()) == (500, 201, 0)
        assert raw.driver_error_text(1).startswith("CUDA_ERROR_INVALID_VALUE: invalid argument")
        assert raw.driver_calls(workshop.image, 0x1234) == 0
        (launch,) = driver_stub.launches()
        assert (launch.grid, launch.block) == ((2, 3, 4), (5, 6, 7))
        assert (launch.dynamic_smem_bytes, launch.device) == (8, 1)
        assert launch.values("Pi") == (0x1234, 7)

    def test_of_cudas_libraries_the_static_runtime_alone_is_linked(self, workshop, monkeypatch):
        monkeypatch.delenv("TVMFFI_CUBIN_CUDART")
        flags = ["-lcudart", "-lcuda"]
        library = workshop.build("raw_calls.cc", name="alone", extra_ldflags=flags)
        dynamic = run("readelf", "-dW", "--dyn-syms", library)
        assert "libcuda" not in dynamic
        assert not [row for row in dynamic.splitlines() if " cu" in row or "tvmffi_cubin" in row]


# A process of its own: the driver is opened once.
NO_DRIVER = """
import sys, tvm_ffi, tvmffi_cubin.module
guide, own, raw = map(tvm_ffi.load_module, sys.argv[1:])
def told(call, *args):
    try:
        call(*args)
    except tvmffi_cubin.LaunchError as error:
        return str(error)
print(told(own.bad_image))
print(told(guide.missing))
print(raw.one_call())
print(raw.driver_error_text(1))
"""


def test_wrappers_load_without_a_driver_and_every_call_says_so(workshop: Workshop) -> None:
    built = map(workshop.build, ("guide_wrapper.cc", "own_wrapper.cc", "raw_calls.cc"))
    environment = {**os.environ, "TVMFFI_CUBIN_DRIVER": "/nonexistent/libcuda.so.1"}
    told = in_new_process(NO_DRIVER, *built, env=environment)
    own_error, guide_error, code, driver_text = told.splitlines()
    for text in (own_error, guide_error, driver_text):
        assert "no CUDA driver: /nonexistent/libcuda.so.1" in text
    assert code == "100"
