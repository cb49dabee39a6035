"""The driver from Python: what it answers, and what is said where it cannot."""

import pytest

from tvmffi_cubin.cuda import driver
from tvmffi_cubin.errors import ToolchainError


def test_the_variable_names_the_driver_and_without_one_who_needs_it_is_told(
    monkeypatch, driver_stub, tmp_path
):
    assert driver.load().name == str(driver_stub.path)
    monkeypatch.setenv("TVMFFI_CUBIN_DRIVER", str(tmp_path / "libnone.so"))
    assert (driver.version(), driver.device_count()) == (None, 0)
    with pytest.raises(ToolchainError, match=r"libnone\.so.*NVIDIA's driver"):
        driver.load()
    monkeypatch.setenv("TVMFFI_CUBIN_DRIVER", str(driver_stub.path))
    driver_stub.set_driver_version(12040)
    assert driver.version() == 12040
    assert not driver_stub.calls("cuInit")


def test_devices_are_counted_and_described_without_a_context(driver_stub):
    driver_stub.set_devices(90, 80, 120)
    found = driver.load()
    assert driver.device_count() == 3
    assert [found.device_arch(i) for i in range(3)] == ["sm_90", "sm_80", "sm_120"]
    assert found.device_name(0)
    assert found.current_device() == 0
    assert not driver_stub.calls("cuCtxCreate", "cuDevicePrimaryCtxRetain", "cuCtxSetCurrent")
    with driver_stub.current_device(1):
        assert found.current_device() == 1
    with pytest.raises(ToolchainError, match="cuDeviceGet .*INVALID"):
        found.device_arch(3)
