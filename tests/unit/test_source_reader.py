"""What a source contains."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from tvmffi_cubin.sources.facts import LaunchSite, ParamFact
from tvmffi_cubin.sources.reader import read


def kernels(source: str):
    return {kernel.qualified: kernel for kernel in read(source).kernels}


def names(source: str) -> list[str]:
    return [kernel.qualified for kernel in read(source).kernels]


def test_a_kernel_with_its_parameters():
    (kernel,) = read(
        'extern "C" __global__ void saxpy(float a, const float* __restrict__ x,\n'
        "    unsigned long long n = 3, float) {}"
    ).kernels
    assert (kernel.name, kernel.extern_c, kernel.template_params) == ("saxpy", True, None)
    assert (kernel.line, kernel.defined, kernel.internal) == (1, True, False)
    assert kernel.params == (
        ParamFact("a", "float"),
        ParamFact("x", "const float*"),
        ParamFact("n", "unsigned long long"),
        ParamFact("", "float"),
    )


def test_parameters_of_every_shape():
    (kernel,) = read(
        "template <class T, int N, class... Ts> __global__ void k(int (*p)[16], void (*f)(int),\n"
        "  T q[N], S<T, 2>* s, const __grid_constant__ CUtensorMap m, const T (&r)[3], Ts... ts) {}"
    ).kernels
    assert kernel.template_params == ("T", "N", "Ts")
    assert kernel.params == (
        ParamFact("p", "int (*)[16]"),
        ParamFact("f", "void (*)(int)"),
        ParamFact("q", "T [N]"),
        ParamFact("s", "S<T, 2>*"),
        ParamFact("m", "const CUtensorMap"),
        ParamFact("r", "const T (&)[3]"),
        ParamFact("ts", "Ts", pack=True),
    )


def test_linkage_and_namespaces():
    found = kernels(
        'extern "C" { __global__ void a() {} namespace n { __global__ void b() {} } }\n'
        "namespace x::y { __global__ void c() {} namespace { __global__ void d(void) {} } }\n"
        'extern "C++" { static __global__ void e() {} }\n'
    )
    assert [(name, kernel.extern_c, kernel.internal) for name, kernel in found.items()] == [
        ("a", True, False),
        ("n::b", True, False),
        ("x::y::c", False, False),
        ("x::y::d", False, True),
        ("e", False, True),
    ]
    assert found["x::y::d"].params == ()


@pytest.mark.parametrize(
    "declaration",
    [
        "__global__ void __launch_bounds__(256, 2) k(int n)",
        "__launch_bounds__(N * (2 + 1)) __global__ void k(int n)",
        "void __global__ k(int n)",
        "__global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(128) k(int n)",
        "__global__ __block_size__((32, 4, 2), (2, 1, 1)) void k(int n)",
        "__global__ void __maxnreg__(64) k(int n)",
        "__global__ __attribute__((noinline)) void k(int n)",
        "__global__ __noinline__ static void k(int n)",
        "__global__ auto k(int n) -> void",
        "__global__ void\nk /* here */ (int n)",
    ],
)
def test_attributes_do_not_hide_a_kernel(declaration):
    (kernel,) = read(f'extern "C" {declaration} {{ n; }}').kernels
    assert (kernel.name, kernel.defined) == ("k", True)
    assert kernel.params == (ParamFact("n", "int"),)


@pytest.mark.parametrize(
    "text",
    [
        "// __global__ void k() {}",
        "// a line that goes on \\\n __global__ void k() {}",
        "/* __global__ void k() {} */",
        'const char* s = "__global__ void k() {}";',
        'const char* s = "\\"__global__ void k() {}";',
        'const char* s = R"x(__global__ void k() {})" )x";',
        "#define K __global__ void k() {}",
        "#if 0\n__global__ void k() {}\n#endif",
        "#if 1\n#else\n__global__ void k() {}\n#endif",
        "#ifndef __CUDACC_RTC__\n__global__ void k() {}\n#endif",
        "int my__global__x; int __global__ish();",
        "int n = 1'000'000; // __global__ void k() {}",
    ],
)
def test_text_that_only_looks_like_a_kernel(text):
    assert names(text) == []
    assert read(text).kind == "host"


@pytest.mark.parametrize(
    "text",
    [
        "#if 0\n#else\n__global__ void k() {}\n#endif",
        "#if 0\n#elif 1\n__global__ void k() {}\n#endif",
        "#ifdef __CUDACC_RTC__\n__global__ void k() {}\n#endif",
        "#ifdef A\n#ifdef B\n__global__ void k() {}\n#endif\n#endif",
        "#if __CUDA_ARCH__ >= 900\n__global__ void k() {}\n#else\n#endif",
        "char c = '\"'; __global__ void k() {} char d = '\"';",
        "int n = 1'000; __global__ void k() {} int m = 1'000;",
    ],
)
def test_kernels_in_branches_that_may_be_compiled(text):
    assert names(text) == ["k"]


def test_macros_that_make_kernels_are_expanded():
    source = (
        "#define GLOBAL __global__ void\n"
        "#define BOUNDS(n) __launch_bounds__(n)\n"
        '#define DEF(n, T) extern "C" GLOBAL BOUNDS(64) n##_##T(const T* x, \\\n'
        "    int size) { (void)#n; }\n"
        "#define UNUSED(n) __global__ void n() {}\n"
        "DEF(scale,\n"
        "    float)\n"
        "DEF(scale, half)\n"
        "GLOBAL plain(int n) {}\n"
    )
    found = kernels(source)
    assert [(name, kernel.extern_c, kernel.line) for name, kernel in found.items()] == [
        ("scale_float", True, 6),
        ("scale_half", True, 8),
        ("plain", False, 9),
    ]
    assert found["scale_half"].params == (ParamFact("x", "const half*"), ParamFact("size", "int"))
    assert read(source).kind == "device"


def test_macros_that_never_end_are_given_up():
    assert read("#define A A A __global__\nA void k() {}").kind in ("device", "host")


def test_definitions_declarations_and_instantiations():
    source = (
        "template <class T> __global__ void k(T* x);\n"
        "__global__ void d(int);\n"
        "template __global__ void k<float>(float*);\n"
        "template <> __global__ void k<int>(int* y) {}\n"
    )
    assert [(kernel.name, kernel.defined) for kernel in read(source).kernels] == [
        ("k", False),
        ("d", False),
        ("k<float>", True),
        ("k<int>", True),
    ]


@pytest.mark.parametrize(
    "body",
    ["a[0] = ", "if (a[0] {", "foo", "a[0] = {1;", "static_assert(sizeof(a) > 3"],
)
def test_an_error_in_a_body_makes_no_host_source(body):
    facts = read(f'extern "C" __global__ void k(float* a) {{ {body} }}\nint f() {{ return 1; }}')
    assert facts.kind == "device"
    assert facts.kernels[0].name == "k"


KERNEL = 'extern "C" __global__ void k(int n) {}\n'


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("", "host"),
        ("int main() { return 0; }", "host"),
        (KERNEL, "device"),
        (KERNEL + "__host__ __device__ int f(int x) { return x; }", "device"),
        (KERNEL + "constexpr int f(int x) { return x; }", "device"),
        (KERNEL + "// tvm::ffi TVM_FFI_X <<<1, 1>>>", "device"),
        (KERNEL + "__global__ void l() { k<<<1, 1>>>(2); }", "device"),
        (KERNEL + "#ifndef __CUDACC_RTC__\nvoid f() { k<<<1, 1>>>(2); }\n#endif", "device"),
        ('extern "C" __global__ void k(int n);\nvoid f() { k<<<1, 1>>>(2); }', "host"),
        ("__device__ float f(float x) { return x; }", "device"),
        ("template <class T> __device__ T f(T x) { return x; }", "device"),
        ("__constant__ float table[4];\nstruct S { __device__ void f(); };", "device"),
        ("#define DEV __device__ inline\nDEV float f(float x) { return x; }", "device"),
        ("__device__ int f() { return 1; }\nint g() { return 2; }", "host"),
        ("__device__ int f() { return 1; }\nTVM_FFI_DLL_EXPORT_TYPED_FUNC(f, f);", "host"),
        ("__host__ __device__ int f(int x) { return x; }", "host"),
        ("#define N 4\n#include <cuda_fp16.h>\n// __device__", "host"),
        ("__global__ void k(int n);\n#include <tvm/ffi/function.h>", "host"),
        (KERNEL + "void f() { k<<<1, 1>>>(2); }", "mixed"),
        (KERNEL + "struct S { void f() { k<<<1, 1>>>(2); } };", "mixed"),
        (KERNEL + "#define GO k<<<1, 1>>>(2)\nvoid f() { GO; }", "mixed"),
        (KERNEL + "#include <tvm/ffi/container/tensor.h>", "mixed"),
        (KERNEL + "void f(tvm::ffi::TensorView x) {}", "mixed"),
        (KERNEL + "TVM_FFI_DLL_EXPORT_TYPED_FUNC(f, f);", "mixed"),
        ('#include "torch/extension.h"\n' + KERNEL, "mixed"),
    ],
)
def test_the_kind_of_a_source(source, kind):
    assert read(source).kind == kind


BRANCHES = """
__global__ void scale_rows_by_what_it(
    bool is_for_all_them) {
  if constexpr (std::is_same<scalar_t, nv_bfloat16>::value) {
    if constexpr (GROUPS == 1) {
    }
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ < 800
  }
#endif
}
void run_scaled_by_rows(const scalar_t* input, scalar_t* output,
                        bool has_rows, bool is_for_all) {
  if (bit == 4) {
    if (ROWS_A_BLOCK / row_size == 2) {
    }
  }
  kernel<<<gridDim, blockDim, shared_mem_size, stream>>>(
      ROWS_A_BLOCK, has_rows, is_for_all_them);
}
::own::Tensor scaled_by_rows(::own::Tensor input, ::own::Tensor output,
                             int64_t ROWS_A_BLOCK, int64_t bit) {
  OWN_CHECKS(size_k % ROWS_A_BLOCK == 0,
              "ROWS_A_BLOCK // row_size must be one of [1, 2, 4, 8]");
  if (input.scalar_type() == ::own::ScalarType::Half) {
    run_scaled_by_rows<half>(
        row_zeros.has_value(), row_weights.has_value());
  }
}
"""


@pytest.mark.parametrize(("word", "kind"), [("void", "mixed"), ("__device__ void", "device")])
def test_a_launch_behind_brackets_within_branches_is_where_it_stands(word, kind):
    facts = read(BRANCHES.replace("void run", f"{word} run"))
    is_host = kind == "mixed"
    assert facts.launches == (LaunchSite("kernel<<<...>>>", 17, is_host),)
    assert facts.kind == kind


def test_a_mixed_source_comes_with_evidence():
    facts = read(
        f"#include <tvm/ffi/function.h>\n{KERNEL}\nvoid f() {{\n  k<<<1, 1>>>(2);\n}}\n"
        "TVM_FFI_DLL_EXPORT_TYPED_FUNC(f, f);\n"
    )
    assert [str(use) for use in facts.evidence] == [
        "line 2: __global__ k",
        "line 1: #include <tvm/ffi/function.h>",
        "line 5: k<<<...>>> in host code",
        "line 7: TVM_FFI_DLL_EXPORT_TYPED_FUNC",
    ]
    assert facts.includes[0].text == "tvm/ffi/function.h"


def test_host_functions():
    facts = read(
        "namespace a { int f(int x); float* g() { return 0; } }\n__device__ int d() { return 1; }\n"
        "int (*pointer)(int);\nint value = f(3);\n"
    )
    assert [(x.qualified, x.line, x.defined) for x in facts.functions] == [
        ("a::f", 1, False),
        ("a::g", 1, True),
    ]


def test_windows_line_ends_and_any_text_are_read():
    assert kernels("// a\r\n__global__ void k() {}\r\n")["k"].line == 2
    assert names("__global__ void k(int größe) {} // ü\n__global__ void l() {}") == ["k", "l"]


def test_deep_nests_do_not_exhaust_the_stack():
    depth = 2000
    nest = "namespace n { " * depth + "__global__ void k() {}" + " }" * depth
    assert len(read(nest).kernels) == 1


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("#if A\n__global__ void k(int a)\n#else\n__global__ void k(int b)\n#endif\n{ }", ["k"]),
        ("#if A\nvoid f() {\n#else\nvoid f(int) {\n#endif\n}\n__global__ void k() {}", ["k"]),
        ("FROM_A_HEADER(1) __global__ void FROM_A_HEADER(2) k(int n) {}", ["k"]),
        ("template <class T> requires (sizeof(T) > 3) __global__ void k(T x) {}", ["k"]),
        (
            "int a[] = {1, 2}, b{3};\nstruct S : T<(1 > 2)> { int x; };\n__global__ void k() {}",
            ["k"],
        ),
        ("S::S() : a{1}, b(2) { }\nbool operator()(int) { }\n__global__ void k() {}", ["k"]),
        ('R"(" __global__ void no() {})"; auto c = u8\'"\'; __global__ void k() {}', ["k"]),
        ("struct S { friend __global__ void no(int); };\n__global__ void k() {}", ["k"]),
        ("int f( { ;\n__global__ void k() {}", ["k"]),
        ("void f() {\n__global__ void k(int n) {}", ["k"]),
    ],
)
def test_what_is_around_a_kernel_does_not_hide_it(source, found):
    assert names(source) == found


def test_params_that_a_conditional_divides_are_not_known():
    (kernel,) = read("__global__ void k(int a,\n#if A\n int b\n#else\n int c\n#endif\n) {}").kernels
    assert kernel.params is None


PIECES = (
    *(
        "(",
        ")",
        "{",
        "}",
        "[",
        "<",
        ">",
        '"',
        "'",
        "/*",
        "*/",
        "//",
        "\\\n",
        'R"(',
        ')"',
        "\\",
        "\0",
    ),
    *("#if 0\n", "#if X\n", "#else\n", "#endif\n", "\n#define K __global__\n", "K", "F(", "<<<"),
    *(
        "\n#define F(x) F(x) K {\n",
        ">>>",
        "::",
        "template <",
        "template ",
        "operator",
        "~",
        ";",
        "=",
    ),
    *("__global__ ", "1'000", 'extern "C" ', "namespace ", "\r\n", "é", "requires ", "struct "),
)


def test_any_text_is_read_and_places_are_those_of_the_source():
    folder = Path(__file__).parents[1] / "mixed" / "sources"
    sources = [path.read_text() for path in sorted(folder.glob("*.cu"))]
    rnd = random.Random(3)
    for _ in range(1500):
        source = rnd.choice(sources)
        start, end = sorted(rnd.randrange(len(source)) for _ in range(2))
        source = source[start:end]
        for _ in range(rnd.randrange(12)):
            place = rnd.randrange(len(source) + 1)
            piece = rnd.choice(PIECES) * rnd.choice((1, 1, 1, 5))
            source = source[:place] + piece + source[place + rnd.choice((0, 0, 5, 100)) :]
        for kernel in read(source).kernels:
            if kernel.span:
                first, last, body = kernel.span
                assert (source[first - 1], source[last]) == ("(", ")")
                assert body is None or source[body - 1] == "{"


@pytest.mark.parametrize(
    "text",
    [
        *(
            "(",
            "{",
            "{}",
            "a{} ",
            "a<",
            "a<b>() ",
            "namespace {",
            "struct A {",
            "__global__ ",
            "k<<<",
        ),
        *('\\"', "'\\", 'R"(', "/*", "#define x /*", "#if X\n{\n", "template ", "A<B>::", "F(G("),
        *(
            "__global__ void k(int x) {}",
            "__device__ int a, b = {1};",
            "#define A A A __global__\nA",
        ),
    ],
)
def test_time_is_linear_in_a_text_s_length(text):
    source = "#define F(x) __global__ x\n#define G(x) F(x)\n" + text * (50_000 // len(text))
    start = time.process_time()
    read(source + "k<<<1, 1>>>();")
    assert time.process_time() - start < 3


def test_many_kernels_are_read_in_little_time():
    body = "".join(f"  x[{line}] = f(x[{line}], n);  // line\n" for line in range(8))
    source = "".join(
        f"__global__ void k{index}(float* __restrict__ x, int n) {{\n{body}}}\n"
        for index in range(500)
    )
    start = time.process_time()
    assert len(read(source).kernels) == 500
    assert time.process_time() - start < 0.3  # 30 ms where nothing else runs
