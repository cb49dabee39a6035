"""The driver from Python: what it answers, and what is said where it cannot."""

import pytest

from tvmffi_cubin.cuda import driver
from tvmffi_cubin.errors import ToolchainError


@pytest.fixture
def no_driver(monkeypatch, tmp_path):
    monkeypatch.setenv("TVMFFI_CUBIN_DRIVER", str(tmp_path / "libnone.so"))


@pytest.mark.usefixtures("no_driver")
class TestWithoutADriver:
    def test_questions_with_an_answer_are_answered(self):
        assert driver.open() is None
        assert driver.version() is None
        assert driver.device_count() == 0
        assert "libnone.so" in driver.missing_reason()

    def test_who_needs_one_is_told_what_is_missing(self):
        with pytest.raises(ToolchainError, match=r"libnone\.so.*NVIDIA's driver"):
            driver.require()


def test_a_library_that_is_no_driver_is_named(monkeypatch):
    monkeypatch.setenv("TVMFFI_CUBIN_DRIVER", "libc.so.6")
    with pytest.raises(ToolchainError, match=r"libc\.so\.6 has no function cuDriverGetVersion"):
        driver.version()


def test_another_value_of_the_variable_opens_another_library(monkeypatch, driver_stub, tmp_path):
    assert driver.open() is not None
    monkeypatch.setenv("TVMFFI_CUBIN_DRIVER", str(tmp_path / "libnone.so"))
    assert driver.open() is None
    monkeypatch.setenv("TVMFFI_CUBIN_DRIVER", str(driver_stub.path))
    assert driver.open() is not None
    assert driver.missing_reason() == ""


def test_the_version_needs_no_initialisation(driver_stub):
    driver_stub.set_driver_version(12040)
    assert driver.version() == 12040
    assert not driver_stub.calls("cuInit")


def test_devices_are_counted_and_described(driver_stub):
    driver_stub.set_devices(90, 80, 120)
    assert driver.device_count() == 3
    assert [driver.require().device_arch(i) for i in range(3)] == ["sm_90", "sm_80", "sm_120"]
    assert driver.require().device_name(0)


def test_no_question_makes_a_context(driver_stub):
    driver.require().device_arch(driver.require().current_device())
    driver.require().device_name(0)
    assert not driver_stub.calls("cuCtxCreate", "cuDevicePrimaryCtxRetain", "cuCtxSetCurrent")


def test_the_current_device_is_the_contexts_and_0_without_one(driver_stub):
    assert driver.require().current_device() == 0
    with driver_stub.current_device(1):
        assert driver.require().current_device() == 1
    assert driver.require().current_device() == 0


@pytest.mark.parametrize("ordinal", [-1, 3])
def test_a_device_that_is_not_there_is_a_value_error(driver_stub, ordinal):
    with pytest.raises(ValueError, match=rf"no CUDA device {ordinal}: the driver shows 3"):
        driver.require().device_arch(ordinal)


def test_a_driver_that_cannot_start_shows_no_device_and_says_why(driver_stub):
    driver_stub.fail("cuInit", 100)
    assert driver.device_count() == 0
    driver_stub.fail("cuInit", 100)
    with pytest.raises(ToolchainError, match=r"cuInit .*CUDA_ERROR_NO_DEVICE.*100"):
        driver.require().current_device()
