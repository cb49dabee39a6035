"""A refusal at every single driver call of launches that carry all that a launch can."""

import ctypes

import pytest
from stub.cuda_array import cuda_array

import tvmffi_cubin as tc

OUT_OF_MEMORY = 2

SOURCE = r"""
#include <cuda.h>
extern "C" __global__ void k(float* x, int n) { extern __shared__ float s[]; x[0] = s[n]; }
extern "C" __global__ void mapped(const __grid_constant__ CUtensorMap map, float* x) {}
extern "C" __global__ void __cluster_dims__(2, 1, 1) paired(float* x) {}
"""
SHARED = {"kernel": "k", "block": 32, "dynamic_smem_bytes": 65536, "args": {"n": 0}}
FUNCTIONS = {
    "clustered": tc.Launch(
        grid=32,
        cluster=16,
        cluster_scheduling_policy="spread",
        programmatic_dependent_launch=True,
        **SHARED,
    ),
    "resident": tc.Launch(grid="max_cooperative_blocks", cooperative=True, **SHARED),
    "several": [
        tc.Launch(kernel="paired", grid="num_sms * 2", block=64),
        tc.Launch(
            kernel="mapped", grid=1, block=32, args={"map": tc.TensorMap("x", box_dim=(4, 8))}
        ),
        tc.Launch(grid=32, cluster=2, cooperative=True, **SHARED),
    ],
}
KERNELS = {"clustered": ["k"], "resident": ["k"], "several": ["paired", "mapped", "k"]}
STEPS = [*KERNELS, "occupancy"]
# Without these nothing is launched; others may only find out whether a limit will be gone over.
NEEDED = {
    "cuCtxPushCurrent",
    "cuDevicePrimaryCtxRetain",
    "cuKernelSetAttribute",
    "cuLaunchKernelEx",
    "cuLibraryGetKernel",
    "cuLibraryLoadData",
    "cuTensorMapEncodeTiled",
}


@pytest.fixture(scope="module")
def mod(_own_environment):
    return tc.load_inline("refused_features", SOURCE, functions=FUNCTIONS, arch="sm_90a")


@pytest.fixture
def steps(mod, driver_stub):
    """What a step does; nothing is loaded."""
    x = cuda_array(driver_stub, (64, 64), device=1)
    found = {name: lambda name=name: getattr(mod, name)(x) for name in KERNELS}
    found["occupancy"] = lambda: mod.clustered.occupancy(cluster=16, device=1)
    for step in found.values():
        step()  # looks up what is looked up once
    mod.unload()
    driver_stub.reset()
    return found


def error_of(step):
    """Return a step's error as text, empty where it succeeds."""
    try:
        step()
    except tc.LaunchError as error:
        return str(error)
    return ""


def capture_mode(driver_stub):
    before = ctypes.c_int(0)
    driver_stub.call("cuThreadExchangeStreamCaptureMode", ctypes.byref(before))
    again = ctypes.c_int(before.value)
    driver_stub.call("cuThreadExchangeStreamCaptureMode", ctypes.byref(again))
    return before.value


@pytest.mark.parametrize("step", STEPS)
def test_each_refusal_is_named_or_does_no_harm_and_leaves_nothing_behind(
    step, mod, steps, driver_stub
):
    steps[step]()
    calls = [call.function for call in driver_stub.log()]
    launched = [launch.kernel for launch in driver_stub.launches()]
    assert launched == KERNELS.get(step, [])
    mod.unload()
    before = driver_stub.object_counts()
    named = set()
    for index, function in enumerate(calls):
        driver_stub.reset()
        driver_stub.fail(function, OUT_OF_MEMORY, nth=calls[: index + 1].count(function))
        error = error_of(steps[step])
        if error:
            named.add(function)
            assert f"{function} failed: CUDA_ERROR_OUT_OF_MEMORY (2)" in error
            assert error.startswith(f"{step}: ")
        else:
            assert [launch.kernel for launch in driver_stub.launches()] == launched, function
        assert driver_stub.object_counts().pushed_contexts == before.pushed_contexts
        assert capture_mode(driver_stub) == 0
        driver_stub.reset()
        steps[step]()
        assert [launch.kernel for launch in driver_stub.launches()] == launched, function
        mod.unload()
        assert driver_stub.object_counts() == before, function
    assert named >= NEEDED & set(calls)
