"""Constants as a kernel parameter's bytes: rounding, ranges, refusals."""

import math
import struct

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tvmffi_cubin.functions.launch import constant
from tvmffi_cubin.kernels.types import parse_type

INTEGERS = [("char", "b"), ("unsigned short", "H"), ("int", "i"), ("int64_t", "q"), ("size_t", "Q")]


def encoded(value, text, size=None):
    type_ = parse_type(text)
    type_ = type_._replace(size=size or type_.size)
    return constant(value, type_, "function 'f': args['v']")


@pytest.mark.parametrize(("text", "code"), INTEGERS)
def test_an_integer_type_takes_its_whole_range_and_nothing_beyond(text, code):
    bits = struct.calcsize(f"<{code}") * 8
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if code.islower() else (0, (1 << bits) - 1)
    for value in (low, high, 0, 1):
        assert encoded(value, text) == struct.pack(f"<{code}", value)
    for value in (low - 1, high + 1, 2**80, -(2**80)):
        with pytest.raises(ValueError, match=rf"args\['v'\]: {value} is out of range for"):
            encoded(value, text)


@given(st.floats(allow_nan=False, allow_infinity=True))
@example(65519.99999)
@example(-65520.0)
@example(3.4028235677973366e38)
@example(5e-324)
@example(-0.0)
def test_floats_round_as_numpy_rounds(value):
    for text, dtype in (("__half", np.float16), ("float", np.float32), ("double", np.float64)):
        with np.errstate(all="ignore"):
            wanted = dtype(value)
        if math.isinf(wanted) and not math.isinf(value):
            with pytest.raises(ValueError, match="out of range"):
                encoded(value, text)
        else:
            assert encoded(value, text) == wanted.tobytes()


@pytest.mark.parametrize(
    ("value", "text", "data"),
    [
        (True, "int", b"\1\0\0\0"),
        (True, "bool", b"\1"),
        (3, "float", struct.pack("<f", 3.0)),
        (math.inf, "__half", b"\0\x7c"),
        (-math.inf, "__nv_bfloat16", b"\x80\xff"),
        # Ties to even, below and above; what by way of float would be a tie; the least, the most.
        (1.00390625, "__nv_bfloat16", b"\x80\x3f"),
        (1.01171875, "__nv_bfloat16", b"\x82\x3f"),
        (1.00390625 + 2**-40, "__nv_bfloat16", b"\x81\x3f"),
        (2**-134 * (1 + 2**-50), "__nv_bfloat16", b"\x01\x00"),
        (3.3895313892515355e38, "__nv_bfloat16", b"\x7f\x7f"),
        (math.nan, "__nv_bfloat16", b"\xc0\x7f"),
        (b"abc", "Pair", b"abc"),
        (None, "const float*", bytes(8)),
    ],
)
def test_a_constant_is_its_parameter_s_bytes(value, text, data):
    assert encoded(value, text, 3 if text == "Pair" else None) == data


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ((1, 0, 1.0, None), "bool"),
        ((1.0, None, b"\0\0\0\0"), "int"),
        ((True, None, b"\0\0\0\0"), "float"),
        ((0, 4096, b"12345678"), "const float*"),
        ((3, None, b"12345"), "Pair"),
    ],
)
def test_what_a_type_does_not_take_is_refused(values, text):
    for value in values:
        with pytest.raises(TypeError, match=r"function 'f': args\['v'\]: expected a constant for"):
            encoded(value, text, 4 if text == "Pair" else None)


def test_what_is_out_of_range_is_refused():
    for value, text in ((10**400, "double"), (3.397e38, "__nv_bfloat16")):
        with pytest.raises(ValueError, match=f"out of range for {text}"):
            encoded(value, text)
