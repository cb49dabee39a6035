"""Constants as a kernel parameter's bytes: rounding, ranges, refusals."""

import math
import struct
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tvmffi_cubin.kernels.types import parse_type
from tvmffi_cubin.launches.constant import encode

INTEGERS = [
    *(("char", "b"), ("signed char", "b"), ("int8_t", "b"), ("unsigned char", "B")),
    *(("short", "h"), ("unsigned short", "H"), ("int", "i"), ("unsigned", "I")),
    *(("long", "q"), ("unsigned long", "Q"), ("long long", "q"), ("unsigned long long", "Q")),
    *(("size_t", "Q"), ("int64_t", "q"), ("uint32_t", "I")),
]


def encoded(value, text, size=None):
    type_ = parse_type(text)
    type_ = type_._replace(size=size or type_.size)
    return encode(value, type_, "function 'f': args['v']")


# Integers and bool


@pytest.mark.parametrize(("text", "code"), INTEGERS)
def test_an_integer_type_takes_its_whole_range_and_nothing_beyond(text, code):
    bits = struct.calcsize(f"<{code}") * 8
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if code.islower() else (0, (1 << bits) - 1)
    for value in (low, high, 0, 1):
        assert encoded(value, text) == struct.pack(f"<{code}", value)
    for value in (low - 1, high + 1, 2**80, -(2**80)):
        with pytest.raises(ValueError, match=rf"args\['v'\]: {value} is out of the range of"):
            encoded(value, text)


def test_a_bool_is_an_integer_too_but_no_integer_is_a_bool():
    assert encoded(True, "int") == b"\1\0\0\0"
    assert encoded(True, "bool") == b"\1"
    assert encoded(False, "bool") == b"\0"
    for value in (1, 0, 1.0, None):
        with pytest.raises(TypeError, match="bool takes a bool"):
            encoded(value, "bool")


# Floating point


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
            with pytest.raises(ValueError, match="out of the range"):
                encoded(value, text)
        else:
            assert encoded(value, text) == wanted.tobytes()


def nearest_bfloat16(value: float) -> bytes | None:
    """The nearest bf16, by exact arithmetic over both neighbours; None where that is infinite."""
    magnitude = Fraction(abs(value))
    low, high = 0, 0x7F80  # patterns are in the order of their values
    exact = lambda pattern: (  # noqa: E731
        Fraction(2) ** 128
        if pattern == 0x7F80
        else Fraction(struct.unpack("<f", struct.pack("<I", pattern << 16))[0])
    )
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if exact(middle) <= magnitude else (low, middle)
    below, above = magnitude - exact(low), exact(high) - magnitude
    pattern = low if below < above or (below == above and low % 2 == 0) else high
    sign = 0x8000 if math.copysign(1, value) < 0 else 0
    return None if pattern == 0x7F80 else struct.pack("<H", pattern | sign)


@given(
    st.floats(allow_nan=False, allow_infinity=False)
    | st.floats(width=16, allow_nan=False, allow_infinity=False)
)
@example(1.00390625)  # a tie, to even below
@example(1.01171875)  # a tie, to even above
@example(1.00390625 + 2**-40)  # above a tie only in double: by way of float it would be one
@example(2**-134)
@example(2**-134 * (1 + 2**-50))
@example(3.3895313892515355e38)  # the largest
@example(3.3961775292304e38)  # rounds to infinity
@example(-0.0)
@example(5e-324)
def test_bfloat16_is_the_nearest_by_exact_arithmetic(value):
    wanted = nearest_bfloat16(value)
    if wanted is None:
        with pytest.raises(ValueError, match="out of the range of __nv_bfloat16"):
            encoded(value, "__nv_bfloat16")
    else:
        assert encoded(value, "__nv_bfloat16") == wanted


@pytest.mark.parametrize(
    ("text", "infinity", "nan"),
    [
        ("__half", 0x7C00, 0x7E00),
        ("__nv_bfloat16", 0x7F80, 0x7FC0),
        ("float", 0x7F800000, 0x7FC00000),
        ("double", 0x7FF0000000000000, 0x7FF8000000000000),
    ],
)
def test_infinities_and_nan_stay_what_they_are(text, infinity, nan):
    size = parse_type(text).size
    sign = 1 << (size * 8 - 1)
    assert encoded(math.inf, text) == infinity.to_bytes(size, "little")
    assert encoded(-math.inf, text) == (infinity | sign).to_bytes(size, "little")
    assert encoded(math.nan, text) == nan.to_bytes(size, "little")


@pytest.mark.parametrize("text", ["__half", "__nv_bfloat16", "float", "double"])
def test_a_floating_type_takes_integers_and_no_bool(text):
    assert encoded(3, text) == encoded(3.0, text)
    with pytest.raises(ValueError, match="out of the range"):
        encoded(10**400, text)
    for value in (True, None, b"\0\0\0\0"):
        with pytest.raises(TypeError, match="takes a number"):
            encoded(value, text)


# Structs, pointers


def test_a_struct_takes_bytes_of_its_size():
    assert encoded(b"abc", "Pair", 3) == b"abc"
    with pytest.raises(ValueError, match=r"got 2 bytes, wanted 3"):
        encoded(b"ab", "Pair", 3)
    with pytest.raises(TypeError, match="Pair takes bytes of its own layout"):
        encoded(3, "Pair", 4)


def test_a_pointer_takes_none_alone():
    assert encoded(None, "const float*") == bytes(8)
    for value in (0, 4096, b"12345678"):
        with pytest.raises(TypeError, match=r"const float\* takes None"):
            encoded(value, "const float*")


@pytest.mark.parametrize("value", [1.0, None, b"\0\0\0\0"])
def test_an_integer_type_takes_integers_alone(value):
    with pytest.raises(TypeError, match=r"function 'f': args\['v'\]: got .* int takes an int"):
        encoded(value, "int")
