"""Which sources are compiled separately, and which belong to all that follow."""

from __future__ import annotations

import pytest

from tvmffi_cubin.device.hints import other_units_hints
from tvmffi_cubin.device.units import is_header, make_units
from tvmffi_cubin.inline.request import make_request
from tvmffi_cubin.sources.reader import read
from tvmffi_cubin.sources.source import Source

KERNEL = "__global__ void k(int* x) { x[0] = 1; }"
FUNCTION = "__device__ int one() { return 1; }"


def units(*texts: str):
    sources = [Source(text, label=f"s{i}") for i, text in enumerate(texts)]
    return make_units(sources, make_request("units", cuda_sources=texts))


@pytest.mark.parametrize(
    "text",
    [
        "#include <cuda_fp16.h>",
        "#define N 4",
        "struct P { float a; __device__ float m() const { return a; } };",
        "using T = float; enum E { A, B };",
        "const int N = 3; constexpr int M = 4;",
        "__device__ int declared(int); extern __constant__ float table[4];",
        'extern "C" __device__ int variable;',
        "static __device__ int own(int x) { return x; }",
        "inline __device__ int own(int x) { return x; }",
        "__device__ __forceinline__ int own(int x) { return x; }",
        "__inline__ __device__ int own(int x) { return x; }",
        "constexpr __device__ int own(int x) { return x; }",
        "template <class T> __device__ T own(T x) { return x; }",
        "namespace { __device__ int own(int x) { return x; } __device__ int v; }",
        "static __constant__ int own; __device__ const float c[2] = {1, 2};",
        "__global__ void k(int* x);",
    ],
)
def test_what_defines_nothing_for_others_is_a_header(text: str):
    assert is_header(read(text))


@pytest.mark.parametrize(
    "text",
    [
        KERNEL,
        FUNCTION,
        "template <class T> __global__ void fill(T* x) {}",
        "__device__ int counter;",
        "__constant__ float table[4] = {1, 2};",
        "__managed__ int m;",
        'extern "C" __device__ int one() { return 1; }',
        'extern "C" { __device__ int v; }',
        "namespace a { __device__ int one() { return 1; } }",
        "struct S { __device__ int m(); };\n__device__ int S::m() { return 1; }",
        "template <class T> __device__ T id(T x) { return x; }\n"
        "template <> __device__ int id<int>(int x) { return x; }",
        "int plain(int x) { return x; }",
        "__device__ int unreadable(int ( { return 1; }",
    ],
)
def test_what_others_could_refer_to_is_a_unit(text: str):
    assert not is_header(read(text))


def test_headers_come_before_every_unit_after_them():
    first, second = units("#define A 1", KERNEL, "#define B 2", FUNCTION)
    assert (first.name, second.name) == ("s1", "s3")
    assert first.prologue == '#line 1 "s0"\n#define A 1'
    assert second.prologue == '#line 1 "s0"\n#define A 1\n#line 1 "s2"\n#define B 2'
    assert (first.text, second.text) == (KERNEL, FUNCTION)


def test_a_header_behind_all_units_is_compiled_with_the_last():
    (only,) = units(KERNEL, "#define A 1")
    assert only.text == f'{KERNEL}\n#line 1 "s1"\n#define A 1'


def test_headers_alone_are_one_unit():
    (only,) = units("#define A 1", "template <class T> __device__ T id(T x) { return x; }")
    assert only.name == "s1"
    assert only.prologue.endswith("#define A 1")


def test_a_unit_is_read_with_the_macros_of_its_headers():
    (only,) = units('#define KERNEL extern "C" __global__ void', "KERNEL k(int* x) { x[0] = 1; }")
    assert [kernel.name for kernel in only.facts.kernels] == ["k"]


@pytest.mark.parametrize(
    ("text", "name", "linkage", "declaration"),
    [
        (FUNCTION, "one", "external", "__device__ int one();"),
        ("__device__ int v = 3;", "v", "external", "extern __device__ int v;"),
        ("__constant__ float t[4] = {1};", "t", "external", "extern __constant__ float t[4];"),
        (
            'extern "C" __device__ int c(int x) { return x; }',
            "c",
            "external",
            'extern "C" __device__ int c(int x);',
        ),
        (
            "namespace a::b { __device__ int f(int x) { return x; } }",
            "a::b::f",
            "external",
            "namespace a { namespace b { __device__ int f(int x); } }",
        ),
        ("static __device__ int f() { return 1; }", "f", "internal", ""),
        ("__device__ __forceinline__ int f() { return 1; }", "f", "inline", ""),
        ("__device__ int (*p)(int) = 0;", "p", "external", "extern __device__ int (*p)(int);"),
    ],
)
def test_a_definition_says_how_others_declare_it(text, name, linkage, declaration):
    (found,) = read(text).definitions
    assert (found.qualified, found.linkage, found.declaration) == (name, linkage, declaration)


def test_a_name_that_another_unit_has_gets_a_hint():
    first, second = units(FUNCTION + "\n#define WIDTH 3", KERNEL)
    log = (
        's1(1): error: identifier "one" is undefined\ns1(1): error: identifier "WIDTH" is undefined'
    )
    declare, move = other_units_hints(log, second, (first, second))
    assert declare.startswith("s0 defines one, but sources of a list are compiled separately")
    assert "'__device__ int one();'" in declare
    assert move.startswith("s0 has WIDTH, but sources of a list are compiled separately: put it")
    assert other_units_hints(log, first, (first, second)) == ()
