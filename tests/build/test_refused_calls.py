"""A refusal at every driver call: named, nothing left behind, and the next call works."""

import contextlib
import ctypes
from collections import Counter

import pytest
from stub.cuda_array import cuda_array

import tvmffi_cubin as tc

OUT_OF_MEMORY, ILLEGAL_ADDRESS = 2, 700
RELEASED = ("cuLibraryUnload", "cuDevicePrimaryCtxRelease")

SOURCE = """
extern "C" __global__ void k(float* y, int n) { extern __shared__ float s[]; y[0] = s[n]; }
"""
OTHER = 'extern "C" __global__ void other(float* y) { y[0] = 1; }'
SHARED = {"grid": "num_sms", "block": 32, "dynamic_smem_bytes": 65536, "args": {"n": 0}}
FUNCTIONS = {
    "f": [
        tc.Launch(kernel="k", **SHARED),
        tc.Launch(kernel="other", grid=1, block=1, params="float* y"),
    ]
}

# What each step calls; the first test keeps it complete.
CALLS = {
    "launch": (
        "cuCtxGetDevice",
        "cuCtxPopCurrent",
        "cuCtxPushCurrent",
        "cuDeviceGet",
        "cuDeviceGetAttribute",
        "cuDevicePrimaryCtxRetain",
        "cuKernelGetAttribute",
        "cuKernelSetAttribute",
        "cuLaunchKernelEx",
        "cuLibraryGetKernel",
        "cuLibraryLoadData",
        "cuThreadExchangeStreamCaptureMode",
    ),
    "preload": (
        "cuCtxGetDevice",
        "cuCtxPopCurrent",
        "cuCtxPushCurrent",
        "cuDeviceGet",
        "cuDevicePrimaryCtxRetain",
        "cuFuncLoad",
        "cuKernelGetFunction",
        "cuLibraryGetKernel",
        "cuLibraryLoadData",
        "cuThreadExchangeStreamCaptureMode",
    ),
    "unload": (
        "cuDeviceGet",
        "cuDevicePrimaryCtxRelease",
        "cuLibraryUnload",
        "cuThreadExchangeStreamCaptureMode",
    ),
}
# Refused once, these change nothing: a thread whose device is not known gets one, the capture mode
# only matters in a capture, and what a thread had before is given back at a second try.
HARMLESS = ("cuCtxGetDevice", "cuCtxPopCurrent", "cuThreadExchangeStreamCaptureMode")


@pytest.fixture(scope="module")
def mod(_own_environment):
    image = tc.nvrtc.compile(OTHER, arch="sm_90")
    return tc.load_inline(
        "refused", SOURCE, functions=FUNCTIONS, embed_cubin={"second": image}, arch="sm_90"
    )


@pytest.fixture
def steps(mod, driver_stub):
    """What a step does, from nothing loaded on."""
    arrays = [cuda_array(driver_stub, 4, device=device) for device in (0, 1)]

    def launch():
        for array in arrays:
            mod.f(array)

    def preload():
        for device in (0, 1):
            mod.preload(device)

    launch()  # opens the driver, which stays open
    mod.unload()
    return {"launch": launch, "preload": preload, "unload": mod.unload}


def calls_of(step, steps, driver_stub):
    """Return how often a step calls each function where nothing is refused."""
    if step == "unload":
        steps["launch"]()
    driver_stub.reset()
    steps[step]()
    counts = Counter(call.function for call in driver_stub.log())
    counts.pop("cuGetProcAddress", None)
    steps["unload"]()
    return counts


def thread_capture_mode(driver_stub):
    mode = ctypes.c_int(0)
    for _ in range(2):  # there and back
        driver_stub.call("cuThreadExchangeStreamCaptureMode", ctypes.byref(mode))
        before, mode = mode.value, ctypes.c_int(mode.value)
    return before


@pytest.mark.parametrize("step", CALLS)
def test_a_step_makes_these_calls(step, steps, driver_stub):
    calls_of(step, steps, driver_stub)  # what is looked up once is looked up now
    assert tuple(sorted(calls_of(step, steps, driver_stub))) == CALLS[step]


@pytest.mark.parametrize("result", [OUT_OF_MEMORY, ILLEGAL_ADDRESS, 12345])
@pytest.mark.parametrize("which", ["first", "last"])
@pytest.mark.parametrize(
    ("step", "function"), [(step, name) for step, names in CALLS.items() for name in names]
)
def test_a_refused_call_is_named_and_leaves_nothing_behind(
    step, function, which, result, mod, steps, driver_stub
):
    count = calls_of(step, steps, driver_stub)[function]
    before = driver_stub.object_counts()
    if step == "unload":
        steps["launch"]()
    driver_stub.reset()
    driver_stub.fail(function, result, nth=1 if which == "first" else count)
    if function in HARMLESS:
        steps[step]()
    else:
        with pytest.raises(tc.LaunchError) as error:
            steps[step]()
        names = {2: "CUDA_ERROR_OUT_OF_MEMORY (2)", 700: "CUDA_ERROR_ILLEGAL_ADDRESS (700)"}
        text = str(error.value)
        begins = {"launch": "f: launch ", "preload": "preload: kernel ", "unload": "unload: "}
        assert text.startswith(begins[step])
        assert f"{function} failed: {names.get(result, '')}" in text
        assert f"({result})" in text
        assert not isinstance(error.value, ValueError)
    assert driver_stub.object_counts().pushed_contexts == before.pushed_contexts
    assert thread_capture_mode(driver_stub) == 0

    launched = len(driver_stub.launches())
    steps["launch"]()
    assert len(driver_stub.launches()) == launched + 4
    mod.unload()
    assert driver_stub.object_counts() == before


@pytest.mark.parametrize(
    ("step", "function"),
    [(step, name) for step in ("launch", "preload") for name in CALLS[step]],
)
def test_what_was_current_stays_where_a_call_is_refused(step, function, steps, driver_stub):
    with driver_stub.current_device(2) as context:
        driver_stub.fail(function, OUT_OF_MEMORY)
        with contextlib.suppress(tc.LaunchError):
            steps[step]()
        current = ctypes.c_void_p()
        driver_stub.call("cuCtxGetCurrent", ctypes.byref(current))
        assert current.value == context


# Unloading


def test_unloading_frees_all_and_a_later_call_loads_again(mod, steps, driver_stub):
    before = driver_stub.object_counts()
    steps["launch"]()
    loaded = driver_stub.object_counts()
    assert loaded.libraries == before.libraries + 2
    assert loaded.retained_contexts == before.retained_contexts + 2
    mod.unload()
    mod.unload()
    assert driver_stub.object_counts() == before
    steps["launch"]()
    assert driver_stub.object_counts() == loaded
    assert len(driver_stub.calls("cuLibraryLoadData")) >= 2
    mod.unload()
    assert driver_stub.object_counts() == before


def test_unloading_goes_on_after_a_refusal(mod, steps, driver_stub):
    before = driver_stub.object_counts()
    steps["launch"]()
    driver_stub.fail("cuLibraryUnload", OUT_OF_MEMORY)
    expected = r"unload: cuLibraryUnload failed: CUDA_ERROR_OUT_OF_MEMORY \(2\): .* \(the image "
    with pytest.raises(tc.LaunchError, match=expected + r"kernels\)\. The rest is unloaded"):
        mod.unload()
    left = driver_stub.object_counts()
    assert left.libraries == before.libraries + 1
    assert left.retained_contexts == before.retained_contexts
    for name in RELEASED:
        driver_stub.fail(name, OUT_OF_MEMORY, nth=0)
    steps["launch"]()
    with pytest.raises(tc.LaunchError, match=expected + r"kernels\)"):
        mod.unload()
    driver_stub.reset()
    mod.unload()
    assert driver_stub.object_counts() == before


def test_a_context_that_is_not_released_keeps_no_other(mod, steps, driver_stub):
    before = driver_stub.object_counts()
    steps["launch"]()
    driver_stub.fail("cuDevicePrimaryCtxRelease", OUT_OF_MEMORY)
    with pytest.raises(tc.LaunchError, match=r"\(the context of device 0\)\. The rest is unloaded"):
        mod.unload()
    left = driver_stub.object_counts()
    assert left.libraries == before.libraries
    assert left.retained_contexts == before.retained_contexts + 1
    driver_stub.reset()
    mod.unload()
    assert [call.args["device"] for call in driver_stub.calls("cuDevicePrimaryCtxRelease")] == [0]
    assert driver_stub.object_counts() == before


@pytest.mark.parametrize("function", RELEASED)
def test_what_is_dead_already_is_forgotten(function, mod, steps, driver_stub):
    steps["launch"]()
    dead = {"cuLibraryUnload": 400, "cuDevicePrimaryCtxRelease": 201}[function]
    driver_stub.fail(function, dead, nth=0)
    with pytest.raises(tc.LaunchError, match=f"{function} failed: CUDA_ERROR_INVALID_"):
        mod.unload()
    mod.unload()
    driver_stub.reset()
    steps["launch"]()
    mod.unload()


def test_a_module_that_has_launched_nothing_has_nothing_to_unload(driver_stub):
    tc.load_inline("idle", SOURCE, arch="sm_90").unload()
    assert not driver_stub.calls("cuInit", *RELEASED)
