"""What a source contains."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from tvmffi_cubin.sources.facts import KernelFact, read


def kernels(source: str) -> dict[str, KernelFact]:
    return {kernel.qualified: kernel for kernel in read(source).kernels}


def params(kernel: KernelFact) -> list[str]:
    return [f"{x.type_text}{'...' if x.pack else ''}|{x.name}" for x in kernel.params]


def test_parameters_of_every_shape():
    (kernel,) = read(
        "template <class T, int N, class... Ts> __global__ void k(int (*p)[16], void (*f)(int),\n"
        "  T q[N], S<T, 2>* s, const __grid_constant__ CUtensorMap m, const T (&r)[3],\n"
        "  const float* __restrict__ x, unsigned long long n = 3, float, const Own, struct B b,\n"
        "  [[maybe_unused]] alignas(16) A a, Ts... ts) {}"
    ).kernels
    assert kernel.is_template
    assert params(kernel) == [
        *("int (*)[16]|p", "void (*)(int)|f", "T[N]|q", "S<T, 2>*|s", "const CUtensorMap|m"),
        *("const T (&)[3]|r", "const float*|x", "unsigned long long|n", "float|", "const Own|"),
        *("struct B|b", "A|a", "Ts...|ts"),
    ]


def test_linkage_and_namespaces():
    found = kernels(
        'extern "C" { __global__ void a() {} namespace n { __global__ void b() {} } }\n'
        "namespace x::y { __global__ void c() {} namespace { __global__ void d(void) {} } }\n"
        'extern "C++" { static __global__ void e() {} }\n'
        'A_HEADER_S_BEGIN\nnamespace z { extern "C" __global__ void f() {} }\n'
    )
    assert {name: kernel.extern_c for name, kernel in found.items()} == {
        "a": True,
        "n::b": True,
        "x::y::c": False,
        "x::y::d": False,
        "e": False,
        "z::f": True,
    }
    assert found["x::y::d"].params == ()


@pytest.mark.parametrize(
    "text",
    [
        "// a line that goes on \\\n __global__ void k() {}",
        'const char* s = "\\"__global__ void k() {}";',
        'const char* s = R"x(__global__ void k() {})" )x";',
        "#define K __global__ void k() {}",
        "#if 0\n__global__ void k() {}\n#endif",
        "#ifndef __CUDACC_RTC__\n__global__ void k() {}\n#endif",
    ],
)
def test_text_that_only_looks_like_a_kernel(text):
    assert (kernels(text), read(text).kind) == ({}, "host")


@pytest.mark.parametrize(
    "text",
    [
        "#ifdef __CUDACC_RTC__\n__global__ void k() {}\n#endif",
        "#ifdef A\n#ifdef B\n__global__ void k() {}\n#endif\n#endif",
        "#if A\n__global__ void k(int a)\n#else\n__global__ void k(int b)\n#endif\n{ }",
        "template <class T> requires (sizeof(T) > 3) __global__ void k(T x) {}",
        "template <class T> requires a::B<T> && C __global__ void k(T x) {}",
        "__global__ __block_size__((32, 4, 2), (2, 1, 1)) void k(int n) {}",
        "FROM_A_HEADER(1) __global__ void __launch_bounds__(256, 2) k(int n) {}",
        'R"(" __global__ void no() {})"; auto c = u8\'"\'; __global__ void k() {}',
        "struct S { friend __global__ void no(int); };\n__global__ void k() {}",
        "A_HEADER_S(1)\ntemplate <class T> __global__ void k(T größe) {}",
    ],
)
def test_what_is_around_a_kernel_does_not_hide_it(text):
    assert [*kernels(text)] == ["k"]


def test_macros_that_make_kernels_are_expanded():
    source = (
        "#define GLOBAL __global__ void\n"
        "#define BOUNDS(n) __launch_bounds__(n)\n"
        '#define DEF(n, T) extern "C" GLOBAL BOUNDS(64) n##_##T(const T* x, \\\n'
        "    int size) { (void)#n; }\n"
        "#define UNUSED(n) __global__ void n() {}\n"
        "#define A A A __global__\n"
        "DEF(scale,\n"
        "    float)\n"
        "DEF(scale, half)\n"
        "GLOBAL plain(int n) {}\n"
    )
    found = kernels(source)
    assert [(name, kernel.extern_c) for name, kernel in found.items()] == [
        ("scale_float", True),
        ("scale_half", True),
        ("plain", False),
    ]
    assert params(found["scale_half"]) == ["const half*|x", "int|size"]
    assert read(source).kind == "device"


def test_what_a_macro_of_any_number_of_arguments_is_given_is_read():
    source = (
        "#define KERNEL(name, ...) __global__ void name(__VA_ARGS__)\n"
        "#define DISPATCH(T, ...) { TVM_FFI_ICHECK(true); using t = T; __VA_ARGS__; }\n"
        "KERNEL(scale, float* x, int n) {}\n"
        "void f() { DISPATCH(float, k<t> << <1, 1>> >(x, n)) }\n"
    )
    assert params(kernels(source)["scale"]) == ["float*|x", "int|n"]
    assert read(source).launches == {"k"}


KERNEL = 'extern "C" __global__ void k(int n) {}\n'


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        (KERNEL + "__host__ __device__ int f(int x) { return x; }", "device"),
        (KERNEL + "#ifndef __CUDACC_RTC__\nvoid f() { k<<<1, 1>>>(2); }\n#endif", "device"),
        ('extern "C" __global__ void k(int n);\nvoid f() { k<<<1, 1>>>(2); }', "host"),
        ("template <class T> __device__ T f(T x) { return x; }", "device"),
        ("__device__ int f() { return 1; }\nint g() { return 2; }", "host"),
        ("__host__ __device__ int f(int x) { return x; }", "host"),
        ("__global__ void k(int n);\n#include <tvm/ffi/function.h>", "host"),
        (KERNEL + "struct S { void f() { k<<<1, 1>>>(2); } };", "mixed"),
        (KERNEL + "#include <tvm/ffi/container/tensor.h>", "mixed"),
        (KERNEL + "void f() { tvm::ffi::TensorView x; }", "mixed"),
        (KERNEL + "int f(float* x) { return cudaMemcpyToSymbol(c, x, 16); }", "mixed"),
        (KERNEL + "void f() { cudaGridDependencySynchronize(); }", "device"),
        # An error in a body is NVRTC's to tell.
        ('extern "C" __global__ void k(int n) { if (a[0] { }\nint f() { return 1; }', "device"),
    ],
)
def test_the_kind_of_a_source(source, kind):
    assert read(source).kind == kind


BRANCHES = """
__global__ void scale_rows() {
  if constexpr (std::is_same<scalar_t, nv_bfloat16>::value) {
    if constexpr (GROUPS == 1) {
    }
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ < 800
  }
#endif
}
void run_scaled_by_rows(const scalar_t* input) {
  if (bit == 4) {
  }
  kernel<4><<<gridDim, blockDim, shared_mem_size, stream>>>(input);
}
"""


@pytest.mark.parametrize(("word", "in_host"), [("void", True), ("__device__ void", False)])
def test_a_launch_behind_brackets_within_branches_is_where_it_stands(word, in_host):
    facts = read(BRANCHES.replace("void run", f"{word} run"))
    assert facts.launches == ({"kernel"} if in_host else set())


def test_host_functions():
    facts = read(
        "namespace a { int f(int x); float* g() { return 0; } }\n__device__ int d() { return 1; }\n"
        "int (*pointer)(int);\nint value = f(3);\nMACRO(x);\nint S::h() { return 2; }\n"
        "TVM_FFI_DLL_EXPORT_TYPED_FUNC(run, a::g);\nint __tvm_ffi_go(void* x) { return 0; }\n"
    )
    assert [(x.qualified, x.defined) for x in facts.functions] == [
        ("a::f", False),
        ("a::g", True),
        ("S::h", True),
        ("__tvm_ffi_go", True),
    ]
    assert facts.exports == ("run", "go")


PIECES = (
    *("(", ")", "{", "}", "[", "<", ">", '"', "'", "/*", "*/", "//", "\\\n", 'R"(', ')"', "\0"),
    *("#if 0\n", "#if X\n", "#else\n", "#endif\n", "\n#define K __global__\n", "K", "F(", "<<<"),
    *("\n#define F(x) F(x) K {\n", ">>>", "::", "template <", "operator", "~", ";", "=", "é"),
    *("__global__ ", "1'000", 'extern "C" ', "namespace ", "\r\n", "requires ", "struct "),
)


def test_any_text_is_read():
    folder = Path(__file__).parents[1] / "mixed" / "sources"
    sources = [path.read_text() for path in sorted(folder.glob("*.cu"))]
    rnd = random.Random(3)
    for _ in range(1000):
        source = rnd.choice(sources)
        start, end = sorted(rnd.randrange(len(source)) for _ in range(2))
        source = source[start:end]
        for _ in range(rnd.randrange(12)):
            place = rnd.randrange(len(source) + 1)
            piece = rnd.choice(PIECES) * rnd.choice((1, 1, 1, 5))
            source = source[:place] + piece + source[place + rnd.choice((0, 0, 5, 100)) :]
        read(source)


@pytest.mark.parametrize(
    "text",
    [
        *("(", "{", "a<b>() ", "a<", "k<<<", '\\"', 'R"(', "/*", "#if X\n{\n"),
        *("template ", ") {", "#define A A A __global__\nA", "a_word_without_any_end"),
    ],
)
def test_time_is_linear_in_a_text_s_length(text):
    source = "#define F(x) __global__ x\n#define G(x) F(x)\n" + text * (50_000 // len(text))
    start = time.process_time()
    read(source + "k<<<1, 1>>>();")
    assert time.process_time() - start < 3
