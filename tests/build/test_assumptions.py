"""`multiple_of` and `equal_to`: what kernels were compiled to assume is checked at the call."""

import ctypes

import pytest
from stub.cuda_array import cuda_array

import tvmffi_cubin as tc
from tvmffi_cubin import Dispatch, Launch

SOURCE = """
#include <cstdint>
extern "C" __global__ void k(const float* x, int n, int64_t s, uint64_t u) {}
extern "C" __global__ void fast(const float* x, int n) {}
extern "C" __global__ void slow(const float* x, int n) {}
"""
SHAPE = {"grid": 1, "block": 32}


@pytest.fixture(scope="module")
def module():
    functions = {
        "multiples": Launch(kernel="k", multiple_of={"x": 16, "n": 16, "s": 8, "u": 2}, **SHAPE),
        "values": Launch(kernel="k", equal_to={"n": 1, "s": -(2**63), "u": 2**62}, **SHAPE),
        "strided": Launch(
            kernel="fast",
            params="const float* x, long stride, int n",
            equal_to={"stride": 1},
            **SHAPE,
        ),
        "either": Dispatch(
            [
                Launch(kernel="fast", multiple_of={"x": 16, "n": 4}, **SHAPE),
                Launch(kernel="slow", **SHAPE),
            ]
        ),
        "several": [
            Launch(kernel="fast", multiple_of={"n": 4}, **SHAPE),
            Launch(kernel="slow", multiple_of={"n": 32}, **SHAPE),
        ],
    }
    return tc.load_inline("assumptions", SOURCE, functions=functions, arch="sm_90")


@pytest.fixture
def x(driver_stub):
    return cuda_array(driver_stub, 8)


def test_what_holds_is_launched(module, driver_stub, x):
    module.multiples(x, -32, 24, 2**64 - 2)
    module.multiples(None, 0, 0, 0)
    module.values(x, 1, -(2**63), 2**62)
    module.strided(x, 1, 7)
    assert len(driver_stub.launches()) == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((8, 8, 0), r"argument 2 \(n: int\): got the int 8, wanted a multiple of 16: the kernel"),
        ((16, 12, 0), r"argument 3 \(s: long long\): got the int 12, wanted a multiple of 8"),
        (
            (16, 8, 2**64 - 1),
            r"argument 4 \(u: unsigned long long\): got .*, wanted a multiple of 2",
        ),
    ],
)
def test_an_integer_that_is_no_multiple_is_named(module, driver_stub, x, arguments, message):
    with pytest.raises(ValueError, match=message):
        module.multiples(x, *arguments)
    assert driver_stub.launches() == []


def test_a_pointer_that_is_no_multiple_is_named(module, driver_stub, x):
    address = x.data_ptr + 4
    with pytest.raises(ValueError, match=r"\(x: .*\): .* multiple of 16"):
        module.multiples(ctypes.c_void_p(address), 16, 8, 0)
    with pytest.raises(ValueError, match=r"\(x: .*\): .* multiple of 16"):
        module.multiples(cuda_array(driver_stub, 7, byte_offset=4), 16, 8, 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((2, -(2**63), 2**62), r"\(n: int\): got the int 2, wanted 1: the kernel was compiled"),
        (
            (1, -(2**63), 2**64 - 1),
            r"\(u: unsigned long long\): got .*, wanted 4611686018427387904",
        ),
    ],
)
def test_an_integer_of_another_value_is_named(module, x, arguments, message):
    with pytest.raises(ValueError, match=message):
        module.values(x, *arguments)


def test_the_first_instance_whose_assumptions_hold_is_launched(module, driver_stub, x):
    module.either(x, 8)
    module.either(x, 7)
    module.either(cuda_array(driver_stub, 7, byte_offset=4), 8)
    names = [launch.kernel for launch in driver_stub.launches()]
    assert names == ["fast", "slow", "slow"]
