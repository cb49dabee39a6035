"""What NVRTC is given of mixed sources."""

from __future__ import annotations

from mixed_kit import cut, device, pretended_cuda


def test_host_functions_and_what_only_they_name_are_left_out():
    text = device(
        "#include <vector>\n"
        "struct OnHost { std::vector<int> x; };\nstruct Used { int x; };\n"
        "using Names = std::vector<int>;\n"
        "static int counter = 0;\n"
        "__global__ void k(Used u) { u.x; }\n"
        "int f(OnHost h, Names n) { k<<<1, 1>>>({1}); return counter; }\n"
        "int declared(OnHost h);"
    )
    assert text == "struct Used { int x; };\n__global__ void k(Used u) { u.x; }"


def test_constants_aliases_and_enums_stay_where_device_code_names_them():
    text = device(
        "constexpr int kBlock = 256;\nconstexpr int kUnused = 1;\n"
        "const float kTable[2] = {1, 2};\n"
        "enum { kRows = 4, kCols };\nusing Scalar = float;\n"
        "__global__ void k(Scalar* x) { x[kBlock] = kTable[0] + kCols; }\nvoid f() {}"
    )
    assert text == (
        "constexpr int kBlock = 256;\nconst float kTable[2] = {1, 2};\n"
        "enum { kRows = 4, kCols };\nusing Scalar = float;\n"
        "__global__ void k(Scalar* x) { x[kBlock] = kTable[0] + kCols; }"
    )


def test_what_macros_name_counts_as_named():
    text = device(
        "constexpr int kBlock = 256;\n"
        "#define INNER kBlock\n#define SIZE(x) (INNER * (x))\n"
        "__global__ void k(int* x) { x[SIZE(2)] = 1; }\nvoid f() {}"
    )
    assert text.startswith("constexpr int kBlock = 256;\n#define INNER")


def test_constexpr_functions_stay_where_device_code_names_them():
    text = device(
        "constexpr int twice(int x) { return 2 * x; }\n"
        "constexpr int thrice(int x) { return 3 * x; }\n"
        "__global__ void k(int* x) { *x = twice(3); }\nvoid f() {}"
    )
    assert "twice(int x)" in text
    assert "thrice" not in text


def test_functions_of_both_sides_stay_but_where_the_host_alone_names_them():
    text = device(
        "__host__ __device__ int a() { return 1; }\n"
        "__host__ __device__ int b() { return 1; }\n"
        "__host__ __device__ int operator+(S, S) { return 1; }\n"
        "__global__ void k(int* x) { *x = a(); }\nint f() { return b(); }"
    )
    assert "int a()" in text
    assert "int b()" not in text
    assert "operator+" in text


def test_variables_lose_the_word_that_only_functions_may_have_here():
    text = device(
        "#define BOTH __host__ __device__\n#define ALL BOTH static constexpr\n"
        "template <typename T> BOTH constexpr T kMost = T(7);\n"
        "ALL int kTwo = 2;\n__host__ __device__ const int kOne = 1;\n"
        "BOTH int f() { return 1; }\n"
        "__global__ void k(int* x) { *x = kOne + kTwo + kMost<int> + f(); }\nvoid g() {}"
    )
    assert text == (
        "#define BOTH __host__ __device__\n#define ALL BOTH static constexpr\n"
        "template <typename T> __device__ constexpr T kMost = T(7);\n"
        "__device__ constexpr static int kTwo = 2;\n__device__ const int kOne = 1;\n"
        "BOTH int f() { return 1; }\n"
        "__global__ void k(int* x) { *x = kOne + kTwo + kMost<int> + f(); }"
    )


def test_lambdas_of_device_code_lose_their_execution_spaces():
    text = device(
        "#define HD __host__ __device__\n#define LAMBDA [=] __device__\n"
        "struct S { __device__ void f() { [] __device__ {}(); } void g() { [] {}(); } };\n"
        "__global__ void k(S* x) {\n"
        "auto f = [&] __device__(int a) { return x[a]; };\n"
        "auto g = [=] HD (int a) mutable { return a; };\n"
        "auto h = LAMBDA(int a) { return f(a); };\n"
        "}\nvoid f() {}"
    )
    assert text == (
        "#define HD __host__ __device__\n#define LAMBDA [=]\n"
        "struct S { __device__ void f() { []            {}(); }                       };\n"
        "__global__ void k(S* x) {\n"
        "auto f = [&]           (int a) { return x[a]; };\n"
        "auto g = [=]    (int a) mutable { return a; };\n"
        "auto h = LAMBDA(int a) { return f(a); };\n"
        "}"
    )


def test_host_members_are_left_out():
    text = device(
        "struct S {\n"
        "S() = default;\n"
        "S(std::string s) : n(s.size()) {}\n"
        "std::string name() const;\n"
        "virtual int table() { return f(); }\n"
        "constexpr int c() const { return 2; }\n"
        "__host__ __device__ int both() { return 1; }\n"
        "int n;\n"
        "};\n__global__ void k(S s) {}\nvoid f() {}"
    )
    assert text == (
        "struct S {\n"
        "S() = default;\n"
        "virtual int table();\n"
        "constexpr int c() const { return 2; }\n"
        "__host__ __device__ int both() { return 1; }\n"
        "int n;\n"
        "};\n__global__ void k(S s) {}"
    )


def test_members_of_templates_stay_that_name_only_what_they_get():
    text = device(
        "template <typename T> struct Most {\n"
        "T operator()(const T& a, T b) { return max(a, b * scale); }  // std::max\n"
        "struct In { T twice(T x) { return x + x; } };\n"
        "T named() { return std::max(scale, T()); }\n"
        "T of(string x) { return x.size(); }\n"
        "T declared();\n"
        "T scale;\n"
        "};\n__global__ void k(Most<int> m) {}\nvoid f() {}"
    )
    assert text == (
        "template <typename T> struct Most {\n"
        "T operator()(const T& a, T b) { return max(a, b * scale); }  // std::max\n"
        "struct In { T twice(T x) { return x + x; } };\n"
        "T scale;\n"
        "};\n__global__ void k(Most<int> m) {}"
    )


def test_headers_that_nvrtc_does_not_find_are_left_out(tmp_path):
    done = cut(
        "#include <vector>\n#include <cuda_fp16.h>\n#include <tvm/ffi/function.h>\n"
        "__global__ void k() {}\nvoid f() {}",
        folder=pretended_cuda(tmp_path),
    )
    assert "vector" not in done.device.text
    assert "tvm" not in done.device.text
    assert "#include <cuda_fp16.h>" in done.device.text
    assert done.host.text.count("#include") == 3


def test_headers_of_cuda_s_that_are_nowhere_stay_for_nvrtc_to_miss_where_device_code_needs_them():
    text = "#include <curand_kernel.h>\n#include <vector>\n#include <cub/cub.cuh>\n"
    done = cut(f"{text}__global__ void k() {{ curandState s; }}\nvoid f() {{}}")
    assert "#include <curand_kernel.h>" in done.device.text
    assert done.device.text.count("#include") == 1
    done = cut(f"{text}__global__ void k() {{}}\nvoid f() {{ curandState s; }}")
    assert "#include" not in done.device.text


def test_headers_for_device_code_are_left_out_of_host_code_that_names_nothing_of_them(tmp_path):
    text = "#include <cooperative_groups.h>\n#include <cuda/std/array>\n"
    text += "using namespace cooperative_groups;\n"
    folder = pretended_cuda(tmp_path)
    done = cut(f"{text}__global__ void k() {{ this_grid(); }}\nvoid f() {{}}", folder=folder)
    assert done.left_out == ("cooperative_groups.h", "cuda/std/array")
    assert "#include" not in done.host.text
    assert "using" not in done.host.text
    assert "using namespace cooperative_groups;" in done.device.text
    assert done.with_left_out().host.text.startswith(f'#line 1 "a.cu"\n{text}')
    named = cut(f"{text}__global__ void k(cuda::T x) {{}}\nvoid f() {{}}", folder=folder)
    assert named.left_out == ("cooperative_groups.h",)


def test_headers_that_only_device_code_can_have_are_never_the_hosts(tmp_path):
    text = "#include <cub/block/block_reduce.cuh>\n#include <cooperative_groups/reduce.h>\n"
    text += "using namespace cooperative_groups;\n__global__ void k(cub::T x) {}\nvoid f() {}"
    folder = pretended_cuda(tmp_path)
    (folder / "cooperative_groups").mkdir(exist_ok=True)
    (folder / "cooperative_groups" / "reduce.h").touch()
    done = cut(text, folder=folder).with_left_out()
    assert done.left_out == ()
    assert "#include" not in done.host.text
    assert "using" not in done.host.text


def test_host_code_that_names_something_of_cub_has_a_header_of_ours_instead(tmp_path):
    text = "#include <cub/cub.cuh>\nusing namespace cub;\n__global__ void k() {}\n"
    folder = pretended_cuda(tmp_path)
    (folder / "cub" / "cub.cuh").touch()
    done = cut(f"{text}int f() {{ return sizeof(cub::T); }}", folder=folder)
    assert done.stand_ins == ("tvmffi_cubin/mixed/cub.h",)
    assert done.left_out == ()
    assert "using namespace cub;" in done.host.text
    assert "#include" not in done.host.text
    unnamed = cut(f"{text}int f() {{ return sizeof(T); }}", folder=folder)
    assert unnamed.stand_ins == ()
    assert unnamed.left_out == ("cub/cub.cuh",)
    assert "using" not in unnamed.host.text
    assert unnamed.with_left_out().stand_ins == done.stand_ins


def test_host_code_that_names_types_of_tensor_cores_has_them_from_a_header_of_ours(tmp_path):
    text = "#include <mma.h>\n#include <cuda_pipeline.h>\nusing namespace nvcuda;\n"
    text += "struct S { static const int k = 1; using F = wmma::fragment<wmma::matrix_a, 1>; };\n"
    text += "template <class T> __global__ void k() { typename T::F f; }\n"
    folder = pretended_cuda(tmp_path)
    (folder / "cuda_pipeline.h").touch()
    done = cut(f"{text}void f() {{ k<S><<<S::k, 1>>>(); }}", folder=folder)
    assert done.left_out == ("mma.h", "cuda_pipeline.h")
    again = done.with_left_out()
    assert again.stand_ins == ("tvmffi_cubin/mixed/nvcuda.h",)
    assert "using namespace nvcuda;" in again.host.text
    assert "#include" not in again.host.text


def test_assertions_go_where_everything_that_they_name_is():
    source = (
        "struct A { int x; };\nstruct B { std::string x; };\n"
        'static_assert(sizeof(A) == 4, "A");\nstatic_assert(sizeof(B) > 4, "B");\n'
        "__global__ void k() { A a; }\nvoid f(B) {}"
    )
    done = cut(source)
    assert '"A"' in done.device.text
    assert '"B"' not in done.device.text
    assert '"A"' not in done.host.text
    assert '"B"' in done.host.text


def test_namespaces_that_are_not_there_are_not_made_visible():
    text = device(
        "namespace own { struct S {}; }\nusing namespace own;\nusing namespace tvm::ffi;\n"
        "using namespace std;\n__global__ void k(S s) {}\nvoid f() {}"
    )
    assert "using namespace own;" in text
    assert "using namespace std;" in text
    assert "tvm" not in text


def test_columns_of_the_device_text_are_the_users():
    source = "int f(); __global__ void k(int* x) { *x = 1; } int g();"
    made = cut(source).device.sources[0].edited.text
    assert made.index("*x = 1") == source.index("*x = 1")
    assert len(made) == len(source)


def test_what_nvrtc_cannot_compile_is_left_out_if_names_alone_put_it_there():
    done = cut(
        "struct text { std::string s; };\n"
        "struct S {\nconstexpr int bad() const { return h(); }\nint x;\n};\n"
        "__global__ void k(S s) { int text = 1; }\nvoid f(text) {}"
    )
    again = done.without("device", [("a.cu", 1)])
    assert again is not None
    assert "std::string" not in again.device.text
    assert "std::string" in again.host.text
    more = again.without("device", [("a.cu", 3)])
    assert more is not None
    assert "bad" not in more.device.text
    assert "int x;" in more.device.text
    assert "std::string" not in more.device.text
    assert more.without("device", [("a.cu", 6), ("b.cu", 1), ("a.cu", 1)]) is None
    assert more.without("host", [("a.cu", 7)]) is None


def test_errors_in_headers_of_cuda_are_put_down_to_the_lines_that_include_them(tmp_path):
    inner = pretended_cuda(tmp_path) / "cub" / "block" / "inner.cuh"
    inner.touch()
    (tmp_path / "cub" / "block" / "block_reduce.cuh").write_text('#include "inner.cuh"\n')
    done = cut(
        "#include <mma.h>\n#include <cub/block/block_reduce.cuh>\n__global__ void k() {}\nint f();",
        folder=tmp_path,
    )
    again = done.without("device", [(str(inner), 3)])
    assert again is not None
    assert "block_reduce" not in again.device.text
    assert "#include <mma.h>" in again.device.text
    assert again.without("device", [(str(inner), 3)]) is None


def test_a_name_of_the_other_side_is_told_with_its_place():
    done = cut(
        "struct S {\nint size() const { return 1; }\n};\nint helper(int x) { return x; }\n"
        "__device__ int on_device(int x) { return x; }\n"
        "__global__ void k(S s, int* x) { *x = helper(s.size()); }\n"
        "int f() { return on_device(1); }"
    )
    log = (
        'a.cu(6): error: identifier "helper" is undefined\n'
        'a.cu(6): error: class "S" has no member "size"\n'
        'a.cu(6): error: identifier "y" is undefined'
    )
    assert done.hints("device", log) == (
        "size (a.cu:2) is a function of the host: put __host__ __device__ before it",
        "helper (a.cu:4) is a function of the host: put __host__ __device__ before it",
    )
    log = "a.cu:7:20: error: 'on_device' was not declared in this scope"
    assert done.hints("host", log) == (
        "on_device (a.cu:5) is a __device__ function: put __host__ before that, too",
    )
    assert done.hints("host", "a.cu:7:20: error: expected ';' before 'on_device'") == ()
