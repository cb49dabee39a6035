"""Symbols in the place of arguments, and the types and descriptors of each version of Triton's."""

import functools
import math
import operator
from types import SimpleNamespace

import pytest

from tvmffi_cubin.launches.expression import parse
from tvmffi_cubin.triton.grid import Symbol, launch_grid, outside_values
from tvmffi_cubin.triton.kernel import (
    Argument,
    CompiledKernel,
    descriptor,
)
from tvmffi_cubin.triton.launch import _of_descriptor

OUTSIDE = 5
N = Argument("n", "i32")


def compiled(*arguments, num_ctas=1, version=(3, 9), **constants):
    given, metadata = {x.name: x for x in arguments} | constants, SimpleNamespace(num_ctas=num_ctas)
    return CompiledKernel(b"", given, arguments, constants, metadata, version)


@pytest.mark.parametrize(("version", "last"), [((3, 6), "x.shape[1] * 2"), ((3, 7), "x.shape[1]")])
def test_the_shape_of_padded_fp4_is_doubled_as_the_version_does(version, last):
    kind = descriptor("tensordesc<u8[64, 128]>")
    meta = {"swizzle": 3, "elem_type": 14, "block_size": [64, 128], "fp4_padded": True}
    (_, _, map_), *sizes = _of_descriptor(version, "x", kind, meta, nan=False, tf32=False)
    assert map_.dtype == "16u4_align16b"
    assert [value for _, _, value in sizes] == ["x.shape[0]", last, "x.stride[0]", "x.stride[1]"]


def test_symbols_write_the_expression_that_python_would_compute():
    n = Symbol("n")
    traced = -(-n // 64) * 3 % (n - -2) + 5 // n
    parse(traced.text)
    for value in (1, 63, 64, 1000):
        wanted = -(-value // 64) * 3 % (value - -2) + 5 // value
        assert eval(traced.text, {"n": value}) == wanted


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("ceil_div(n, B)", "ceil_div(n, 64)"),
        ("n - M", "n - -3"),
        ("BB + B", "128 + 64"),
        ("n * F + x.B", "n * 1 + x.B"),
    ],
)
def test_constexprs_stand_for_their_values_in_an_expression(text, written):
    assert launch_grid(compiled(N, B=64, BB=128, M=-3, F=True), text) == [written]


def test_variables_are_found_wherever_they_are_read():
    inside, settings = [1], SimpleNamespace(SMS=1)

    def helper(x):
        return x + OUTSIDE

    def recursive(x):
        return recursive(x) if x else math.floor(inside[0])

    for function, names in (
        (lambda meta: math.prod(range(meta["n"])), []),
        (lambda meta: functools.reduce(operator.mul, (meta["n"], 2)), []),
        (lambda meta: OUTSIDE, ["OUTSIDE"]),
        (lambda meta: meta.OUTSIDE, []),
        (lambda meta: helper(meta["n"]), ["OUTSIDE"]),
        (lambda meta: tuple(OUTSIDE for _ in "x"), ["OUTSIDE"]),
        (lambda meta, *, by=3: by, ["by"]),
        (recursive, ["inside"]),
        (lambda meta: settings.SMS, ["settings"]),
    ):
        assert outside_values(function) == names
