"""What a CUDA source text consists of."""

from __future__ import annotations

import pytest
from cuda_items import cut, everything, items, only

from tvmffi_cubin.cuda_brackets import match_brackets
from tvmffi_cubin.cuda_lex import lex
from tvmffi_cubin.cuda_text import read


def shape(text: str) -> list[tuple[str, str]]:
    return [(item.kind, " ".join(item.names)) for item in everything(items(text))]


def test_a_kernel():
    text = (
        "template <typename T, int N = 4>\n__global__ void __launch_bounds__(128, 2)\n"
        "k(T* x, int n = max(1, 2)) { x[n] = N; }"
    )
    item = only(text)
    assert (item.kind, item.names, item.line) == ("function", ("k",), 1)
    assert item.words == {"__global__"}
    assert item.uses >= {"T", "N", "x", "n", "max", "k"}
    assert [param.name for param in item.template or ()] == ["T", "N"]
    assert [param.name for param in item.params or ()] == ["x", "n"]
    assert cut(text, item.body) == "{ x[n] = N; }"
    assert text[: item.declarator_end].endswith("max(1, 2))")


@pytest.mark.parametrize(
    ("text", "kind", "names", "words"),
    [
        ("int a, *b = nullptr, c[2] = {1, 2}, d{3};", "variable", "a b c d", ""),
        ("__constant__ float table[3];", "variable", "table", "__constant__"),
        ("static constexpr int n = a < b ? 1 : 2;", "variable", "n", "static constexpr"),
        ("dim3 block(16, 16);", "variable", "block", ""),
        ("auto [a, b] = f();", "variable", "a b", ""),
        ("void (*fp)(int) = nullptr;", "variable", "fp", ""),
        ("struct P { int x; } p, q;", "variable", "P p q", ""),
        ("struct cudaDeviceProp prop;", "variable", "prop", ""),
        ("S<int> s = {1};", "variable", "s", ""),
        ("struct A;", "type", "A", ""),
        ("template <class T> struct API A<T*> final : B<T>, C {};", "type", "A", ""),
        ("struct alignas(16) __attribute__((packed)) A { int x; };", "type", "A", ""),
        ("class A::B { };", "type", "B", ""),
        ("enum E : int { A, B = f(1, 2), };", "type", "E A B", ""),
        ("enum class E { A };", "type", "E", ""),
        ("enum class E : char;", "type", "E", ""),
        ("typedef struct { int x; } A;", "alias", "A", ""),
        ("typedef void (*fn)(int);", "alias", "fn", ""),
        ("using V = std::vector<int>;", "alias", "V", ""),
        ("template <class T> using V = T*;", "alias", "V", ""),
        ("template <class T> concept C = requires(T t) { t.x; };", "alias", "C", ""),
        ("template <class T> A(T) -> A<T>;", "alias", "A", ""),
        ("namespace a = b::c;", "alias", "a", ""),
        ("using namespace a::b;", "using", "", ""),
        ("using a::b, c::d;", "using", "b d", ""),
        ("using enum a::E;", "using", "", ""),
        ('static_assert(sizeof(int) == 4, "x;");', "assert", "", ""),
        ('asm(".global .b32 x;");', "other", "", ""),
        ("template __global__ void k<int>(int);", "instantiation", "k", "__global__"),
        ("extern template struct A<int>;", "instantiation", "A", ""),
        ("TVM_FFI_DLL_EXPORT_TYPED_FUNC(f, a::f);", "other", "", ""),
        ('TEST(a, b) { f("}"); }', "other", "", ""),
        ("int f();", "function", "f", ""),
        ("inline int f(A<(1 > 2)> a) noexcept(true) { return 1; }", "function", "f", "inline"),
        ("auto f(int x) -> decltype(x) { return x; }", "function", "f", ""),
        ("template <> __device__ int A<int>::f<2>() const && {}", "function", "A f", "__device__"),
        ("A::A(int x) : B<int>(x), y{x}, z(x)... {}", "function", "A A", ""),
        ("A::~A() try : x{1} {} catch (int) {} catch (...) {}", "function", "A ~A", ""),
        ("bool A::operator()(int x) {}", "function", "A operator()", ""),
        ("bool operator<(A a, A b) { return a.x < b.x; }", "function", "operator<", ""),
        ("A& operator>>(A& a, int b);", "function", "operator>>", ""),
        ("A::operator bool() const {}", "function", "A operator bool", ""),
        ("A operator\"\"_x(const char* s);", "function", "operator\"\"_x", ""),
        ("int (&f(int a))[3] {}", "function", "f", ""),
        ("[[nodiscard]] extern __host__ __device__ int f() __attribute__((x));",
         "function", "f", "extern __host__ __device__"),
        ('extern "C" __global__ void k() {}', "function", "k", "extern __global__"),
        ("template <class T> requires C<T> && (N > 1) int f(T) requires requires(T t) { t(); } {}",
         "function", "f", ""),
        ("void f(C auto x);", "function", "f", ""),
        ("void A::f() = delete;", "function", "A f", ""),
    ],
)  # fmt: skip
def test_declarations_of_every_kind(text, kind, names, words):
    item = only(text)
    assert (item.kind, " ".join(item.names), item.words) == (kind, names, set(words.split()))


def test_what_is_in_namespaces_linkage_blocks_and_classes():
    text = """
    #include <a.h>
    namespace a::b [[deprecated]] { namespace { int x; } inline namespace v1 {
    #include "b.h"
    void f(); } }
    extern "C" { void g();
    #include <c.h>
    }
    struct S : T<{1}> { S(); ~S() = default; explicit operator int();
      public: int x : 3, y = 2; friend void h(S s) {} bool operator==(const S&) const = default;
      template <class U> struct I { __device__ int m(U u) { return 1; } }; };
    """
    assert shape(text) == [
        ("include", ""),
        *[("namespace", "a b"), ("namespace", ""), ("variable", "x"), ("namespace", "v1")],
        *[("include", ""), ("function", "f"), ("linkage", ""), ("function", "g"), ("include", "")],
        *[("type", "S"), ("function", "S"), ("function", "~S"), ("function", "operator int")],
        *[("access", ""), ("variable", "x y"), ("function", "h"), ("function", "operator==")],
        *[("type", "I"), ("function", "m")],
    ]
    includes = [item for item in everything(items(text)) if item.kind == "include"]
    found = [(item.path, item.is_quoted, item.line) for item in includes]
    assert found == [("a.h", False, 2), ("b.h", True, 4), ("c.h", False, 7)]


def test_words_are_found_through_macros():
    text = """#define HD __host__ __device__
#define INLINE(x) HD inline x
#ifdef __CUDACC__
#define D __device__
#else
#define D
#endif
INLINE(static) int f();
D int g();
"""
    found = read(text)
    assert [macro.name for macro in found.macros] == ["HD", "INLINE", "D"]
    words = [item.words for item in found.items]
    assert words == [{"__host__", "__device__", "inline", "static"}, {"__device__"}]
    later = read("INLINE() int h();", macros=found.macros)
    assert later.items[0].words == {"__host__", "__device__", "inline"}


def test_brackets_through_conditionals():
    text = """
#ifdef __cplusplus
extern "C" {
#endif
void f() {
#if A
  if (x) {
#else
  {
#endif
  }
}
#if 0
it's {{{
#endif
int y;
#ifdef __cplusplus
}
#endif
int z;
"""
    assert read(text).problems == ()
    assert shape(text) == [
        *[("linkage", ""), ("function", "f"), ("variable", "y"), ("variable", "z")]
    ]


def test_brackets_that_do_not_match_are_problems():
    assert read("int a;\nvoid f() {\n  (]\n}").problems == (
        (2, "'{' is never closed"),
        (3, "'(' is never closed"),
        (3, "']' closes nothing"),
        (4, "'}' closes nothing"),
    )
    text = "void f()\n#if A\n{ if (x) {\n#else\n{\n#endif\n}\n"
    assert (2, "the branches of this #if leave different brackets open") in read(text).problems


@pytest.mark.parametrize(
    "head",
    [
        "__global__ void k(int a,\n#if A\nint b,\n#endif\nint\n#if B\n*\n#endif\nd) ",
        "__global__ void k(\n#if A\nint b\n#else\nfloat c\n#endif\n) ",
        "__global__ void k(\n#if A\nint b)\n#else\nfloat b)\n#endif\n",
        "__global__ void k(int a\n#if A\n, int b\n#endif\n" + ", int c" * 16 + ") ",
        "\n#if A\n__global__ void k(int a)\n#else\n__global__ void k(float a)\n#endif\n",
        "__global__ void\n#if A\nk(int a)\n#else\nk(float a)\n#endif\n",
        "\n#if A\n__global__ void k(int a) {\n#else\n__global__ void k() {\n#endif\n} void f()",
    ],
)
def test_a_kernel_whose_parameters_depend_on_a_conditional_is_a_problem(head):
    text = f"template <class T> {head} {{}}"
    ((_, words),) = read(text).problems
    assert words == (
        "the parameters of the kernel k depend on an #if: put the whole kernel into each of its "
        "branches"
    )
    assert read(text.replace("__global__", "__device__")).problems == ()


@pytest.mark.parametrize(
    "params",
    [
        "int a\n#if A\n, int b\n#endif\n",
        "\n#if A\nint a,\n#elif B\nint b, int c,\n#endif\nint d",
        "int a,\n#if A\nint b\n#else\nfloat b  // b\n#endif\n",
    ],
)
def test_a_kernel_whose_whole_parameters_depend_on_a_conditional_is_none(params):
    assert read(f"__global__ void k({params}) {{}}").problems == ()


def test_a_kernel_with_conditionals_elsewhere_is_none():
    text = (
        "#if A\n#ifdef __CUDACC__\n__global__\n#endif\n#if B\n__launch_bounds__(128)\n#endif\n"
        "void k(int a) {\n#if C\n#else\n#endif\n}\n#endif\n"
    )
    (item,) = read(text).items
    assert (item.names, read(text).problems) == (("k",), ())


def test_member_initialisers_of_both_branches_of_a_condition_are_one_function_s():
    text = (
        "S::S(int n)\n#if A\n: a(n), b{n}\n#else\n: b{n}, a(n)\n#endif\n{ f(); }\n"
        "int S::g() { return a; }"
    )
    assert shape(text) == [("function", "S S"), ("function", "S g")]
    first = items(text)[0]
    assert cut(text, first.body) == "{ f(); }"
    assert text[: first.declarator_end] == "S::S(int n)"


def test_a_kernel_whose_head_depends_on_a_conditional_up_to_its_parameters_is_none():
    text = """template <class T> __global__ void
#if __CUDA_ARCH__ >= 1000
__launch_bounds__(512, 4) k(
#else
k(
#endif
T* x, int n) {}
"""
    (item,) = read(text).items
    assert [param.name for param in item.params or ()] == ["x", "n"]
    assert (item.names, read(text).problems) == (("k",), ())


def test_a_launch_with_a_directive_before_its_arguments_is_a_problem():
    launch = "k<<<1,\n#if A\n 2\n#else\n 3\n#endif\n >>>(x);"
    text = f"void f() {{\n{launch}\nk<<<1, 2>>>(\n#if A\n#endif\n);\n}}"
    assert read(text).problems == (
        (2, "there is a directive within a launch, before its arguments"),
    )


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("PUSH\nN_BEGIN\nnamespace a { }\nN_END\n", "other, namespace a, other"),
        ("PUSH\nPUSH\ntemplate <class T> struct A {};", "other, type A"),
        ("PUSH(1)\n#include <a>\nPOP\n#include <b>\nint f();",
         "other, include, other, include, function f"),
        ("template <class T>\nDEPRECATED(1)\nint f() { return 1; }", "function f"),
        ("#define NO(...) __VA_ARGS__ __attribute__((noinline))\nstruct A { NO(int) f() {} };",
         "type A, function f"),
        ("#define f f\nint f(int);", "function f"),
    ],
)  # fmt: skip
def test_macros_beside_declarations(text, shapes):
    assert ", ".join(" ".join(one).strip() for one in shape(text)) == shapes


class Counted(list[str]):
    """Words that count how often one of them is read."""

    reads = 0

    def __getitem__(self, index):
        self.reads += 1
        return super().__getitem__(index)


@pytest.mark.parametrize(("text", "closed"), [("a < b < ", 0), ("a < b > c < ", 500)])
def test_of_very_many_angle_brackets_each_is_looked_at_once(text, closed):
    tokens = match_brackets(lex(text * 500)).tokens
    words = Counted(tokens.words)
    tokens = tokens._replace(words=words)
    found = [tokens.angle(i, len(words)) for i, word in enumerate(tokens.words) if word == "<"]
    assert sum(closer > 0 for closer in found) == closed
    assert words.reads < 10 * len(words)
