"""Which sources are compiled separately, and which belong to all that follow."""

from __future__ import annotations

import pytest

from tvmffi_cubin.device.units import Unit, make_units
from tvmffi_cubin.inline.request import make_request
from tvmffi_cubin.sources import Source

KERNEL = "__global__ void k(int* x) { x[0] = 1; }"
FUNCTION = "__device__ int one() { return 1; }"


def units(*texts: str) -> tuple[Unit, ...]:
    sources = [Source(text, label=f"s{i}") for i, text in enumerate(texts)]
    return make_units(sources, make_request("units", cuda_sources=texts))


@pytest.mark.parametrize(
    "text",
    [
        "#define N 4",
        "struct P { float a; __device__ float m() const { return a; } };",
        "__device__ int declared(int); extern __constant__ float table[4];",
        "static __device__ int own(int x) { return x; }",
        "__device__ __forceinline__ int own(int x) { return x; }",
        "template <class T> __device__ T own(T x) { return x; }",
        "namespace { __device__ int own(int x) { return x; } __device__ int v; }",
        "static __constant__ int own; __device__ const float c[2] = {1, 2};",
        "__global__ void k(int* x);",
    ],
)
def test_what_defines_nothing_for_others_comes_before_every_unit_after_it(text: str):
    first, second = units(text, KERNEL, FUNCTION)
    assert (first.name, second.name) == ("s1", "s2")
    for unit, own in ((first, KERNEL), (second, FUNCTION)):
        assert unit.text == f'#line 1 "s0"\n{text}\n#line 1 "{unit.name}"\n{own}'


@pytest.mark.parametrize(
    "text",
    [
        KERNEL,
        FUNCTION,
        "template <class T> __global__ void fill(T* x) {}",
        "__device__ int counter;",
        "__constant__ float table[4] = {1, 2};",
        'extern "C" { __device__ int v; }',
        "struct S { __device__ int m(); };\n__device__ int S::m() { return 1; }",
        "template <class T> __device__ T id(T x) { return x; }\n"
        "template <> __device__ int id<int>(int x) { return x; }",
        "int plain(int x) { return x; }",
    ],
)
def test_what_others_could_refer_to_is_a_unit(text: str):
    assert [unit.text for unit in units(text, FUNCTION)] == [text, FUNCTION]


def test_the_last_text_is_a_unit_whatever_it_is():
    (only,) = units("#define A 1", FUNCTION.replace("int", "static int"))
    assert (only.name, only.text.count("#line")) == ("s1", 2)
    assert [unit.name for unit in units(KERNEL, "#define A 1")] == ["s0", "s1"]
