"""The driver stand-in does what a driver does, and shows tests what was asked of it."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from stub.conformance import ONE, Driver, LaunchAttribute, LaunchConfig, expected_answers
from stub.cuda_array import cuda_copy
from stub.driver_stub import DriverStub, Launch
from stub.images import write_images

TESTS = Path(__file__).parents[1]

INVALID_VALUE, OUT_OF_MEMORY, NOT_INITIALIZED, NO_DEVICE = 1, 2, 3, 100
INVALID_CONTEXT, NO_BINARY, INVALID_HANDLE, NOT_FOUND = 201, 209, 400, 500
TOO_LARGE = 720
MAX_DYNAMIC_SMEM, NON_PORTABLE, CLUSTER, COOPERATIVE = 8, 14, 4, 2


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_images(tmp_path_factory.mktemp("images"))


@pytest.fixture
def driver_stub(fresh_driver_stub: DriverStub) -> DriverStub:
    return fresh_driver_stub


@pytest.fixture
def driver(driver_stub: DriverStub, images: Path) -> Driver:
    made = Driver(str(driver_stub.path), images)
    made.need("cuInit", 0)
    return made


def saxpy_params(driver: Driver, a: float = 2.0, x: int = 0, y: int = 0, n: int = 3) -> object:
    return driver.params(ctypes.c_float(a), ctypes.c_uint64(x), ctypes.c_uint64(y), ctypes.c_int(n))


def test_it_answers_as_an_h200_does(driver_stub: DriverStub, images: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "stub.conformance", str(driver_stub.path), str(images)],
        cwd=TESTS,
        env={**os.environ, "STUB_DEVICES": "90"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == expected_answers()


def test_a_launch_is_recorded_with_its_parameters_and_attributes(
    driver: Driver, driver_stub: DriverStub
) -> None:
    kernel = driver.kernel(driver.library(), "saxpy")
    with driver_stub.current_device(1), driver_stub.stream(1) as stream:
        attributes = [(CLUSTER, (2, 1, 1)), (COOPERATIVE, (1,))]
        result = driver.launch(
            kernel,
            (4, 2, 1),
            (64, 1, 2),
            saxpy_params(driver, 1.5, 0x1000, 0x2000, -7),
            smem=128,
            stream=stream,
            attributes=attributes,
        )
    assert result == 0
    (launch,) = driver_stub.launches()
    assert launch.kernel == "saxpy"
    assert (launch.grid, launch.block, launch.cluster) == ((4, 2, 1), (64, 1, 2), (2, 1, 1))
    assert (launch.dynamic_smem_bytes, launch.stream, launch.device) == (128, stream, 1)
    assert [len(value) for value in launch.params] == [4, 8, 8, 4]
    assert launch.values("fPPi") == (1.5, 0x1000, 0x2000, -7)
    assert sorted(launch.attributes) == [COOPERATIVE, CLUSTER]
    assert launch.thread == threading.get_native_id()


def test_parameters_in_one_buffer_are_read_at_the_images_offsets(
    driver: Driver, driver_stub: DriverStub
) -> None:
    kernel = driver.kernel(driver.library(), "saxpy")
    buffer = ctypes.create_string_buffer(
        bytes.fromhex("0000c03f000000000010000000000000002000000000000005000000"), 28
    )
    size = ctypes.c_size_t(28)
    extra = (ctypes.c_void_p * 5)(1, ctypes.addressof(buffer), 2, ctypes.addressof(size), 0)
    with driver_stub.current_device(0):
        shape = [ctypes.c_uint(1)] * 6
        driver.need("cuLaunchKernel", kernel, *shape, ctypes.c_uint(0), None, None, extra)
    assert driver_stub.launches()[0].values("fPPi") == (1.5, 0x1000, 0x2000, 5)


def test_a_refused_launch_is_recorded_apart(driver: Driver, driver_stub: DriverStub) -> None:
    kernel = driver.kernel(driver.library(), "saxpy")
    with driver_stub.current_device(0):
        assert driver.launch(kernel, (0, 1, 1), ONE, saxpy_params(driver)) == INVALID_VALUE
    assert driver_stub.launches() == []
    (launch,) = driver_stub.launches(failed=True)
    assert (launch.grid, launch.result) == ((0, 1, 1), INVALID_VALUE)


@pytest.mark.parametrize(
    ("file", "results"),
    [
        ("sm_80.cubin", (NO_BINARY, NO_BINARY, 0)),
        ("sm_90.cubin", (0, 0, NO_BINARY)),
        ("sm_90a.cubin", (0, 0, NO_BINARY)),
        ("both.fatbin", (0, 0, 0)),
    ],
)
def test_an_image_runs_on_the_devices_that_it_is_for(
    driver: Driver, driver_stub: DriverStub, file: str, results: tuple[int, ...]
) -> None:
    kernel = driver.kernel(driver.library(file), "saxpy")
    for device, expected in enumerate(results):
        with driver_stub.current_device(device):
            assert driver.launch(kernel, ONE, ONE, saxpy_params(driver)) == expected


def test_an_image_for_an_exact_device_runs_on_no_other(
    driver: Driver, driver_stub: DriverStub
) -> None:
    driver_stub.set_devices(91)
    for file, expected in (("sm_90a.cubin", NO_BINARY), ("sm_90.cubin", 0)):
        kernel = ctypes.c_void_p()
        library = driver.library(file)
        result = driver.lib.cuLibraryGetKernel(ctypes.byref(kernel), library, b"saxpy")
        assert result == expected


def test_a_kernel_follows_the_stream_to_its_device(driver: Driver, driver_stub: DriverStub) -> None:
    kernel = driver.kernel(driver.library(), "saxpy")
    with driver_stub.stream(1) as stream, driver_stub.current_device(0):
        assert driver.launch(kernel, ONE, ONE, saxpy_params(driver), stream=stream) == 0
    (launch,) = driver_stub.launches()
    assert (launch.device, launch.current_device) == (1, 0)


def test_a_function_stays_on_its_device(driver: Driver, driver_stub: DriverStub) -> None:
    kernel = driver.kernel(driver.library(), "saxpy")
    with driver_stub.stream(1) as stream, driver_stub.current_device(0):
        function = driver.handle("cuKernelGetFunction", kernel)
        params = saxpy_params(driver)
        assert driver.launch(function, ONE, ONE, params, stream=stream) == INVALID_HANDLE


def test_an_unknown_stream_is_refused(driver: Driver, driver_stub: DriverStub) -> None:
    kernel = driver.kernel(driver.library(), "saxpy")
    with driver_stub.current_device(0):
        params = saxpy_params(driver)
        assert driver.launch(kernel, ONE, ONE, params, stream=0x1234) == INVALID_HANDLE


def test_a_shared_memory_limit_is_each_devices_own(driver: Driver, driver_stub: DriverStub) -> None:
    kernel = driver.kernel(driver.library(), "plain")
    params = driver.params(ctypes.c_uint64())
    driver.need("cuKernelSetAttribute", MAX_DYNAMIC_SMEM, 100_000, kernel, 0)
    results = []
    for device in (0, 1):
        with driver_stub.current_device(device):
            results.append(driver.launch(kernel, ONE, ONE, params, smem=100_000))
    assert results == [0, INVALID_VALUE]


def test_after_unload_the_kernel_is_gone(driver: Driver, driver_stub: DriverStub) -> None:
    library = driver.library()
    kernel = driver.kernel(library, "saxpy")
    driver.need("cuLibraryUnload", library)
    with driver_stub.current_device(0):
        assert driver.launch(kernel, ONE, ONE, saxpy_params(driver)) == INVALID_HANDLE
    assert driver.lib.cuLibraryUnload(library) == INVALID_HANDLE


def test_an_image_may_be_freed_once_it_is_loaded(driver: Driver) -> None:
    data = ctypes.create_string_buffer((driver.images / "sm_90.cubin").read_bytes())
    library = driver.handle("cuLibraryLoadData", data, None, None, 0, None, None, 0)
    ctypes.memset(data, 0xFF, len(data))
    assert driver.kernel(library, "saxpy").value


def test_a_host_function_does_a_kernels_work(driver: Driver, driver_stub: DriverStub) -> None:
    x = cuda_copy(driver_stub, np.arange(8, dtype=np.float32))
    y = cuda_copy(driver_stub, np.ones(8, dtype=np.float32))

    def saxpy(launch: Launch) -> None:
        a, x_at, y_at, n = launch.values("fPPi")
        assert (x_at, y_at) == (x.data_ptr, y.data_ptr)
        y.numpy[:n] += a * x.numpy[:n]

    driver_stub.set_kernel("saxpy", saxpy)
    kernel = driver.kernel(driver.library(), "saxpy")
    with driver_stub.current_device(0):
        params = saxpy_params(driver, 2.0, x.data_ptr, y.data_ptr, 5)
        assert driver.launch(kernel, ONE, (8, 1, 1), params) == 0
    np.testing.assert_array_equal(y.numpy, [1, 3, 5, 7, 9, 1, 1, 1])


def test_what_a_host_function_raises_is_kept(driver: Driver, driver_stub: DriverStub) -> None:
    driver_stub.set_kernel("saxpy", lambda launch: [][len(launch.params)])
    kernel = driver.kernel(driver.library(), "saxpy")
    with driver_stub.current_device(0):
        assert driver.launch(kernel, ONE, ONE, saxpy_params(driver)) == 0
    assert [type(error) for error in driver_stub.kernel_errors] == [IndexError]
    driver_stub.kernel_errors.clear()


def test_object_counts_return_to_zero(driver: Driver, driver_stub: DriverStub) -> None:
    library = driver.library()
    with driver_stub.current_device(0), driver_stub.stream(1):
        memory = driver.memory()
        counts = driver_stub.object_counts()
        assert (counts.libraries, counts.streams, counts.allocations) == (1, 1, 1)
        assert (counts.retained_contexts, counts.pushed_contexts) == (2, 1)
        driver.need("cuMemFree_v2", memory)
    driver.need("cuLibraryUnload", library)
    assert set(vars(driver_stub.object_counts()).values()) == {0}


def test_threads_do_not_lose_records(driver: Driver, driver_stub: DriverStub) -> None:
    kernel = driver.kernel(driver.library(), "saxpy")

    def work(number: int) -> None:
        with driver_stub.current_device(0):
            for i in range(100):
                driver.launch(kernel, ONE, ONE, saxpy_params(driver, number, i))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    launches = [launch.values("fPPi")[:2] for launch in driver_stub.launches()]
    assert sorted(launches) == [(number, i) for number in range(4) for i in range(100)]


def test_reset_keeps_what_launchers_hold(driver: Driver, driver_stub: DriverStub) -> None:
    kernel = driver.kernel(driver.library(), "saxpy")
    context = driver.handle("cuDevicePrimaryCtxRetain", 0)
    driver_stub.reset()
    driver.need("cuCtxPushCurrent_v2", context)
    assert driver.launch(kernel, ONE, ONE, saxpy_params(driver)) == 0


def test_clusters_fit_as_the_kernel_allows(driver: Driver, driver_stub: DriverStub) -> None:
    kernel, count = driver.kernel(driver.library(), "plain"), ctypes.c_int()
    size = driver.lib.cuOccupancyMaxPotentialClusterSize
    active = driver.lib.cuOccupancyMaxActiveClusters
    config = LaunchConfig((ctypes.c_uint * 3)(1, 1, 1), (ctypes.c_uint * 3)(1024, 1, 1))
    with driver_stub.current_device(0):
        for allowed, most in ((0, 8), (1, 16)):
            driver.need("cuKernelSetAttribute", NON_PORTABLE, allowed, kernel, 0)
            assert size(ctypes.byref(count), kernel, ctypes.byref(config)) == 0
            assert count.value == most
        assert active(ctypes.byref(count), kernel, ctypes.byref(config)) == 0
        assert count.value == 0
        asked = LaunchAttribute(CLUSTER, b"", (ctypes.c_uint * 16)(1, 1, 1))
        config.attributes, config.count = ctypes.pointer(asked), 1
        assert active(ctypes.byref(count), kernel, ctypes.byref(config)) == 0
        assert count.value == 2 * 132


@pytest.mark.parametrize(("blocks", "result"), [(256, 0), (272, TOO_LARGE)])
def test_a_cooperative_grid_of_clusters_fits_whole_clusters(
    driver: Driver, driver_stub: DriverStub, blocks: int, result: int
) -> None:
    kernel = driver.kernel(driver.library(), "plain")
    attributes = [(COOPERATIVE, (1,)), (CLUSTER, (16, 1, 1))]
    driver.need("cuKernelSetAttribute", NON_PORTABLE, 1, kernel, 0)
    with driver_stub.current_device(0):
        params = driver.params(driver.memory())
        shape = ((blocks, 1, 1), (1024, 1, 1))
        assert driver.launch(kernel, *shape, params, attributes=attributes) == result
