"""The driver's refusals: named, typed, nothing leaked; launches from many threads."""

import gc
from contextlib import ExitStack
from pathlib import Path

import pytest
from launch_kernels import FIRST_CALLS
from processes import together
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


def test_a_repeated_launch_calls_only_what_it_must(mod, driver_stub, x):
    with driver_stub.current_device(0):
        mod.other(x)
        before = len(driver_stub.log())
        mod.other(x)
        after = [call.function for call in driver_stub.log()[before:]]
    assert after[:2] == ["cuCtxGetDevice", "cuLaunchKernelEx"]


def test_no_driver_or_an_old_one_says_so_and_is_tried_again(driver_stub, x, monkeypatch):
    mod = tc.load_inline("none", SOURCE, functions=FUNCTIONS, arch="sm_90")
    with monkeypatch.context() as patch:
        patch.setenv("TVMFFI_CUBIN_DRIVER", "/no/such/libcuda.so")
        with pytest.raises(tc.LaunchError, match="other: no CUDA driver: .*so: cannot open"):
            mod.other(x)
    driver_stub.set_driver_version(11080)
    with pytest.raises(tc.LaunchError, match="too old: CUDA 12.0 or newer"):
        mod.other(x)
    driver_stub.set_driver_version(12000)
    mod.other(x)
    assert len(driver_stub.launches()) == 1


def test_a_module_that_is_not_kept_alive_goes_with_its_last_reference(driver_stub):
    options = {"arch": "sm_90", "keep_module_alive": False}
    mod = tc.load_inline("passing", SOURCE, functions=FUNCTIONS, **options)
    path, function = mod.path, mod.other
    del mod
    gc.collect()
    assert path in Path("/proc/self/maps").read_text()
    function(cuda_array(driver_stub, 4))
    del function
    gc.collect()
    assert path not in Path("/proc/self/maps").read_text()
    tc.load_module(path).other(cuda_array(driver_stub, 4))
    assert len(driver_stub.launches()) == 2


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


@pytest.mark.parametrize("function", FIRST_CALLS)
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
    launch()
    # Unloading goes on after an error.
    driver_stub.fail("cuLibraryUnload", OUT_OF_MEMORY)
    with pytest.raises(tc.LaunchError, match="cuLibraryUnload failed: CUDA_ERROR_OUT_OF_MEMORY"):
        twice.unload()
    assert driver_stub.object_counts().retained_contexts == before.retained_contexts


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ({"grid": 1, "block": "n"}, "block.x is 8192, but device 0 allows 1024"),
        ({"grid": "n", "block": 32, "cooperative": True}, "the cooperative grid has 8192 blocks"),
        (
            {"grid": "n", "block": 32, "cluster": "n // 128"},
            "the cluster has 64 blocks, but device 0 allows",
        ),
    ],
)
def test_of_several_launches_none_is_made_where_one_goes_over_a_limit(
    driver_stub, x, second, message
):
    launches = [tc.Launch(kernel="other", grid=1, block=1), tc.Launch(kernel="k", **second)]
    mod = tc.load_inline("limits", SOURCE, functions={"f": launches}, arch="sm_90")
    with pytest.raises(tc.LaunchLimitError, match=f"^f: launch 2 of 2: launch of k: {message}"):
        mod.f(x, 8192)
    assert not driver_stub.launches()


ONE = {"k": tc.Launch(grid=1, block=32, dynamic_smem_bytes=65536)}


def test_first_calls_of_many_threads_load_the_image_once(driver_stub):
    mod = tc.load_inline("threads", SOURCE, functions=ONE, arch="sm_90")
    together(16, lambda index: mod.k(cuda_array(driver_stub, 4, device=index % 2), index))
    assert len(driver_stub.calls("cuLibraryLoadData")) == 1
    assert sorted(launch.values("Pi")[1] for launch in driver_stub.launches()) == list(range(16))
    assert [launch.device for launch in driver_stub.launches()].count(1) == 8
    assert driver_stub.object_counts().pushed_contexts == 0


def test_many_threads_over_all_devices_leave_nothing_behind(driver_stub):
    """Each launch arrives once, where it belongs, whoever unloads and preloads meanwhile."""
    threads, rounds, devices = 32, 80, 4
    mod = tc.load_inline("many", SOURCE, functions=ONE, arch="sm_90")
    mod.unload()
    driver_stub.set_devices(*[90] * devices)
    arrays = [cuda_array(driver_stub, 4, device=device) for device in range(devices)]
    before = driver_stub.object_counts()
    expected = {}
    with ExitStack() as stack:
        streams = [
            [stack.enter_context(driver_stub.stream(device)) for device in range(devices)]
            for _ in range(threads)
        ]

        def work(index):
            for turn in range(rounds):
                device, number = (index + turn) % devices, index * rounds + turn
                if index < 2:
                    mod.unload()
                elif index < 4:
                    mod.preload(device)
                else:
                    stream = streams[index][device] if turn % 3 else 0
                    expected[number] = (device, stream)
                    mod.k.on(stream)(arrays[device], number)

        together(threads, work)
        launches = driver_stub.launches()
        assert {x.values("Pi")[1]: (x.device, x.stream) for x in launches} == expected
        assert len(launches) == (threads - 4) * rounds
        mod.unload()
    assert driver_stub.object_counts() == before
