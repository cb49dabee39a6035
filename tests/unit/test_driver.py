"""The driver from Python: what it answers, and what is said where it cannot."""

import pytest

from tvmffi_cubin.cuda import driver
from tvmffi_cubin.errors import ToolchainError


def test_without_a_driver_who_needs_one_is_told(monkeypatch, tmp_path):
    monkeypatch.setenv("TVMFFI_CUBIN_DRIVER", str(tmp_path / "libnone.so"))
    assert driver.version() is None
    assert driver.device_count() == 0
    with pytest.raises(ToolchainError, match=r"libnone\.so.*NVIDIA's driver"):
        driver.load()


def test_another_value_of_the_variable_opens_another_library(monkeypatch, driver_stub, tmp_path):
    assert driver.load().name == str(driver_stub.path)
    monkeypatch.setenv("TVMFFI_CUBIN_DRIVER", str(tmp_path / "libnone.so"))
    assert driver.version() is None
    monkeypatch.setenv("TVMFFI_CUBIN_DRIVER", str(driver_stub.path))
    assert driver.version() is not None


def test_the_version_needs_no_initialisation(driver_stub):
    driver_stub.set_driver_version(12040)
    assert driver.version() == 12040
    assert not driver_stub.calls("cuInit")


def test_devices_are_counted_and_described_without_a_context(driver_stub):
    driver_stub.set_devices(90, 80, 120)
    found = driver.load()
    assert found.device_count() == 3
    assert [found.device_arch(i) for i in range(3)] == ["sm_90", "sm_80", "sm_120"]
    assert found.device_name(0)
    assert not driver_stub.calls("cuCtxCreate", "cuDevicePrimaryCtxRetain", "cuCtxSetCurrent")


def test_the_current_device_is_the_contexts_and_0_without_one(driver_stub):
    assert driver.load().current_device() == 0
    with driver_stub.current_device(1):
        assert driver.load().current_device() == 1


@pytest.mark.parametrize("ordinal", [-1, 3])
def test_a_device_that_is_not_there_is_a_value_error(driver_stub, ordinal):
    with pytest.raises(ValueError, match=rf"no CUDA device {ordinal}: the driver shows 3"):
        driver.load().device_arch(ordinal)


def test_a_driver_that_cannot_start_shows_no_device_and_says_why(driver_stub):
    driver_stub.fail("cuInit", 100)
    assert driver.device_count() == 0
    driver_stub.fail("cuInit", 100)
    with pytest.raises(ToolchainError, match=r"cuInit .*CUDA_ERROR_NO_DEVICE.*100"):
        driver.load().current_device()
    driver_stub.fail("cuInit", 3)
    with pytest.raises(ToolchainError, match="forked from one that had already used CUDA"):
        driver.load().current_device()
