"""A driver call that is refused: it is named, nothing is left behind, and the next call works."""

import pytest
from stub.cuda_array import cuda_array

import tvmffi_cubin as tc

OUT_OF_MEMORY = 2
RELEASED = ("cuLibraryUnload", "cuDevicePrimaryCtxRelease")

SOURCE = """
extern "C" __global__ void k(float* y, int n) { extern __shared__ float s[]; y[0] = s[n]; }
"""
SHARED = {"grid": "num_sms", "block": 32, "dynamic_smem_bytes": 65536, "args": {"n": 0}}
FUNCTIONS = {"f": [tc.Launch(kernel="k", **SHARED), tc.Launch(kernel="k", **SHARED)]}


@pytest.fixture(scope="module")
def mod(_own_environment):
    return tc.load_inline("refused", SOURCE, functions=FUNCTIONS, arch="sm_90")


@pytest.fixture
def launch(mod, driver_stub):
    """A call on each of two devices, from nothing loaded on."""
    arrays = [cuda_array(driver_stub, 4, device=device) for device in (0, 1)]

    def launch():
        for array in arrays:
            mod.f(array)

    launch()  # opens the driver, which stays open
    mod.unload()
    return launch


@pytest.mark.parametrize(
    "function",
    [
        "cuDevicePrimaryCtxRetain",
        "cuCtxPushCurrent",
        "cuLibraryLoadData",
        "cuLibraryGetKernel",
        "cuKernelSetAttribute",
        "cuLaunchKernelEx",
    ],
)
def test_a_refused_call_is_named_and_leaves_nothing_behind(function, mod, launch, driver_stub):
    before = driver_stub.object_counts()
    driver_stub.reset()
    driver_stub.fail(function, OUT_OF_MEMORY)
    expected = rf"f: launch .*{function} failed: CUDA_ERROR_OUT_OF_MEMORY \(2\)"
    with pytest.raises(tc.LaunchError, match=expected) as error:
        launch()
    assert not isinstance(error.value, ValueError)
    assert driver_stub.object_counts().pushed_contexts == before.pushed_contexts
    launched = len(driver_stub.launches())
    launch()
    assert len(driver_stub.launches()) == launched + 4
    mod.unload()
    assert driver_stub.object_counts() == before


# Unloading


def test_unloading_frees_all_and_a_later_call_loads_again(mod, launch, driver_stub):
    before = driver_stub.object_counts()
    launch()
    loaded = driver_stub.object_counts()
    assert loaded.libraries == before.libraries + 1
    assert loaded.retained_contexts == before.retained_contexts + 2
    mod.unload()
    mod.unload()
    assert driver_stub.object_counts() == before
    launch()
    assert driver_stub.object_counts() == loaded
    mod.unload()
    assert driver_stub.object_counts() == before


@pytest.mark.parametrize("function", RELEASED)
def test_unloading_goes_on_after_a_refusal(function, mod, launch, driver_stub):
    before = driver_stub.object_counts()
    launch()
    driver_stub.fail(function, OUT_OF_MEMORY)
    expected = rf"unload: {function} failed: CUDA_ERROR_OUT_OF_MEMORY \(2\): .* The rest is unload"
    with pytest.raises(tc.LaunchError, match=expected):
        mod.unload()
    left = driver_stub.object_counts()
    assert left.libraries + left.retained_contexts == (
        before.libraries + before.retained_contexts + 1
    )
    driver_stub.reset()
    mod.unload()
    assert driver_stub.object_counts() == before
