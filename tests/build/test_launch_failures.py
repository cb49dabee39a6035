"""The driver's refusals: named, typed, nothing leaked, and the next call works."""

import gc

import pytest
from stub.cuda_array import cuda_array

import tvmffi_cubin as tc

OUT_OF_MEMORY = 2
SOURCE = """
extern "C" __global__ void k(float* y, int n) { extern __shared__ float s[]; y[0] = s[n]; }
extern "C" __global__ void other(float* y) { y[0] = 1; }
"""
FUNCTIONS = {
    "k": tc.Launch(grid="num_sms", block=32, dynamic_smem_bytes=65536),
    "other": tc.Launch(grid=1, block=1),
}


@pytest.fixture(scope="module")
def mod(_own_environment):
    return tc.load_inline("failures", SOURCE, functions=FUNCTIONS, arch="sm_90")


def test_a_repeated_launch_calls_only_what_it_must(mod, driver_stub):
    x = cuda_array(driver_stub, 4)
    with driver_stub.current_device(0):
        mod.other(x)
        before = len(driver_stub.log())
        mod.other(x)
        after = [call.function for call in driver_stub.log()[before:]]
    assert after[:2] == ["cuCtxGetDevice", "cuLaunchKernelEx"]


# The driver itself


def test_no_driver_says_so_and_is_tried_again(driver_stub, monkeypatch):
    mod = tc.load_inline("none", SOURCE, functions=FUNCTIONS, arch="sm_90")
    x = cuda_array(driver_stub, 4)
    with monkeypatch.context() as patch:
        patch.setenv("TVMFFI_CUBIN_DRIVER", "/no/such/libcuda.so")
        with pytest.raises(
            tc.LaunchError, match="other: no CUDA driver: .*libcuda.so: cannot open"
        ):
            mod.other(x)
        with pytest.raises(TypeError, match="got 0 arguments"):
            mod.other()
    mod.other(x)
    assert len(driver_stub.launches()) == 1


def test_an_old_driver_is_said_to_be_one(driver_stub):
    mod = tc.load_inline("aged", SOURCE, functions=FUNCTIONS, arch="sm_90")
    driver_stub.set_driver_version(11080)
    with pytest.raises(tc.LaunchError, match="too old: one of CUDA 12.0 or newer"):
        mod.other(cuda_array(driver_stub, 4))
    driver_stub.set_driver_version(12000)
    mod.other(cuda_array(driver_stub, 4))


def test_a_module_that_is_not_kept_alive_goes_with_its_last_reference(driver_stub):
    mod = tc.load_inline(
        "passing", SOURCE, functions=FUNCTIONS, arch="sm_90", keep_module_alive=False
    )
    path = mod.path
    mod.other(cuda_array(driver_stub, 4))
    function = mod.other
    del mod
    gc.collect()
    assert path in mapped_files()
    function(cuda_array(driver_stub, 4))
    del function
    gc.collect()
    assert path not in mapped_files()
    kept = tc.load_module(path)
    kept.other(cuda_array(driver_stub, 4))
    assert len(driver_stub.launches()) == 3


def mapped_files() -> str:
    with open("/proc/self/maps") as file:
        return file.read()


SHARED = {"grid": "num_sms", "block": 32, "dynamic_smem_bytes": 65536, "args": {"n": 0}}
TWICE = {"f": [tc.Launch(kernel="k", **SHARED), tc.Launch(kernel="k", **SHARED)]}


@pytest.fixture(scope="module")
def twice(_own_environment):
    return tc.load_inline("refused", SOURCE, functions=TWICE, arch="sm_90")


@pytest.fixture
def launch(twice, driver_stub):
    """A call on each of two devices, from nothing loaded on."""
    arrays = [cuda_array(driver_stub, 4, device=device) for device in (0, 1)]

    def launch():
        for array in arrays:
            twice.f(array)

    launch()  # opens the driver, which stays open
    twice.unload()
    return launch


@pytest.mark.parametrize(
    "function",
    [
        "cuDevicePrimaryCtxRetain",
        "cuCtxPushCurrent",
        "cuLibraryLoadData",
        "cuLibraryGetKernel",
        "cuLaunchKernelEx",
    ],
)
def test_a_refused_call_is_named_and_leaves_nothing_behind(function, twice, launch, driver_stub):
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
    twice.unload()
    assert driver_stub.object_counts() == before
