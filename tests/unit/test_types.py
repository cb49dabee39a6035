"""C++ as text: symbols, types and declared parameter lists."""

from __future__ import annotations

import re

import pytest

from tvmffi_cubin.kernels.demangle import demangle, split_list, take_apart
from tvmffi_cubin.kernels.types import parse_params, parse_type


def test_a_mangled_symbol_becomes_readable_and_other_names_stay():
    assert demangle("_Z4fillIfLi4EEvPT_S0_i") == "void fill<float, 4>(float*, float, int)"
    for name in ("saxpy", "f", "", "_Znonsense", "_Zé"):
        assert demangle(name) == name


@pytest.mark.parametrize(
    ("text", "display", "qualified", "params"),
    [
        ("saxpy", "saxpy", "saxpy", None),
        ("void ns::k<float, 4>(float*)", "ns::k<float, 4>", "ns::k", ("float*",)),
        ("ns::(anonymous namespace)::k(int)", "ns::k", "ns::k", ("int",)),
        ("k(int (*) [16], void (*)(int, int))", "k", "k", ("int (*) [16]", "void (*)(int, int)")),
        ("void k<(E)1>(V<int, 2>)", "k<(E)1>", "k", ("V<int, 2>",)),
        ("If<(sizeof (int))==(4), void>::type ns::k<int>(int*)", "ns::k<int>", "ns::k", ("int*",)),
    ],
)
def test_a_function_name_is_taken_apart(text, display, qualified, params):
    assert take_apart(text) == (display, qualified, params)
    assert split_list("A<int, 2>, int (*)(int, int), B") == ["A<int, 2>", "int (*)(int, int)", "B"]


@pytest.mark.parametrize(
    ("text", "align", "dtypes"),
    [
        ("const float*", 4, {(2, 32)}),
        ("signed char*", 1, {(0, 8)}),
        ("half*", 2, {(2, 16)}),
        ("float2*", 8, {(2, 32), (5, 64)}),
        ("float3*", 4, {(2, 32)}),
        ("float4*", 16, {(2, 32)}),
        ("cuda::std::__4::complex<double>*", 16, {(5, 128)}),
        ("__nv_fp8_e4m3*", 1, {(10, 8)}),
        ("__nv_fp4x2_e2m1*", 1, {(17, 4), (1, 8)}),
        ("void*", 1, set()),
        ("int (*)[16]", 1, set()),
    ],
)
def test_pointers_say_what_they_accept(text, align, dtypes):
    parsed = parse_type(text)
    assert (parsed.kind, parsed.size, parsed.align) == ("pointer", 8, align)
    assert set(parsed.dtypes) == dtypes


def test_declared_parameters():
    params = parse_params("const float* x: ndim=2, float *y,\n int64_t n, int (*p)[16], half h[4]")
    assert [(param.name, param.type.text, param.ndim) for param in params] == [
        ("x", "const float*", 2),
        ("y", "float*", None),
        ("n", "int64_t", None),
        ("p", "void*", None),
        ("h", "half*", None),
    ]
    assert parse_params(" ") == parse_params("void") == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("float& x", "in 'float& x': declare parameters as in C++, 'float* x', without"),
        ("float*, int n", "in 'float*': a declared parameter needs a name"),
        ("int n = 3", "in 'int n = 3': declare parameters"),
        ("int a, float* x y", "in 'float* x y': declare parameters"),
        ("float* x: rank=2", "in 'float* x: rank=2': declare parameters"),
    ],
)
def test_a_bad_declaration_is_an_error_that_quotes_it(text, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        parse_params(text)
