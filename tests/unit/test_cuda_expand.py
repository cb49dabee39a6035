"""Macros that hide definitions or parts of launches, expanded in place."""

from __future__ import annotations

import pytest

from tvmffi_cubin.cuda_text import expand, read

UNARY = (
    "#define UNARY(name, op) \\\n"
    "  __global__ void name##_kernel(float* x) { x[0] = op; f(#name); }\n"
)


def expanded(text: str) -> str:
    """Return a text's last line, expanded; all lines keep their numbers."""
    edited = expand(text)
    assert edited.text.count("\n") == text.count("\n")
    assert read(edited.text).problems == ()
    assert edited.place(text.count("\n") + 1, 1) == (text.count("\n") + 1, 1)
    return edited.text.split("\n")[-1]


def test_a_macro_that_defines_a_kernel():
    line = expanded(UNARY + "UNARY(relu, max(x[0], 0.f))")
    assert line == ('__global__ void relu_kernel(float* x) { x[0] = max(x[0], 0.f); f("relu"); }')
    assert read(line).items[0].names == ("relu_kernel",)


def test_an_invocation_over_several_lines_keeps_them():
    text = UNARY + "UNARY(abs,  // an absolute\n  fabs(x[0]));\nint y;\n"
    edited = expand(text)
    lines = edited.text.split("\n")
    assert lines[3:] == [";", "int y;", ""]
    assert edited.place(3, 30) == (3, 1)
    assert edited.place(5, 5) == (5, 5)


@pytest.mark.parametrize(
    ("macro", "use", "wanted"),
    [
        ("KERNEL(n) __global__ void n", "KERNEL(k)(int* x) {}", "__global__ void k(int* x) {}"),
        ("CONFIG <<<g, b>>>", "void f() { k CONFIG(x); }", "void f() { k <<<g, b>>>(x); }"),
        ("BEGIN namespace a {", "BEGIN }", "namespace a { }"),
        ("V(T, ...) __device__ T v[] = {__VA_ARGS__};", "V(int, 1, 2)",
         "__device__ int v[] = { 1, 2};"),
        ("V(T, args...) __device__ T v[] = {args};", "V(int)", "__device__ int v[] = {};"),
        ("V(x, ...) __device__ int v[] = {x __VA_OPT__(, __VA_ARGS__)};", "V(1, 2)",
         "__device__ int v[] = { 1, 2};"),
        ("V(x, ...) __device__ int v[] = {x __VA_OPT__(, __VA_ARGS__)};", "V(1)",
         "__device__ int v[] = { 1};"),
        ("V(x, ...) __device__ int v[] = {x, ##__VA_ARGS__};", "V(1)",
         "__device__ int v[] = { 1};"),
        ('S(x) __device__ char s[] = #x;', 'S( "a\\n" + b )',
         '__device__ char s[] = "\\"a\\\\n\\" + b";'),
        ("J(a, b) __device__ int a##_##b;", "J(x, 3)", "__device__ int x_3;"),
        ("J(a, b) __device__ int a##b;", "J(, y)", "__device__ int y;"),
    ],
)  # fmt: skip
def test_all_that_the_preprocessor_does(macro, use, wanted):
    assert expanded(f"#define {macro}\n{use}") == wanted


def test_a_macro_over_others_and_a_list_of_macros():
    text = "#define LAUNCH(k, ...) k CONFIG(__VA_ARGS__)\n#define CONFIG <<<g, b>>>\n"
    assert expanded(text + "void f() { LAUNCH(k, x); }") == "void f() { k <<<g, b>>> ( x); }"
    text = UNARY + "#define ALL(_) _(a, 1) _(b, 2)\n"
    names = [item.names for item in read(expanded(text + "ALL(UNARY)")).items]
    assert names == [("a_kernel",), ("b_kernel",)]


def test_macros_of_headers_are_known():
    edited = expand("UNARY(a, 1)", macros=read(UNARY).macros)
    assert edited.text.startswith("__global__ void a_kernel")


def test_a_macro_that_is_defined_anew_is_the_one_at_its_place():
    text = "#define D(n) __device__ int n;\nD(a)\n#undef D\n#define D(n) __device__ float n;\nD(b)"
    assert expand(text).text.split("\n")[1::3] == ["__device__ int a;", "__device__ float b;"]


@pytest.mark.parametrize(
    "text",
    [
        "#define HD __host__ __device__ inline\nHD int f();",
        "#define K extern \"C\" __global__ void\nK k() {}",
        "#define BOUNDS(n) __launch_bounds__(n)\n__global__ void BOUNDS(3) k() {}",
        "#define CHECK(x) do { if (x) throw 1; } while (0)\nvoid f() { CHECK(k<<<1, 2>>>(3)); }",
        "#define RUN(k) k<<<1, 2>>>(3)\nvoid f() { RUN(a); }",
        "#define HOST(n)\nHOST(3)\nint x;",
    ],
)  # fmt: skip
def test_macros_that_hide_nothing_stay(text):
    assert expand(text).text == text
    assert read(text).problems == ()


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        (UNARY + "UNARY(a)", 3, "it takes 2 arguments and is given 1"),
        (UNARY + "UNARY(a,\n#if X\n1\n#endif\n)", 3, "there is a directive among its arguments"),
        (f"#if A\n#define UNARY(a, b) __device__ int a;\n#else\n{UNARY}#endif\nUNARY(a, 1)", 7,
         "UNARY is defined in several ways"),
    ],
)  # fmt: skip
def test_what_cannot_be_expanded_is_a_problem(text, line, why):
    assert expand(text).text == text
    words = "the macro UNARY stands for what has to be cut, and cannot be expanded: "
    assert read(text).problems == ((line, words + why),)


@pytest.mark.parametrize(
    ("params", "expanded"),
    [
        ("float* x, COUNTED", "float* x, long* counters, int limit"),
        ("ARGS(float)", "float* x, int n, long* counters, int limit"),
        ("const T a, ARGS(T)\n", "const T a, T* x, int n, long* counters, int limit\n"),
        ("PTR(int) x, PTR(int)", "int* x, int*"),
        ("float* RESTRICT x, TYPE y = TYPE(3), int n = SUM(1, 2)", None),
        ("EITHER(int) x", None),
        ("float* x,\n#ifndef FIXED\nshort WIDTH, short DEPTH,\n#endif\nint n", None),
    ],
)
def test_macros_that_stand_for_parameters_of_kernels_are_expanded(params, expanded):
    macros = (
        "#define COUNTED long* counters, int limit\n#define ARGS(T) T* x, int n, COUNTED\n"
        "#define PTR(T) T*\n#define RESTRICT __restrict__\n#define TYPE float\n"
        "#define SUM(a, b) a + b\n"
        "#ifdef A\n#define EITHER(T) T\n#else\n#define EITHER(T) T*\n#endif\n"
        "#ifdef FIXED\n#define WIDTH 80\n#define DEPTH (2)\n#endif\n"
    )
    text = f"{macros}template <class T> __global__ void k({params}) {{}}\n"
    assert expand(text).text == text.replace(f"({params})", f"({expanded or params})")
    assert expand(text.replace("__global__", "__device__")).edits == ()


def test_parameters_that_a_macro_has_in_several_ways_are_a_problem():
    text = "#if A\n#define P int a, int b\n#else\n#define P int a\n#endif\n"
    ((line, words),) = read(expand(f"{text}__global__ void k(P) {{}}").text).problems
    assert (line, words) == (
        6,
        "the macro P stands for what has to be cut, and cannot be expanded: P is defined in "
        "several ways",
    )
