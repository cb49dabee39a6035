"""What a mixed source cannot have or lacks is told, with what to do about it."""

from __future__ import annotations

import pytest
from mixed_loader import load

import tvmffi_cubin as tc


@pytest.mark.parametrize(
    ("before", "kind", "told"),
    [
        ("", tc.BuildError, r"none\.cu:1:\d+: error: 'k' was not declared"),
        (
            '#include "k.cuh"\n',
            ValueError,
            r"k\.cuh:1: kernel k is in a header that only the host compiler finds",
        ),
        ("__global__ void k();\n", ValueError, "none of the sources and of the headers .* defines"),
    ],
)
def test_launches_without_a_kernel_are_told(before, kind, told, tmp_path, monkeypatch):
    (tmp_path / "k.cuh").write_text("__global__ void k() {}")
    monkeypatch.setenv("CPATH", str(tmp_path))
    with pytest.raises(kind, match=told):
        load(f"{before}void f() {{ k<<<1, 1>>>(); }}", ["f"], name="none")


@pytest.mark.parametrize(
    ("use", "told"),
    [
        ("k<<<1, 1>>>(x)", "2: kernel k"),
        ("cudaLaunchKernel((void*)k, 1, 1, 0, 0, 0)", "2: kernel k"),
        ("run(x)", "3: beside launches, the function run"),
    ],
)
def test_a_kernel_of_a_header_that_nvrtc_does_not_find_is_no_host_function(use, told, tmp_path):
    (tmp_path / "deep.h").write_text(
        "\n__global__ void k(int* x) { *x = 1; }\ninline void run(int* x) { k<<<1, 1>>>(x); }\n"
    )
    (tmp_path / "k.h").write_text('#include "deep.h"\n')
    source = (
        f"#include <k.h>\n__global__ void own() {{}}\nvoid f(int* x) {{ own<<<1, 1>>>(); {use}; }}"
    )
    with pytest.raises(ValueError, match=rf"deep\.h:{told} is in a header that only the host"):
        load(source, ["f"], extra_cflags=[f"-I{tmp_path}"])


OF_OTHER_SIDES = """struct S { int n; __device__ int half() { return n / 2; } };
__device__ int on_device(int x) { return x; }
__device__ __forceinline__ int named(int x) { return 2 * x; }
int on_host(int x) { return x; }
template <int (*F)(int)> __global__ void k(int* x) { *x = on_device(F(*x)); }
int (*volatile named_one)(int) = named;
int f(int n) { S s{n}; k<named><<<1, 1>>>(nullptr); return named_one(n); }"""


@pytest.mark.parametrize(
    ("old", "new", "kind", "told"),
    [
        ("= on_device(", "= on_host(", tc.CompileError, r"\"on_host\" is undefined"),
        ("named_one(n)", "on_device(n)", tc.BuildError, r"'on_device' was not declared"),
        ("named_one(n)", "named(n)", tc.BuildError, r":7:\d+: error: 'named' is a __device__"),
        ("named_one(n)", "s.half()", tc.BuildError, r":7:\d+: error: 'S::half' is a __device__"),
    ],
)  # fmt: skip
def test_a_call_of_the_other_side_s_function_is_told(old, new, kind, told):
    assert OF_OTHER_SIDES.count(old) == 1
    with pytest.raises(kind, match=rf"(?s){told}.*\nHint: .*: put __host__ "):
        load(OF_OTHER_SIDES.replace(old, new), ["f"], name="others")


def test_a_device_function_that_host_code_calls_by_its_address_says_so(driver_stub):
    mod = load(OF_OTHER_SIDES, ["f"], name="others")
    with pytest.raises(RuntimeError, match="named is a __device__ function, and host code called"):
        mod.f(1)


@pytest.mark.parametrize(
    ("source", "hint"),
    [
        (
            "__global__ void k(int* x) {}\nvoid g() { k<<<1, 1>>>(nullptr); }",
            "functions names 'f', and the source has no function f",
        ),
        (
            "#include <thrust/sort.h>\nusing namespace thrust;\n__global__ void k(int* x) {}\n"
            "void f() { int* x = nullptr; sort(device, x, x); k<<<1, 1>>>(x); }",
            r"what is in <thrust/sort.h>, only nvcc compiles that: compiler=\"nvcc\"",
        ),
    ],
)
def test_what_host_code_lacks_is_told_with_what_to_do(source, hint):
    with pytest.raises(tc.BuildError, match=f"Hint: .*{hint}"):
        load(source, ["f"])


def test_a_function_that_does_not_compile_is_not_said_to_be_missing():
    source = "__global__ void k(int* x) {}\nvoid f(Nowhere x) { k<<<1, 1>>>(nullptr); }"
    with pytest.raises(tc.BuildError, match="'Nowhere'") as caught:
        load(source, ["f"])
    assert "has no function" not in str(caught.value)


@pytest.mark.parametrize("template", ["", "template <typename T> "])
def test_a_wheel_that_is_not_installed_is_named_where_its_header_is_needed(template):
    # Of a template the host compiler is asked first. No release has this header.
    source = (
        f"#include <curand_none.h>\n{template}__global__ void k() {{ curandNone x; }}\n"
        f"void f() {{ k{'<int>' if template else ''}<<<1, 1>>>(); }}"
    )
    with pytest.raises((tc.CompileError, tc.BuildError), match=r"Hint: .*wheel nvidia-curand"):
        load(source, ["f"])


def test_a_header_that_is_nowhere_is_told_before_what_device_code_lacks_for_that():
    source = (
        '#include "my_rows.cuh"\n__global__ void k(Rows x) {}\nvoid f() { k<<<1, 1>>>(Rows()); }'
    )
    with pytest.raises(tc.BuildError, match=r"rows\.cu:1:10: fatal error: '?my_rows") as caught:
        load(source, ["f"], name="rows")
    hint = "my_rows.cuh was found in no include folder; name its folder in extra_include_paths"
    assert f"Hint: {hint}\n" in str(caught.value)


def test_a_wrapper_that_calls_thrust_s_algorithms_says_who_compiles_them(tmp_path):
    (tmp_path / "thrust").mkdir()
    # What theirs come to is the same, after seconds.
    (tmp_path / "thrust" / "sort.h").write_text("#error unimplemented for this system\n")
    source = "#include <thrust/sort.h>\nvoid f(tvm::ffi::TensorView x) {}"
    with pytest.raises(tc.BuildError, match=r'Hint: only nvcc compiles .*: compiler="nvcc"'):
        load(source, ["f"], extra_include_paths=[str(tmp_path)])


def test_a_kernel_that_calls_thrust_s_algorithms_is_offered_nvcc():
    source = """#include <thrust/count.h>
    #include <thrust/execution_policy.h>
    __global__ void k(int* x, int n) { *x = thrust::count(thrust::device, x, x + n, 1); }
    void f() { k<<<1, 1>>>(nullptr, 1); }"""
    with pytest.raises(tc.CompileError, match="<thrust/count.h>.* needs a host compiler") as caught:
        load(source, ["f"])
    assert str(caught.value).splitlines()[-1].startswith('Hint: nvcc has one: compiler="nvcc"')


def test_headers_of_algorithms_are_not_blamed_for_names_of_others():
    source = (
        "#include <cub/block/block_reduce.cuh>\n__global__ void k() {}\n"
        "void f() { k<<<1, 1>>>(); int n = none; }"
    )
    with pytest.raises(tc.BuildError, match="'none' was not declared") as caught:
        load(source, ["f"])
    assert "Hint" not in str(caught.value)


def test_torch_s_declarations_beside_a_mixed_source_are_told_what_to_change():
    source = "__global__ void k() {}\nvoid f() { k<<<1, 1>>>(); }"
    with pytest.raises(tc.BuildError, match=r"(?s)'torch' .*docs/mixed_sources\.md"):
        load(source, ["f"], cpp_sources="torch::Tensor f(torch::Tensor x);")


def test_what_is_left_of_torch_s_names_is_told_with_what_stands_for_it():
    source = (
        "__global__ void k(float* x) {}\n"
        "void f(tvm::ffi::TensorView x) { if (x.is_cuda()) k<<<1, 1>>>(x.data_ptr<float>()); }"
    )
    with pytest.raises(tc.BuildError, match="Hint: is_cuda is torch's") as caught:
        load(source, ["f"])
    assert "Hint: x.data_ptr<T>() is torch's; here it is static_cast<T*>" in str(caught.value)


def test_the_user_s_own_error_is_told_and_not_those_of_a_header_that_is_not_for_nvrtc():
    source = """#include <cudaTypedefs.h>
__global__ void k(float* x) {
  int n = "text";
  x[0] = n;
}
void f() { k<<<1, 1>>>(nullptr); }
"""
    with pytest.raises(tc.CompileError, match=r"own\.cu\(3\): error: ") as caught:
        load(source, ["f"], name="own")
    assert "cudaTypedefs" not in str(caught.value)


def test_an_instance_of_a_local_type_says_how_to_name_it():
    source = """template <typename T> __global__ void k(T x) {}
    void f() { struct Local {}; k<<<1, 1>>>(Local{}); }"""
    with pytest.raises(ValueError, match="'k' is launched for f.*::Local, a type of that function"):
        load(source, ["f"])


def test_an_instance_of_a_type_that_device_code_cannot_have_is_named():
    source = """#include <vector>
    template <typename T> __global__ void k(T* x) {}
    void f() { std::vector<int>* none = nullptr; k<<<1, 1>>>(none); }"""
    with pytest.raises(ValueError, match=r"host code launches 'k<std::vector<int.*\"nvcc\""):
        load(source, ["f"])


AMBIGUOUS = """struct Divisor { int by; __host__ __device__ operator int() const { return by; } };
__host__ __device__ inline int operator%(int x, const Divisor& divisor) { return x; }
__global__ void k(int64_t* x, Divisor d) { *x = *x % d; }
void f(int64_t x) { k<<<1, 1>>>((int64_t*)x, Divisor{3}); }"""


def test_an_error_that_nvcc_may_not_have_offers_it_once():
    with pytest.raises(tc.CompileError, match='more than one operator "%"') as caught:
        load(AMBIGUOUS, ["f"], name="ambiguous")
    assert str(caught.value).count('compiler="nvcc"') == 1
    assert str(caught.value).splitlines()[-1].startswith("Hint: nvcc takes some code")


def test_an_error_of_a_macro_that_only_host_compilers_have_offers_nvcc(tmp_path):
    (tmp_path / "compilers.h").write_text(
        "#ifdef _MSC_VER\n#define OWN __forceinline\n#elif defined(__GNUC__)\n#ifdef NONE\n#endif\n"
        "#define OWN inline\n#else\n#error unknown compiler\n#endif\n"
    )
    source = '#include "compilers.h"\n__global__ void k() {}\nvoid f() { k<<<1, 1>>>(); }\n'
    told = r"compilers\.h\(8\): .*#error directive: unknown compiler"
    with pytest.raises(tc.CompileError, match=told) as caught:
        load(source, ["f"], extra_include_paths=[str(tmp_path)])
    assert str(caught.value).splitlines()[-1] == (
        "Hint: NVRTC defines none of the host compiler's macros, such as __GNUC__, and nvcc all: "
        'compiler="nvcc"'
    )


@pytest.mark.parametrize(
    ("end", "told"),
    [
        ("__device__ int g = n;", '"n" is undefined'),
        ("#if 1", "the #endif for this directive is missing"),
        ("/* and so on", "comment unclosed"),
        ("#error no", "#error directive: no"),
        ("#ifdef __GNUC__\n#endif\n#ifndef K\n#error no\n#endif", "#error directive: no"),
    ],
)
def test_an_error_that_any_compiler_has_does_not(end, told):
    source = "__global__ void k() {}\nvoid f() { k<<<1, 1>>>(); }\n"
    with pytest.raises(tc.CompileError, match=told) as caught:
        load(f"{source}{end}", ["f"])
    assert "nvcc" not in str(caught.value)
