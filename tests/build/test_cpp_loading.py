"""C++ functions that load by themselves: beside unloading, and where a driver call is refused."""

import pytest
from stub.cuda_array import cuda_array

import tvmffi_cubin as tc

KERNEL = """
extern "C" __global__ void k(float* x) { extern __shared__ float s[]; x[0] = s[0]; }
"""
WRAPPER = """
#include <cuda_runtime.h>
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
void set_device(int device) {
  TVM_FFI_ICHECK(cudaSetDevice(device) == cudaSuccess);
}
int synchronize() { return cudaDeviceSynchronize(); }
"""
FUNCTIONS = {
    "k": tc.Launch(grid=1, block=1),
    "own": "Launches in C++.",
    "fresh": "",
    "set_device": "",
    "synchronize": "",
}


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


def test_an_image_that_the_driver_reads_late_is_told_to_be_none(mod, driver_stub):
    driver_stub.fail("cuLibraryGetKernel", 200)  # under lazy loading it takes anything first
    with pytest.raises(tc.LaunchError, match="the image is neither a cubin, a fatbin nor PTX"):
        mod.fresh(cuda_array(driver_stub, 4), 0)


# What a first launch in C++ calls that can be refused.
CALLS = (
    "cuCtxPushCurrent",
    "cuDevicePrimaryCtxRetain",
    "cuLaunchKernelEx",
    "cuLibraryGetKernel",
    "cuLibraryLoadData",
)


@pytest.mark.parametrize("function", CALLS)
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
    launched = len(driver_stub.launches())
    mod.fresh(x, 0)
    assert len(driver_stub.launches()) == launched + 1
    mod.unload()
    assert driver_stub.object_counts() == before
