"""Unloading a module that has generated functions and C++ functions of its own."""

import pytest
from stub.cuda_array import cuda_array

import tvmffi_cubin as tc

KERNEL = 'extern "C" __global__ void k(float* x) { x[0] = 1; }'
WRAPPER = """
#include <cuda_runtime.h>
#include <tvm/ffi/container/tensor.h>
#include <tvmffi_cubin/tvmffi_cubin.h>
EMBED_CUBIN(kernels);
void own(tvm::ffi::TensorView x, int device) {
  static auto kernel = EMBED_CUBIN_GET_KERNEL(kernels, "k");
  void* data = x.data_ptr();
  void* args[] = {&data};
  tvmffi_cubin::CheckDriver(kernel.Launch(args, tvmffi_cubin::LaunchConfig(1, 1), device));
}
void set_device(int device) {
  TVM_FFI_ICHECK(cudaSetDevice(device) == cudaSuccess);
}
int synchronize() { return cudaDeviceSynchronize(); }
"""
FUNCTIONS = {
    "k": tc.Launch(grid=1, block=1),
    "own": "Launches in C++.",
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


def test_a_context_that_cuda_set_device_gave_a_thread_stays(mod, driver_stub):
    mod.unload()
    before = driver_stub.object_counts()
    mod.set_device(1)
    mod.k(cuda_array(driver_stub, 4))
    mod.unload()
    assert driver_stub.object_counts().retained_contexts == before.retained_contexts + 1
    assert mod.synchronize() == 0
    mod.k(cuda_array(driver_stub, 4, device=1))
    mod.unload()
    assert mod.synchronize() == 0
