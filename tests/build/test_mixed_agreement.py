"""Both sides of a mixed source see the same types, or the build says that they do not."""

from __future__ import annotations

import pytest

import tvmffi_cubin as tc

# Wherever a type `S` may be that both sides have.
ALL_USES = """
__device__ S variable;
__constant__ S* pointer;
__device__ S* pointers[2];
__device__ S array[70000];
__global__ void take(S value, const S* __restrict__ at, S** rows) {
  if (sizeof(S) != SIZE) array[0] = variable, pointers[0] = pointer;
  static_assert(sizeof(S) == SIZE, "as on the host");
}
int f() {
  static_assert(sizeof(S) == SIZE, "as wanted");
  take<<<1, 1>>>(S{}, nullptr, nullptr);
  S s{};
  return cudaMemcpyToSymbol(variable, &s, 1) + cudaMemcpyToSymbol(pointer, &s, 1) +
         cudaMemcpyToSymbol(pointers, &s, 1) + cudaMemcpyToSymbol(array, &s, 1);
}"""

HAS_NAME = """
#include <string>
#include <type_traits>
#include <vector>
template <class T, class = void> struct HasName : std::false_type {};
template <class T>
struct HasName<T, std::void_t<decltype(std::declval<T>().name())>> : std::true_type {};
"""

# Texts that define S, and its size.
SAME = {
    "aligned as the host's compiler says, with fast integers": (
        """
#include <cstdint>
#if __GNUC__ >= 4
struct alignas(16) S { char a; int_fast32_t x; std::uint_fast16_t y; };
#else
struct S { float x; };
#endif""",
        32,
    ),
    "traits over a host's constructors and function": (
        f"""{HAS_NAME}
struct H {{ H(const std::string& s) : x(s.size()) {{}} H(int, std::string) : x(0) {{}} int x; }};
constexpr bool kIsPlain = std::is_default_constructible_v<H> || std::is_aggregate_v<H>;
struct N {{ int x; __host__ std::size_t name() const {{ std::string s; return s.size(); }} }};
struct S {{ std::conditional_t<!kIsPlain && HasName<N>::value, double, char> x; }};""",
        8,
    ),
    "a tensor map in a structure": (
        "#include <cuda.h>\nstruct S { int n; CUtensorMap map; };\n"
        "constexpr int kSize = CUDA_VERSION < 13000 ? 192 : 256;",
        "kSize",
    ),
    "by a macro for the host compiler": ("struct S { COUNTED x; };", 8),
}


@pytest.mark.parametrize(("text", "size"), SAME.values(), ids=SAME)
def test_both_sides_have_the_same_type(text, size):
    source = text + ALL_USES.replace("SIZE", str(size))
    # A macro for the host compiler is both sides', as with nvcc.
    flags = ["-Xcompiler", "-Wall,-DCOUNTED=double"]
    tc.build_inline("same", source, functions=["f"], arch="sm_90a", extra_cuda_cflags=flags)


BY_SIDE = """
#ifdef __CUDA_ARCH__
struct S { float a[2]; };
#else
struct S { float a; };
#endif
"""
KERNEL = "__global__ void k({}) {{}}\nint f() {{ k<<<1, 1>>>({}); return 0; }}"
VARIABLE = """{};
__global__ void k() {{ (void)&values; }}
int f() {{ k<<<1, 1>>>(); return cudaMemcpyToSymbol(values, nullptr, 4); }}"""
USES = {
    "a value": KERNEL.format("S s", "S{}"),
    "a pointer": KERNEL.format("const S* __restrict__ const s", "nullptr"),
    "a constant": VARIABLE.format("__constant__ S values[3]"),
    "an array of pointers": VARIABLE.format("__device__ S* values[3]"),
    "a large array": VARIABLE.format("__device__ S values[1 << 16]"),
}
COMPLEX = "#include <complex>\nstruct Z { float a; std::complex<float> z; };\n"
OF_HOST = """
#include <vector>
struct S {
  std::vector<int> sizes;
  int n;
};"""
LAYOUTS = {
    **{name: BY_SIDE + use for name, use in USES.items()},
    "a member's pointer": f"""{COMPLEX}
struct S {{ Z* z; int n; }};
{USES["a value"]}""",
    "no type": f"""{COMPLEX}
__global__ void k(void* x) {{ *static_cast<Z*>(x) = Z{{}}; }}
int f() {{ return k<<<1, 1>>>(new Z), 0; }}""",
    "a class of the host's": f"""{OF_HOST}
{USES["a pointer"]}""",
    "a class of the host's, by its address": f"""{OF_HOST}
__global__ void k(void* x) {{ S* s = static_cast<S*>(x); }}
int f() {{ return k<<<1, 1>>>(new S), 0; }}""",
    "a C structure in a namespace without a name": """
namespace {
typedef struct {
#ifdef __CUDA_ARCH__
  double a;
#endif
  int n;
} S;
__global__ void k(void* s) { static_cast<S*>(s)->n = 1; }
}
int f() { return k<<<1, 1>>>(new S), 0; }""",
    "a parameter of one side alone": """
#ifdef __CUDA_ARCH__
#define MORE , int y
#else
#define MORE
#endif
__global__ void k(int x MORE) {}
int f() { return k<<<1, 1>>>(1), 0; }""",
}


@pytest.mark.parametrize("source", LAYOUTS.values(), ids=LAYOUTS)
def test_what_the_sides_lay_out_differently_is_an_error_of_the_build(source):
    with pytest.raises(tc.CompileError, match="has different layouts in host and device code"):
        tc.build_inline("layouts", source, functions=["f"], arch="sm_90a")


@pytest.mark.parametrize(
    "kernel",
    [
        "__global__ void k(void* x) { static_cast<S*>(x)->n = 1; }",
        "template <class T> __device__ T* as(void* x) { return (T*)x; }\n"
        "__global__ void k(void* x) { as<S>(x)->n = 1; }",
        "struct Traits { using Row = S; };\n"
        "__global__ void k(void* x) { ((Traits::Row*)x)->n = 1; }",
    ],
)
def test_device_code_does_not_use_the_members_of_a_class_that_has_a_host_s(kernel):
    source = f"{OF_HOST}\n{kernel}\nint f() {{ return k<<<1, 1>>>(new S), 0; }}"
    with pytest.raises(tc.CompileError, match=r"host_s\.cu\(4\): error"):
        tc.build_inline("host_s", source, functions=["f"], arch="sm_90a")


def test_what_need_not_agree_is_built():
    source = """
struct H { __host__ __device__ virtual bool hit(float) const = 0; };
struct S : H { float r; __host__ __device__ bool hit(float x) const override { return x < r; } };
struct Shared {
  float tile[32];
#ifdef __CUDA_ARCH__
  long long barrier[2];
#endif
};
__global__ void k(S* s) { __shared__ Shared own; own.tile[0] = s->r; s->r = s->hit(own.tile[0]); }
int f() { return k<<<1, 1, sizeof(Shared)>>>(new S), 0; }"""
    tc.build_inline("alike", source, functions=["f"], arch="sm_90a")


BRANCH = """
template <class T> __global__ void k(T x) { static_assert(HasName<T>::value, "the host's branch"); }
int f() { k<<<1, 1>>>(H{}); return 0; }"""


MEMBERS = [
    "int name() const { std::string s; return s.size(); }",
    "__host__ std::size_t name(std::size_t n = 1) const noexcept { return n; }",
    "template <class T = int> T name() const { return std::vector<T>(1)[0]; }",
    "void name(cudaStream_t stream = nullptr) const { cudaStreamSynchronize(stream); }",
    "[[nodiscard]] inline __attribute__((always_inline)) int name() { return puts(nullptr); }",
]


def test_device_code_sees_that_a_class_has_a_host_function():
    classes = "".join(f"struct H{i} {{ int x; {text} }};\n" for i, text in enumerate(MEMBERS))
    launches = "".join(f"k<<<1, 1>>>(H{i}{{}});" for i in range(len(MEMBERS)))
    source = HAS_NAME + classes + BRANCH.replace("k<<<1, 1>>>(H{});", launches)
    tc.build_inline("branch", source, functions=["f"], arch="sm_90a")


@pytest.mark.parametrize(
    "member",
    [
        "std::string name() const { return {}; }",
        "auto name() const { return std::string(); }",
    ],
)
def test_one_that_device_code_cannot_declare_is_no_error(member, caplog):
    text = f"{HAS_NAME}using namespace std;\nstruct H {{ int x; {member} }};"
    tc.build_inline("branch", text + KERNEL.format("H h", "H{}"), functions=["f"], arch="sm_90a")
    assert caplog.messages == []


def test_a_call_of_a_host_function_is_told_by_its_name():
    text = "struct H { int x; int name() const { return x; } };"
    use = KERNEL.format("H h, int* x", "H{}, nullptr").replace("{}\n", "{ *x = h.name(); }\n")
    with pytest.raises(tc.CompileError, match=r"H::name\(\) const has no device code: define it"):
        tc.build_inline("call", text + use, functions=["f"], arch="sm_90a")


@pytest.mark.parametrize("arch", ["sm_90a", "sm_80"])
def test_one_of_several_architectures_that_differs_is_told(arch):
    only = BY_SIDE.replace("ifdef __CUDA_ARCH__", f"if __CUDA_ARCH__ / 10 == {arch[3:5]}")
    source = only + KERNEL.format("S* s", "nullptr")
    with pytest.raises(tc.CompileError, match="parameter 1 of k has different layouts"):
        tc.build_inline("layouts", source, functions=["f"], arch=["sm_80", "sm_90a"])
