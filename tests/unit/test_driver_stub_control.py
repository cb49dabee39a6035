"""The driver stand-in behaves as a test tells it to."""

from __future__ import annotations

import ctypes
import shutil
import threading
from pathlib import Path

import pytest
from stub.driver_stub import DriverError, DriverStub

OUT_OF_MEMORY, NOT_INITIALIZED, NO_DEVICE = 2, 3, 100


@pytest.fixture
def driver_stub(fresh_driver_stub: DriverStub) -> DriverStub:
    if not fresh_driver_stub.lib.cuInit(0):
        fresh_driver_stub.reset()
    return fresh_driver_stub


@pytest.mark.parametrize("nth", [1, 3])
def test_the_nth_next_call_fails_once(driver_stub: DriverStub, nth: int) -> None:
    driver_stub.fail("cuDeviceGetCount", OUT_OF_MEMORY, nth=nth)
    results = [driver_stub.lib.cuDeviceGetCount(ctypes.byref(ctypes.c_int())) for _ in range(4)]
    assert results == [OUT_OF_MEMORY if i == nth else 0 for i in range(1, 5)]


def test_every_call_fails_until_reset(driver_stub: DriverStub) -> None:
    driver_stub.fail("cuDeviceGetCount", OUT_OF_MEMORY, nth=0)
    count = ctypes.c_int()
    results = [driver_stub.lib.cuDeviceGetCount(ctypes.byref(count)) for _ in range(3)]
    driver_stub.reset()
    assert results == [OUT_OF_MEMORY] * 3
    assert driver_stub.lib.cuDeviceGetCount(ctypes.byref(count)) == 0


def test_a_failure_names_its_function_in_the_log(driver_stub: DriverStub) -> None:
    driver_stub.fail("cuMemAlloc", OUT_OF_MEMORY)
    with driver_stub.current_device(1), pytest.raises(DriverError, match=r"cuMemAlloc_v2.*MEMORY"):
        driver_stub.call("cuMemAlloc_v2", ctypes.byref(ctypes.c_uint64()), ctypes.c_size_t(16))
    (call,) = driver_stub.calls("cuMemAlloc")
    assert (call.result, call.device, call.args) == (OUT_OF_MEMORY, 1, {"size": 16})


def test_each_thread_has_its_own_current_device(driver_stub: DriverStub) -> None:
    found: dict[int, int] = {}
    ready = threading.Barrier(3)

    def work(device: int) -> None:
        with driver_stub.current_device(device):
            ready.wait()
            value = ctypes.c_int(-1)
            driver_stub.call("cuCtxGetDevice", ctypes.byref(value))
            found[device] = value.value

    threads = [threading.Thread(target=work, args=(device,)) for device in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {0: 0, 1: 1, 2: 2}


def test_unrecorded_calls_leave_no_trace(driver_stub: DriverStub) -> None:
    driver_stub.reset()
    with driver_stub.unrecorded():
        driver_stub.call("cuInit", 0)
    assert driver_stub.log() == []


def test_an_old_driver_lacks_newer_functions(driver_stub: DriverStub) -> None:
    driver_stub.set_driver_version(11080)
    found, status = ctypes.c_void_p(), ctypes.c_int()
    get = driver_stub.lib.cuGetProcAddress_v2
    args = (ctypes.byref(found), 11080, ctypes.c_uint64(0), ctypes.byref(status))
    assert get(b"cuLibraryLoadData", *args) == 0
    assert (found.value, status.value) == (None, 1)
    assert get(b"cuLaunchKernelEx", *args) == 0
    assert found.value


def test_no_device_is_no_driver_to_speak_of(driver_stub: DriverStub) -> None:
    driver_stub.set_devices()
    assert driver_stub.lib.cuInit(0) == NO_DEVICE


@pytest.mark.parametrize(
    ("visible", "capabilities"),
    [("1,0", [80, 90]), ("", []), ("2", [100]), ("0,7,1", [90]), ("-1", [])],
)
def test_visible_devices_are_picked_as_the_driver_picks_them(
    driver_stub: DriverStub,
    monkeypatch: pytest.MonkeyPatch,
    visible: str,
    capabilities: list[int],
) -> None:
    monkeypatch.setenv("STUB_DEVICES", "90,80,100")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    driver_stub.reset()
    found = []
    if driver_stub.lib.cuInit(0) == 0:
        major, count = ctypes.c_int(), ctypes.c_int()
        driver_stub.call("cuDeviceGetCount", ctypes.byref(count))
        for device in range(count.value):
            driver_stub.call("cuDeviceGetAttribute", ctypes.byref(major), 75, device)
            found.append(major.value * 10)
    assert found == capabilities


def test_an_attribute_can_be_set(driver_stub: DriverStub) -> None:
    driver_stub.set_attribute(1, 16, 7)
    values = []
    for device in (0, 1):
        value = ctypes.c_int()
        driver_stub.call("cuDeviceGetAttribute", ctypes.byref(value), 16, device)
        values.append(value.value)
    assert values == [132, 7]
    with pytest.raises(ValueError, match="no device 9"):
        driver_stub.set_attribute(9, 16, 7)


def test_a_stand_in_of_ones_own_starts_uninitialised(
    driver_stub: DriverStub, tmp_path_factory: pytest.TempPathFactory
) -> None:
    copy = shutil.copy(driver_stub.path, tmp_path_factory.mktemp("copy") / "libstub.so")
    other = DriverStub(Path(copy))
    assert other.lib.cuCtxGetDevice(ctypes.byref(ctypes.c_int())) == NOT_INITIALIZED
    assert driver_stub.calls("cuCtxGetDevice") == []
