"""Runtime calls that take a kernel or a device variable, as the host text of a mixed source has."""

from __future__ import annotations

import pytest
import tvm_ffi
from stub.cuda_array import CudaArray, cuda_array
from stub.driver_stub import DriverStub

INVALID_VALUE, INVALID_PITCH, INVALID_SYMBOL, INVALID_DIRECTION, NO_KERNEL = 1, 12, 13, 21, 98
COOPERATIVE = 2


@pytest.fixture
def x(driver_stub: DriverStub) -> CudaArray:
    return cuda_array(driver_stub, 8)


@pytest.fixture
def host(driver_stub: DriverStub) -> CudaArray:
    return cuda_array(driver_stub, 4)


class TestLaunches:
    @pytest.mark.parametrize("step", [0, 1, 2, 3, 4, 16])
    def test_take_a_kernel_s_address(self, step, mixed, x, driver_stub: DriverStub) -> None:
        with driver_stub.stream() as stream:
            assert mixed.addresses(step, x, stream) == 0
        (launch,) = driver_stub.launches()
        assert (launch.kernel, launch.stream) == ("_Z5scaleIfLi3EEvPT_fi", stream)
        assert (launch.grid, launch.block) == ((2, 1, 1), (64, 1, 1))
        assert launch.values("Pfi") == (x.data_ptr, 2.0, 3)
        assert launch.dynamic_smem_bytes == (100 if step == 0 else 0)
        assert (COOPERATIVE in launch.attributes) == (step == 2)

    def test_may_be_nodes_of_graphs(self, mixed, x, driver_stub: DriverStub) -> None:
        assert mixed.addresses(21, x, 0) == 0
        assert mixed.addresses(22, x, 0) == 0
        calls = [call for call in driver_stub.log() if "KernelNode" in call.function]
        kernels = [call.args["kernel"] for call in calls]
        assert kernels == ["_Z5scaleIfLi3EEvPT_fi", "_Z6sharedPf", "_Z6sharedPf"]
        assert calls[0].args["grid"] == [2, 1, 1]

    @pytest.mark.parametrize("step", [18, 19, 20, 23])
    def test_of_what_is_no_kernel_are_errors(self, step, mixed, x) -> None:
        assert mixed.addresses(step, x, 0) == NO_KERNEL


class TestAttributes:
    def test_the_limit_of_shared_memory_is_raised(self, mixed, x, driver_stub: DriverStub) -> None:
        assert mixed.addresses(5, x, 0) == 0
        (call,) = driver_stub.calls("cuKernelSetAttribute")
        assert call.args["value"] >= 100 * 1024
        assert call.args["device"] == 0

    def test_more_than_there_is_is_refused(self, mixed, x) -> None:
        assert mixed.addresses(6, x, 0) == INVALID_VALUE
        assert mixed.last_error() == 0

    def test_are_told(self, mixed, x) -> None:
        assert mixed.addresses(7, x, 0) == 128

    def test_the_cache_is_a_preference(self, mixed, x) -> None:
        assert mixed.addresses(14, x, 0) == 0

    def test_a_kernel_has_its_symbol_and_handles(self, mixed, x) -> None:
        assert mixed.addresses(15, x, 0) == 1
        assert mixed.addresses(17, x, 0) == 1


class TestOccupancy:
    def test_blocks_of_a_multiprocessor(self, mixed, x) -> None:
        assert mixed.addresses(8, x, 0) == 16

    def test_the_best_block(self, mixed, x) -> None:
        assert mixed.addresses(9, x, 0) == 128
        assert mixed.addresses(10, x, 0) == 128

    def test_clusters(self, mixed, x) -> None:
        assert mixed.addresses(11, x, 0) == 0
        assert mixed.addresses(12, x, 0) == 8

    def test_shared_memory_that_is_left(self, mixed, x) -> None:
        assert mixed.addresses(13, x, 0) == 48 * 1024


class TestSymbols:
    def test_are_copied_to_and_from(self, mixed: tvm_ffi.Module, host: CudaArray) -> None:
        host.numpy[:] = 5, 6, 7, 0
        assert mixed.symbols(0, host) == 0
        assert mixed.symbols(1, host) == 0
        assert list(host.numpy) == [1, 5, 6, 7]
        assert mixed.symbols(2, host) == 5

    def test_are_copied_on_streams_too(self, mixed: tvm_ffi.Module, host: CudaArray) -> None:
        host.numpy[:] = 9, 8, 7, 6
        assert mixed.symbols(5, host) == 0
        assert mixed.symbols(6, host) == 0
        assert list(host.numpy) == [6, 8, 7, 6]

    def test_have_an_address_and_a_size(self, mixed: tvm_ffi.Module, host: CudaArray) -> None:
        assert mixed.symbols(3, host) == 16
        assert mixed.symbols(4, host) == 0
        assert list(host.numpy) == [1, 0, 0, 0]

    def test_are_the_current_device_s(
        self, mixed: tvm_ffi.Module, host: CudaArray, driver_stub: DriverStub
    ) -> None:
        host.numpy[:] = 5, 6, 7, 0
        with driver_stub.current_device(0):
            mixed.symbols(0, host)
        with driver_stub.current_device(1):
            mixed.symbols(1, host)
        assert list(host.numpy) == [1, 2, 3, 4]

    @pytest.mark.parametrize(
        ("step", "error"), [(7, INVALID_VALUE), (8, INVALID_DIRECTION), (9, INVALID_SYMBOL)]
    )
    def test_are_errors_where_they_do_not_fit(
        self, step: int, error: int, mixed: tvm_ffi.Module, host: CudaArray
    ) -> None:
        assert mixed.symbols(step, host) == error


class TestCallsBesideKernels:
    @pytest.mark.parametrize("step", [0, 1])
    def test_rows_are_copied(self, step: int, mixed: tvm_ffi.Module, x: CudaArray) -> None:
        x.numpy[:3] = 1, 2, 3
        assert mixed.beside(step, x, 0) == 0
        assert list(x.numpy) == [1, 2, 3, 0, 1, 0, 2, 0]

    def test_rows_beyond_their_pitch_are_an_error(self, mixed: tvm_ffi.Module, x) -> None:
        assert mixed.beside(2, x, 0) == INVALID_PITCH

    def test_devices_copy_to_each_other(
        self, mixed: tvm_ffi.Module, driver_stub: DriverStub
    ) -> None:
        x = cuda_array(driver_stub, 12)
        x.numpy[:4] = 1, 2, 3, 4
        assert mixed.beside(3, x, 0) == 0
        assert list(x.numpy) == [1, 2, 3, 4] * 3

    def test_a_device_tells_its_properties(self, mixed: tvm_ffi.Module, x: CudaArray) -> None:
        assert mixed.beside(4, x, 0) == 132_000 + 90

    def test_a_pointer_tells_what_it_is(self, mixed: tvm_ffi.Module, x: CudaArray) -> None:
        assert mixed.beside(5, x, 0) == 20
        assert mixed.beside(6, x, 0) == 1

    def test_streams_and_events_tell_of_themselves(
        self, mixed: tvm_ffi.Module, x: CudaArray, driver_stub: DriverStub
    ) -> None:
        with driver_stub.stream(device=1) as stream, driver_stub.current_device(1):
            assert mixed.beside(7, x, stream) == 0
            assert mixed.beside(8, x, stream) == 5
            assert mixed.beside(9, x, stream) == 1
            assert mixed.beside(10, x, stream) == 9
            assert mixed.beside(11, x, stream) == 1
