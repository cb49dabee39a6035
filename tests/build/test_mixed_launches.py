"""Launches by `<<<...>>>` in host texts: the arguments' bytes, the operands, the order."""

from __future__ import annotations

import struct
from collections import Counter

import tvm_ffi
from stub.cuda_array import cuda_array
from stub.driver_stub import DriverStub


class TestArguments:
    def test_are_converted_to_the_parameters_own_types(
        self, mixed: tvm_ffi.Module, driver_stub: DriverStub
    ) -> None:
        x = cuda_array(driver_stub, 8)
        mixed.conversions(x)
        launches = driver_stub.launches()
        assert launches[0].values("Pfi") == (x.data_ptr, 3.0, 7)
        assert launches[1].values("Pfi") == (0, 1.0, 65)
        pair, letter, number, mode = launches[2].params
        assert struct.unpack("<fi", pair) == (0.5, 3)
        assert (letter, struct.unpack("<d", number), mode) == (b"A", (2.0,), b"\2\0")
        assert launches[3].values("Pq")[1] == 5
        assert launches[4].params == ()
        assert launches[5].values("fB") == (1.0, 255)
        assert launches[6].values("idcf") == (1, 2.5, b"c", 3.5)
        assert launches[7].params == (struct.pack("<e", 1.5),)

    def test_choose_among_overloads_and_instances(
        self, mixed: tvm_ffi.Module, driver_stub: DriverStub
    ) -> None:
        mixed.conversions(cuda_array(driver_stub, 8))
        kernels = [launch.kernel or "" for launch in driver_stub.launches()]
        assert kernels[0] == "_Z5scaleIfLi4EEvPT_fi"
        assert kernels[1] == "_Z5scaleIdLi9EEvPT_fi"
        assert kernels[5] == "plain"
        assert kernels[8:] == ["_Z10overloadedi", "_Z10overloadedf"]

    def test_may_launch_themselves(self, mixed: tvm_ffi.Module, driver_stub: DriverStub) -> None:
        assert mixed.nested(3) == 3
        assert [(x.grid[0], x.values("fB")) for x in driver_stub.launches()] == [
            (1, (0, 0)), (2, (1, 0)), (3, (2, 0)),
        ]  # fmt: skip

    def test_that_launch_in_the_same_expression_leave_the_outer_shape(
        self, mixed: tvm_ffi.Module, driver_stub: DriverStub
    ) -> None:
        mixed.nested_in_one()
        inner, outer = driver_stub.launches()
        assert (inner.grid, inner.params) == ((3, 1, 1), ())
        assert (outer.grid, outer.values("i")) == ((2, 1, 1), (7,))

    def test_that_throw_take_their_launch_with_them(
        self, mixed: tvm_ffi.Module, driver_stub: DriverStub
    ) -> None:
        mixed.argument_throws()
        (launch,) = driver_stub.launches()
        assert (launch.grid, launch.params) == ((1, 1, 1), ())

    def test_of_64_bits_reach_the_kernel_of_their_own_type(
        self, mixed: tvm_ffi.Module, driver_stub: DriverStub
    ) -> None:
        assert mixed.integers() == 0
        kernels = [launch.kernel for launch in driver_stub.launches()]
        assert kernels[:3] == ["_Z5typedIlEvT_", "_Z5typedIxEvT_", "_Z5typedImEvT_"]
        assert kernels[3:] == ["_Z7countedlPm", "_Z7countedxPy"]


class TestOperands:
    def test_are_what_nvcc_takes(self, mixed: tvm_ffi.Module, driver_stub: DriverStub) -> None:
        with driver_stub.stream() as stream:
            mixed.operands(stream, 5)
        shapes = [(x.grid, x.block) for x in driver_stub.launches()]
        assert shapes == [
            ((2, 3, 4), (96, 1, 1)),
            ((2, 5, 1), (5, 2, 1)),
            ((3, 1, 1), (64, 1, 1)),
            ((1, 2, 3), (5, 1, 1)),
            ((5, 1, 1), (1, 1, 1)),
            ((5, 1, 1), (5, 1, 1)),
        ]
        assert [x.dynamic_smem_bytes for x in driver_stub.launches()] == [0, 12, 40, 0, 5, 0]
        assert [x.stream for x in driver_stub.launches()] == [0, stream, stream, 0, stream, 0]

    def test_lead_to_the_stream_s_device_or_the_current_one(
        self, mixed: tvm_ffi.Module, driver_stub: DriverStub
    ) -> None:
        with driver_stub.stream(device=1) as stream, driver_stub.current_device(0):
            mixed.operands(stream, 1)
        with driver_stub.current_device(1):
            mixed.nested(1)
        assert [x.device for x in driver_stub.launches()] == [0, 1, 1, 0, 1, 0, 1]

    def test_of_much_shared_memory_are_opted_into(
        self, mixed: tvm_ffi.Module, driver_stub: DriverStub
    ) -> None:
        assert mixed.bad(1, 1, 200 * 1024) == 17
        (launch,) = driver_stub.launches()
        assert launch.dynamic_smem_bytes == 200 * 1024


class TestKernelsAsFunctions:
    def test_are_launched_through_pointers_to_them(
        self, mixed: tvm_ffi.Module, driver_stub: DriverStub
    ) -> None:
        mixed.by_pointer(True)
        mixed.by_pointer(False)
        assert [x.kernel for x in driver_stub.launches()] == [
            "_Z5scaleIfLi1EEvPT_fi", "_Z5typedIsEvT_", "_Z5scaleIfLi2EEvPT_fi", "_Z5typedIsEvT_",
        ]  # fmt: skip

    def test_are_launched_from_several_threads(
        self, mixed: tvm_ffi.Module, driver_stub: DriverStub
    ) -> None:
        mixed.threads(8, 20)
        made = Counter((x.grid[0], x.values("i")[0]) for x in driver_stub.launches())
        assert made == {(i + 1, i): 20 for i in range(8)}
        assert len(driver_stub.calls("cuLibraryLoadData")) == 1

    def test_may_be_templates_of_exported_functions_and_lambdas(
        self, mixed: tvm_ffi.Module, driver_stub: DriverStub
    ) -> None:
        assert (mixed.twice(4), mixed["lambda"](4)) == (8, 5)
        assert [x.kernel for x in driver_stub.launches()] == ["_Z5typedIlEvT_"]

    def test_may_be_launched_first_while_a_graph_is_captured(
        self, mixed: tvm_ffi.Module, driver_stub: DriverStub
    ) -> None:
        x = cuda_array(driver_stub, 8)
        with driver_stub.stream() as stream, driver_stub.capture(stream):
            assert mixed.addresses(3, x, stream) == 0
            mixed.on_stream(stream)
        assert [launch.stream for launch in driver_stub.launches()] == [stream, stream]
