"""Scalars, structs and pointers of a launch: the bytes that reach the driver, or which error."""

import ctypes
import math
import struct

import numpy as np
import pytest
import tvm_ffi
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from launch_kernels import SCALAR_TYPES
from stub.cuda_array import cuda_array

import tvmffi_cubin as tc
from tvmffi_cubin.functions.launch import constant
from tvmffi_cubin.kernels.types import parse_type

INTEGERS = [name for name, (_, code) in SCALAR_TYPES.items() if code in "bBhHiIqQ" and name != "bf"]
FLOATS = ["h", "bf", "f", "d"]
# tvm-ffi before 0.1.15 refuses integers beyond 64 bits itself.
PASSES_ALL = tvm_ffi.__version__ not in ("0.1.11", "0.1.12", "0.1.13", "0.1.14")
one_call_each = settings(
    deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60
)


def launched(module, stub, name, value) -> bytes:
    """The bytes of the one parameter of a function's kernel."""
    stub.reset()
    module[name][1, 1](value)
    (launch,) = stub.launches()
    (data,) = launch.params
    return data


def passed(*values: int) -> list[int]:
    """Those values that come to the launcher."""
    return [value for value in values if PASSES_ALL or -(2**63) <= value < 2**63]


def title(name: str) -> str:
    # A typedef is shown as what it stands for: int8_t as signed char.
    return rf"{name}: argument 1 \(v: [\w ]+\): "


@pytest.mark.parametrize("name", INTEGERS)
def test_an_integer_parameter_takes_its_whole_range_and_nothing_beyond(name, scalars, driver_stub):
    code = SCALAR_TYPES[name][1]
    bits = struct.calcsize(f"<{code}") * 8
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if code.islower() else (0, (1 << bits) - 1)
    for value in passed(low, high, 0, 1, True, np.int8(3)):
        assert launched(scalars, driver_stub, name, value) == struct.pack(f"<{code}", value)
    for value in passed(low - 1, high + 1, 2**64, -(2**63) - 1, 2**200, -(2**200)):
        got = str(value) if -(2**63) <= value < 2**63 else "an int that does not fit in int64"
        with pytest.raises(ValueError, match=f"{title(name)}.*{got}, expected {low} to {high}"):
            scalars[name][1, 1](value)


def test_an_integer_parameter_takes_nothing_else(scalars, driver_stub):
    for name, value in (("i", 1.0), ("i", None), ("ull", b"\0\0\0\0"), ("ull", "1")):
        with pytest.raises(TypeError, match=f"{title(name)}got .*, expected an int"):
            scalars[name][1, 1](value)


@pytest.mark.parametrize("name", FLOATS)
@one_call_each
@given(value=st.floats(allow_nan=False) | st.integers(-(2**63), 2**63 - 1))
@example(value=2**53 + 1)
@example(value=65520)
@example(value=2.0**-134 * (1 + 2**-50))
@example(value=1.00390625 + 2**-40)
@example(value=3.4028235677973366e38)
@example(value=math.nan)
def test_a_number_reaches_a_floating_parameter_as_a_constant_would(
    name, value, scalars, driver_stub
):
    type_ = parse_type(SCALAR_TYPES[name][0])
    try:
        wanted = constant(value, type_, "")
    except ValueError:
        with pytest.raises(ValueError, match=f"{title(name)}.*expected a number that fits in "):
            scalars[name][1, 1](value)
        return
    data = launched(scalars, driver_stub, name, value)
    if isinstance(value, float) and math.isnan(value):
        data = data[:-1] + bytes([data[-1] & 0x7F])  # a NaN may keep its sign
        wanted = wanted[:-1] + bytes([wanted[-1] & 0x7F])
    assert data == wanted


@pytest.mark.parametrize("name", FLOATS)
def test_a_floating_parameter_takes_numbers_alone(name, scalars, driver_stub):
    for value in (True, None, "1.0"):
        with pytest.raises(TypeError, match=f"{title(name)}got .*, expected a number"):
            scalars[name][1, 1](value)


def test_a_bool_parameter_takes_a_bool_alone(scalars, driver_stub):
    assert launched(scalars, driver_stub, "flag", True) == b"\1"
    assert launched(scalars, driver_stub, "flag", False) == b"\0"
    for value in (1.0, None, b"\1", "True", *passed(0, 1, 2**70)):
        with pytest.raises(TypeError, match=r"flag: argument 1 \(v: bool\): .*, expected a bool"):
            scalars.flag[1, 1](value)


def test_a_bool_parameter_takes_a_condition_of_args(driver_stub):
    source = 'extern "C" __global__ void k(int n, bool more, bool any) {}'
    launch = tc.Launch(grid=1, block=1, args={"more": "n > 4", "any": "n"})
    mod = tc.load_inline("conditions", source, functions={"k": launch}, arch="sm_90")
    for n, wanted in ((5, (1, 1)), (4, (0, 1)), (-256, (0, 1)), (0, (0, 0))):
        mod.k(n)
        assert driver_stub.launches()[-1].values("ibb") == (n, *wanted)


def test_a_struct_takes_bytes_of_its_own_size(scalars, driver_stub):
    for name, data in (("pair", bytes(range(16))), ("odd", bytearray(b"abc"))):
        assert launched(scalars, driver_stub, name, data) == data
        with pytest.raises(ValueError, match=rf"{name}: argument 1 \(v: .*got 8 bytes, exp"):
            scalars[name][1, 1](bytes(8))


def test_none_is_a_null_pointer_and_c_void_p_an_address(scalars, driver_stub):
    assert launched(scalars, driver_stub, "pointer", None) == bytes(8)
    assert launched(scalars, driver_stub, "pointer", ctypes.c_void_p(0x7000_0000_0004)) == (
        struct.pack("<Q", 0x7000_0000_0004)
    )
    assert launched(scalars, driver_stub, "pointer", ctypes.c_void_p(None)) == bytes(8)
    with pytest.raises(ValueError, match="pointer: .* got the address 0x6, expected .* of 4"):
        scalars.pointer[1, 1](ctypes.c_void_p(6))
    for value in (0, 4096, True, b"12345678", object()):
        with pytest.raises(TypeError, match=r"\(v: const float\*\): got .* expected a"):
            scalars.pointer[1, 1](value)


def test_parameters_of_all_widths_side_by_side(scalars, driver_stub):
    y = cuda_array(driver_stub, 4)
    scalars.many[1, 1](-1, b"abc", 2.5, True, y, -300)
    (launch,) = driver_stub.launches()
    values = zip("bd?Qh", (-1, 2.5, True, y.data_ptr, -300), strict=True)
    first, *others = (struct.pack(f"<{code}", value) for code, value in values)
    assert launch.params == (first, b"abc", *others)


def test_the_wrong_number_of_arguments_is_refused_with_the_signature(scalars, driver_stub):
    for count in (0, 7):
        with pytest.raises(TypeError, match=rf"many: got {count} arguments, expected 6: many\(cha"):
            scalars.many[1, 1](*[0] * count)
    # CuPy's call has another shape.
    with pytest.raises(TypeError, match=r"Pass the shape in brackets: many\[grid, block\]"):
        scalars.many((1,), (32,), (1, 2, 3))
