"""Types and declared parameter lists as text."""

from __future__ import annotations

import re

import pytest

from tvmffi_cubin.kernels.types import parse_params, parse_type


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("float const* __restrict__", "const float*"),
        ("const volatile float *const", "const volatile float*"),
        ("long unsigned int", "unsigned long"),
        ("unsigned", "unsigned int"),
        ("long long int", "long long"),
        ("const int", "int"),
        ("char const * const *", "const char* const*"),
        ("float[4]", "float*"),
        ("struct Foo *", "Foo*"),
        ("std::vector<int >::type", "std::vector<int>::type"),
        ("(anonymous namespace)::P", "P"),
        ("const __grid_constant__ CUtensorMap", "CUtensorMap"),
    ],
)
def test_spelling_is_normalised(text, want):
    assert parse_type(text).text == want
    assert parse_type(want).text == want


@pytest.mark.parametrize(
    ("text", "kind", "size", "scalar"),
    [
        ("bool", "bool", 1, None),
        ("char", "int", 1, None),
        ("unsigned char", "uint", 1, None),
        ("std::int64_t", "int", 8, None),
        ("cuda::std::int32_t", "int", 4, None),
        ("size_t", "uint", 8, None),
        ("uint8_t", "uint", 1, None),
        ("long", "int", 8, None),
        ("float", "float", 4, "float32"),
        ("double", "float", 8, "float64"),
        ("__half", "float", 2, "float16"),
        ("half", "float", 2, "float16"),
        ("nv_bfloat16", "float", 2, "bfloat16"),
        ("float3", "struct", 12, None),
        ("dim3", "struct", 12, None),
        ("CUtensorMap", "struct", 128, None),
        ("__int128", "struct", 16, None),
        ("MyStruct", "struct", None, None),
        ("ns::Enum", "struct", None, None),
    ],
)
def test_values(text, kind, size, scalar):
    parsed = parse_type(text)
    assert (parsed.kind, parsed.size, parsed.scalar, parsed.pointee) == (kind, size, scalar, None)


INT8, UINT8 = (0, 8), (1, 8)


@pytest.mark.parametrize(
    ("text", "dtypes", "align"),
    [
        ("const float*", {(2, 32)}, 4),
        ("char*", {INT8, UINT8}, 1),
        ("signed char*", {INT8}, 1),
        ("uint8_t*", {UINT8}, 1),
        ("bool*", {(6, 8)}, 1),
        ("long*", {(0, 64)}, 8),
        ("long long*", {(0, 64)}, 8),
        ("half*", {(2, 16)}, 2),
        ("__half2*", {(2, 16)}, 4),
        ("__nv_bfloat162*", {(4, 16)}, 4),
        ("float2*", {(2, 32), (5, 64)}, 8),
        ("double2*", {(2, 64), (5, 128)}, 16),
        ("float3*", {(2, 32)}, 4),
        ("float4*", {(2, 32)}, 16),
        ("double4*", {(2, 64)}, 16),
        ("double4_32a*", {(2, 64)}, 32),
        ("int4*", {(0, 32)}, 16),
        ("uchar4*", {UINT8}, 4),
        ("char4*", {INT8}, 4),
        ("longlong2*", {(0, 64)}, 16),
        ("ulonglong4*", {(1, 64)}, 16),
        ("cuComplex*", {(2, 32), (5, 64)}, 8),
        ("cuda::std::__4::complex<double>*", {(5, 128)}, 16),
        ("thrust::complex<float>*", {(5, 64)}, 8),
        ("__nv_fp8_e4m3*", {(10, 8)}, 1),
        ("const __nv_fp8x4_e5m2*", {(12, 8)}, 4),
        ("__nv_fp8_e8m0*", {(14, 8)}, 1),
        ("__nv_fp6_e2m3*", {(15, 6), UINT8}, 1),
        ("__nv_fp6x2_e3m2*", {(16, 6), UINT8}, 2),
        ("__nv_fp4x2_e2m1*", {(17, 4), UINT8}, 1),
        ("void*", set(), 1),
        ("MyStruct*", set(), 1),
        ("float**", set(), 8),
        ("int (*)[16]", set(), 1),
        ("void (*)(int, float)", set(), 1),
    ],
)
def test_pointers_say_what_they_accept(text, dtypes, align):
    parsed = parse_type(text)
    assert (parsed.kind, parsed.size) == ("pointer", 8)
    assert parsed.pointee is not None
    assert (set(parsed.pointee.dtypes), parsed.pointee.align) == (dtypes, align)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("float&", "no references"),
        ("void", "cannot be void"),
        ("", "expected a type"),
        ("const", "expected a type"),
        ("float x", "unexpected 'x' after the type"),
        ("float* ]", "unexpected ']'"),
    ],
)
def test_what_is_no_type_is_an_error_that_quotes_it(text, message):
    with pytest.raises(ValueError, match=re.escape(f"in {text!r}: ") + ".*" + message):
        parse_type(text)


def test_declared_parameters():
    params = parse_params("const float* x: ndim=2, float *y,\n int64_t n, int (*p)[16], half h[4]")
    assert [(param.name, param.type.text, param.ndim) for param in params] == [
        ("x", "const float*", 2),
        ("y", "float*", None),
        ("n", "int64_t", None),
        ("p", "int (*)[]", None),
        ("h", "half*", None),
    ]


@pytest.mark.parametrize("text", ["", "  ", "void"])
def test_no_parameters(text):
    assert parse_params(text) == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("float*, int n", "in 'float*': a declared parameter needs a name"),
        ("float x, int x", "parameter 'x' is declared twice"),
        ("int n = 3", "takes no default value: give it in Launch(args=...)"),
        ("int n: rank=2", "expected 'ndim=' and a number after ':'"),
        ("int n;", "in 'int n;': unexpected 'n;'"),
        ("int n,", "expected a type"),
        ("int f(int)", "unexpected 'f(int)'"),
        ("int a, float* x y", "in 'float* x y': unexpected 'y'"),
    ],
)
def test_a_bad_declaration_is_an_error_that_quotes_it(text, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        parse_params(text)
