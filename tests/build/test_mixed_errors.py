"""Launches by `<<<...>>>` that are refused: when and how that is told, and to whom."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import tvm_ffi
from stub.driver_stub import DriverStub

from tvmffi_cubin import LaunchError

INVALID_VALUE, INVALID_CONFIGURATION, INVALID_DEVICE_FUNCTION = 1, 9, 98


class TestRefusedLaunches:
    @pytest.mark.parametrize(
        ("grid", "block", "smem", "message"),
        [
            (1, 129, 0, "the block has 129 threads, the kernel "),
            (1, 1025, 0, "block.x is 1025, device 0 allows 1024"),
            (-1, 1, 0, "grid.x is 4294967295"),
            (1 << 40, 1, 0, "grid.x is 4294967295"),
            (1, 1, 1 << 30, "dynamic_smem_bytes is 1073741824"),
            (1, 1, -8, "dynamic_smem_bytes is -8,"),
            (0, 1, 0, "CUDA_ERROR_INVALID_VALUE"),
        ],
    )
    def test_are_exceptions_of_the_exported_function(
        self, grid, block, smem, message, mixed: tvm_ffi.Module, driver_stub: DriverStub
    ) -> None:
        with pytest.raises(LaunchError) as caught:
            mixed.bad(grid, block, smem)
        text = str(caught.value)
        assert re.match(r".*mixed_launches\.cc:\d+: launch of shared\(float\*\): ", text)
        assert message in text
        assert driver_stub.launches() == []

    def test_name_the_launch_s_own_line(self, mixed: tvm_ffi.Module) -> None:
        with pytest.raises(LaunchError) as caught:
            mixed.bad(0, 1, 0)
        file, line = str(caught.value).split(":")[:2]
        lines = Path(file).read_text().splitlines()
        assert "(KernelLaunch(grid, block, bytes)" in lines[int(line) - 1]

    def test_are_the_limits_own_error_where_they_go_over_one(self, mixed: tvm_ffi.Module) -> None:
        with pytest.raises(LaunchError) as caught:
            mixed.bad(1, 2000, 0)
        assert type(caught.value).__name__ == "LaunchLimitError"

    def test_leave_nothing_behind(self, mixed: tvm_ffi.Module, driver_stub: DriverStub) -> None:
        with pytest.raises(LaunchError):
            mixed.bad(0, 1, 0)
        assert mixed.last_error() == 0
        assert mixed.bad(1, 1, 0) == 17
        assert len(driver_stub.launches()) == 1

    def test_are_no_exception_where_the_error_was_taken(self, mixed: tvm_ffi.Module) -> None:
        assert mixed.taken(0) == INVALID_CONFIGURATION * 1010
        assert mixed.taken(1) == 0

    def test_give_way_to_the_function_s_own_exception(self, mixed: tvm_ffi.Module) -> None:
        with pytest.raises(ValueError, match="the function's own"):
            mixed.own_exception(0)
        assert mixed.last_error() == 0

    def test_within_a_call_of_another_exported_function_are_told_there(
        self, mixed: tvm_ffi.Module
    ) -> None:
        with pytest.raises(LaunchError, match="grid.x is 4294967295"):
            mixed.checked_both(mixed.bad, -1)
        mixed.checked_both(mixed.bad, 1)

    def test_do_not_lose_what_is_returned(
        self, mixed: tvm_ffi.Module, driver_stub: DriverStub
    ) -> None:
        assert list(mixed.makes_array(1)) == [1, 2, 3]
        with pytest.raises(LaunchError):
            mixed.makes_array(0)

    def test_an_earlier_call_s_error_is_none_of_the_next(self, mixed: tvm_ffi.Module) -> None:
        assert mixed.leave_error() == INVALID_VALUE
        assert mixed.taken(1) == 0

    def test_what_the_driver_says_of_the_image_is_told(
        self, mixed: tvm_ffi.Module, driver_stub: DriverStub
    ) -> None:
        driver_stub.set_devices(80)
        with pytest.raises(LaunchError, match="the image is for another arch"):
            mixed.bad(1, 1, 0)
        assert mixed.taken(1) == INVALID_DEVICE_FUNCTION * 1010

    def test_a_kernel_is_looked_for_again_after_a_failure(
        self, mixed: tvm_ffi.Module, driver_stub: DriverStub
    ) -> None:
        driver_stub.fail("cuLibraryLoadData", 2)
        with pytest.raises(LaunchError, match="CUDA_ERROR_OUT_OF_MEMORY"):
            mixed.bad(1, 1, 0)
        assert mixed.bad(1, 1, 0) == 17

    def test_a_parameter_that_is_another_on_each_side_is_named(
        self, mixed: tvm_ffi.Module, driver_stub: DriverStub
    ) -> None:
        with pytest.raises(LaunchError, match="parameter 2 has 8 bytes in host .* 4 in device"):
            mixed.torn_apart()
        assert driver_stub.launches() == []


class TestCallsThatAreNoLaunches:
    def test_what_is_no_kernel_is_named(self, mixed: tvm_ffi.Module) -> None:
        with pytest.raises(LaunchError, match=r"behind <<<...>>> is no kernel"):
            mixed.no_kernel()

    def test_a_kernel_without_a_shape_is_named(
        self, mixed: tvm_ffi.Module, driver_stub: DriverStub
    ) -> None:
        with pytest.raises(LaunchError, match=r"nothing\(\) is a kernel and was called"):
            mixed.unconfigured()
        assert driver_stub.launches() == []
