"""Which sources are for which compiler, by their headers too, and which are units."""

from __future__ import annotations

import pytest

from tvmffi_cubin.device.units import Unit, make_units
from tvmffi_cubin.inline.files import read_files
from tvmffi_cubin.inline.options import make_request
from tvmffi_cubin.inline.request import Source
from tvmffi_cubin.sources.sort import HeaderCode, header_code, sort_sources

KERNEL = "template <typename T> __global__ void k(T* x) { *x = 1; }\n"
LAUNCHER = "template <typename T> void run(T* x) { k<<<1, 1>>>(x); }\n"
COMPATIBILITY = """#ifndef __CUDACC__
#define __global__
#endif
#define KERNEL __global__ void
// __global__ void k() {}  k<<<1, 1>>>();
"""
BY_ADDRESS = '#include "k.h"\nvoid f() { cudaLaunchKernel((void*)k<int>, 1, 1, nullptr, 0, 0); }\n'


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def inline(here, *sources, **options):
    made = make_request("m", cuda_sources=sources, extra_include_paths=[str(here)], **options)
    return made, sort_sources(made)


def of_files(here, **texts):
    for name, text in texts.items():
        (here / f"{name}.cu").write_text(text)
    files = read_files(sources=[here / f"{name}.cu" for name in texts])
    return sort_sources(make_request("m", files=files))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (KERNEL, HeaderCode(True, False)),
        (KERNEL + LAUNCHER, HeaderCode(True, True)),
        (COMPATIBILITY, HeaderCode(False, False)),
        (COMPATIBILITY + "KERNEL k() {}", HeaderCode(True, False)),
        ("#define MAKE(name) \\\n  __global__ void name() {}\nMAKE(a)", HeaderCode(True, False)),
        ("__global__ void a(int* x) { b<<<1, 1>>>(x); }", HeaderCode(True, False)),
        ('const char* text = "__global__ <<<";', HeaderCode(False, False)),
    ],
)
def test_what_headers_have_is_found_whoever_includes_them(here, text, found):
    (here / "deep.hpp").write_text(text)
    (here / "k.h").write_text('#include "deep.hpp"\n')
    made, _ = inline(here, "int f();")
    assert header_code(Source('#include "k.h"\n'), made) == found


def test_a_source_that_hands_its_kernels_to_a_header_s_launch_is_mixed(here):
    (here / "k.h").write_text("template <typename K> void run(K kernel) { kernel<<<1, 1>>>(); }\n")
    kernel = '#include "k.h"\n__global__ void k() {}\n'
    function = "void f() { run(k); }\n"
    helper = "constexpr int half(int n) { return n / 2; }\n"
    sources = (kernel + function, kernel, kernel + helper)
    assert [len(inline(here, x)[1].mixed) for x in sources] == [1, 0, 0]
    found = of_files(here, a=kernel + function, b=kernel)
    assert (len(found.mixed), len(found.device)) == (1, 1)
    (here / "k.h").write_text("template <typename K> void run(K kernel);\n")
    assert not inline(here, kernel + function)[1].mixed


def test_host_code_that_shares_a_header_with_kernels_stays_host_code(here):
    (here / "k.h").write_text(KERNEL)
    _, found = inline(here, BY_ADDRESS, kernel_sources='#include "k.h"\n')
    assert not found.mixed
    found = of_files(here, a=BY_ADDRESS, b='#include "k.h"\ntemplate __global__ void k(int*);\n')
    assert (len(found.mixed), len(found.device), len(found.files)) == (0, 1, 1)


# Units: what is compiled separately, and what belongs to all that follow


PLAIN = "__global__ void k(int* x) { x[0] = 1; }"
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
        "__device__ __forceinline__ int own(int x) { return x; }",
        "template <class T> __device__ T own(T x) { return x; }",
        "namespace { __device__ int own(int x) { return x; } __device__ int v; }",
        "static __constant__ int own; __device__ const float c[2] = {1, 2};",
    ],
)
def test_what_defines_nothing_for_others_comes_before_every_unit_after_it(text: str):
    first, second = units(text, PLAIN, FUNCTION)
    assert (first.name, second.name) == ("s1", "s2")
    for unit, own in ((first, PLAIN), (second, FUNCTION)):
        assert unit.text == f'#line 1 "s0"\n{text}\n#line 1 "{unit.name}"\n{own}'


@pytest.mark.parametrize(
    "text",
    [
        PLAIN,
        FUNCTION,
        "__device__ int counter;",
        'extern "C" { __device__ int v; }',
        "struct S { __device__ int m(); };\n__device__ int S::m() { return 1; }",
        "template <class T> __device__ T id(T x) { return x; }\n"
        "template <> __device__ int id<int>(int x) { return x; }",
        "int plain(int x) { return x; }",
    ],
)
def test_what_others_could_refer_to_is_a_unit(text: str):
    assert [unit.text for unit in units(text, FUNCTION)] == [text, FUNCTION]
