"""Calls of kernels without a configuration, and launches of functions, in host code."""

from __future__ import annotations

import pytest
from mixed_kit import host

KERNELS = """
#include <vector>
namespace ops { template <typename T> __global__ void fill(T* x, T value, int n = 1) {} }
__global__ void k(int* x);
__global__ void k(int* x) {}
void h(int* x) {}
"""
CALLED = 'static_assert(false, "{} is a kernel: launch it with <<<grid, block>>>")'
LAUNCHED = 'static_assert(false, "{} is a function and no kernel: put __global__ before it'


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ("k(nullptr);", "k"),
        ("h(nullptr); ::k ( nullptr );", "k"),
        ("if (x) k(nullptr); else k<<<1, 1>>>(nullptr);", "k"),
        ("if constexpr (sizeof(x) == 8) h(x); else k(x);", "k"),
        ("for (int i = 0; i < (1); ++i) k(x);", "k"),
        ("do k(x); while (false);", "k"),
        ("return k(x);", "k"),
        ("auto f = [&](int* y) { k(y); };", "k"),
        ("ops::fill<int>(x, 3);", "fill"),
        ("struct S { void g() { ::k(nullptr); } };", "k"),
        ("using ops::other; ops::fill(x, 3, int{4});", "fill"),
        ("::ops::fill(x, 3);", "fill"),
    ],
)
def test_a_kernel_that_is_called_is_told_at_the_call(body, name):
    text = host(KERNELS + f"void f(int* x) {{ {body} }}")
    assert text.count("static_assert") == 1
    assert CALLED.format(name) in text
    assert f"[] {{ {CALLED.format(name)}; }}(), " in text


@pytest.mark.parametrize(
    "source",
    [
        "void f(int* x) { k<<<1, 1>>>(x); auto g = k; auto p = &k; g<<<1, 1>>>(x); use(k); }",
        "void f(std::vector<int> v) { fill(v.begin(), v.end(), 0, 1); std::fill(v, 1, 2); }",
        "void f() { auto k = [](int* x) {}; k(nullptr); }",
        "void f(void (*k)(int*)) { k(nullptr); }",
        "template <auto k> void f() { k(nullptr); }",
        "struct S { void go(int*) {} }; void f(S s) { s.k(nullptr); other::k(nullptr); }",
        "struct S { void k(int*) {} void f() { k(nullptr); } };",
        "struct S : B { void f() { k(nullptr); } void g(); };\nvoid S::g() { k(nullptr); }",
        "#define CALL(k) \\\n  { k(nullptr); }\nvoid f() { CALL(h) }",
        "void k(double);\nvoid f() { k(2.0); }",
        'void f() { other k(nullptr); // ; k(nullptr);\n const char* s = "; k(nullptr);"; }',
        "template <typename T> void f(T x) { ops::fill<T><<<1, 1>>>(nullptr, x); }",
        "void f() { k<<<1, 1>>>(nullptr), h(nullptr); }",
        "void f(int* x) { fill(x, 0); ::fill(x, 0); } namespace b { void f() { fill(1, 2); } }",
        "using namespace std; void f(int* x) { k(x); }",
        "void f(std::vector<int*> v) { k(v.begin()); }",
        "void f() { auto g = [y = 3, k = &h](int* x) { k(x); }; }",
        "void f() { auto g = [&k{h}] { k(nullptr); }; }",
        "void f(decltype(&h) k) { k(nullptr); }",
        "void f() { decltype(auto) k = h; k(nullptr); }",
        "void f() { F g = h, k = h; k(nullptr); }",
        "void f() { struct k final { k(int*) {} }; k(nullptr); }",
    ],
)
def test_other_uses_of_a_kernel_s_name_are_left_alone(source):
    assert "static_assert" not in host(KERNELS + source)


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ("h<<<1, 1>>>(x);", "h"),
        ("::h<<<1, 1>>>(x);", "h"),
        ("k<<<1, 1>>>(x); for (;;) t<int><<<1, 1, 0, s>>>(3);", "t"),
        ("d<<<1, 1>>>();", "d"),
    ],
)
def test_a_function_that_is_launched_is_told_at_the_launch(body, name):
    more = "template <typename T> void t(T x) {}\n__device__ void d() {}\n"
    text = host(KERNELS + more + f"void f(int* x) {{ {body} }}")
    assert text.count("static_assert") == 1
    assert f"([] {{ {LAUNCHED.format(name)}" in text


@pytest.mark.parametrize(
    "source",
    [
        "void f(void (*h)(int*)) { h<<<1, 1>>>(nullptr); }",
        "void f() { auto h = &k; h<<<1, 1>>>(nullptr); (*h)<<<1, 1>>>(nullptr); }",
        "void f() { void (*const h)(int*) = k; h<<<1, 1>>>(nullptr); }",
        "template <void (*h)(int*)> void f() { h<<<1, 1>>>(nullptr); }",
        "template <auto h> void f() { h<<<1, 1>>>(nullptr); }",
        "struct S { void (*h)(int*); void f() { h<<<1, 1>>>(nullptr); } };",
        "void f() { auto g = [h = &k](int* x) { h<<<1, 1>>>(x); }; }",
        "void f(decltype(&k) h) { h<<<1, 1>>>(nullptr); }",
        "#define h k\nvoid f() { h<<<1, 1>>>(nullptr); }",
        "void f() { table[0]<<<1, 1>>>(nullptr); pick(h)<<<1, 1>>>(nullptr); }",
        "namespace n { __global__ void h(int* x) {} void f() { h<<<1, 1>>>(nullptr); } }",
    ],
)
def test_what_a_launch_takes_by_another_name_is_left_alone(source):
    assert "static_assert" not in host(KERNELS + source)


def test_a_kernel_of_a_namespace_is_told_where_it_is_called_from_within():
    text = host(KERNELS + "namespace ops { namespace { void f(int* x) { fill(x, 3); } } }")
    assert text.count(CALLED.format("fill")) == 1
