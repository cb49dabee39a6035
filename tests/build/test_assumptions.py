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
        "either": Dispatch(
            [
                Launch(kernel="fast", multiple_of={"x": 16, "n": 4}, **SHAPE),
                Launch(kernel="slow", **SHAPE),
            ]
        ),
    }
    return tc.load_inline("assumptions", SOURCE, functions=functions, arch="sm_90")


@pytest.fixture
def x(driver_stub):
    return cuda_array(driver_stub, 8)


def test_what_holds_is_launched(module, driver_stub, x):
    module.multiples(x, -32, 24, 2**64 - 2)
    module.multiples(None, 0, 0, 0)
    module.values(x, 1, -(2**63), 2**62)
    assert len(driver_stub.launches()) == 3


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        ("multiples", (8, 8, 0), r"\(n: int\): got the int 8, expected a multiple of 16"),
        ("multiples", (16, 12, 0), r"\(s: long long\): .* expected a multiple of 8"),
        ("multiples", (16, 8, 2**64 - 1), r"\(u: .*\): .* expected a multiple of 2"),
        ("values", (2, -(2**63), 2**62), r"\(n: int\): got the int 2, expected 1"),
        ("values", (1, -(2**63), 2**64 - 1), r"\(u: .*\): .* expected 4611686018427387904"),
    ],
)
def test_an_integer_that_does_not_hold_is_named(
    module, driver_stub, x, function, arguments, message
):
    with pytest.raises(ValueError, match=message):
        module[function](x, *arguments)
    assert driver_stub.launches() == []


def test_a_pointer_that_is_no_multiple_is_named(module, driver_stub, x):
    for value in (ctypes.c_void_p(x.data_ptr + 4), cuda_array(driver_stub, 7, byte_offset=4)):
        with pytest.raises(ValueError, match=r"\(x: .*\): .* multiple of 16"):
            module.multiples(value, 16, 8, 0)


def test_the_first_instance_whose_assumptions_hold_is_launched(module, driver_stub, x):
    module.either(x, 8)
    module.either(x, 7)
    module.either(cuda_array(driver_stub, 7, byte_offset=4), 8)
    names = [launch.kernel for launch in driver_stub.launches()]
    assert names == ["fast", "slow", "slow"]
