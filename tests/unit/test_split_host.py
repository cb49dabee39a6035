"""What the host compiler is given of mixed sources."""

from __future__ import annotations

import re

from mixed_kit import cut, host, shown

from tvmffi_cubin.mixed_program import MixedSource, Program
from tvmffi_cubin.split import split


def test_a_kernel_keeps_its_signature_and_its_body_becomes_a_stub():
    assert host("__global__ void k(float* x, int n = 3) { x[n] = 0; }") == (
        "__global__ void k(float* x, int n = 3) "
        "TVMFFI_CUBIN_STUB((static_cast<void (*)(decltype(x), decltype(n))>(&k)), x, n)"
    )


def test_a_kernel_without_parameters_has_a_stub_without_arguments():
    text = host("__global__ void k() {}")
    assert text == "__global__ void k() TVMFFI_CUBIN_STUB((static_cast<void (*)()>(&k)))"


def test_parameters_without_names_are_given_some():
    text = host("template <typename T, int> __global__ void k(T*, const int) {}")
    assert text == (
        "template <typename T, int tvmffi_cubin_t1> "
        "__global__ void k(T* tvmffi_cubin_p0, const int tvmffi_cubin_p1) "
        "TVMFFI_CUBIN_STUB((static_cast<void (*)(decltype(tvmffi_cubin_p0), "
        "decltype(tvmffi_cubin_p1))>(&k<T, tvmffi_cubin_t1>)), tvmffi_cubin_p0, tvmffi_cubin_p1)"
    )


def test_packs_are_expanded_where_they_are_handed_on():
    text = host("template <typename... Ts> __global__ void k(int n, Ts... xs) {}")
    assert "static_cast<void (*)(decltype(n), decltype(xs)...)>(&k<Ts...>)), n, xs...)" in text


def test_a_specialisation_is_named_with_its_arguments():
    text = host(
        "template <typename T> __global__ void k(T* x);\n"
        "template <> __global__ void k<float>(float* x) { *x = 1; }"
    )
    assert "(&k<float>)), x)" in text
    assert text.startswith("template <typename T> __global__ void k(T* x);\n")


def test_a_parameter_that_hides_its_kernel_does_not_hide_it_from_the_stub():
    text = host("namespace a { namespace { __global__ void k(int k) {} } }")
    assert "(&::a::k)), k)" in text


def test_a_launch_calls_the_stub_behind_its_configuration():
    text = host("__global__ void k(int);\nvoid f() { k<<<1, g(2), 3, s>>>(4); }")
    assert "(::tvmffi_cubin::KernelLaunch(1, g(2), 3, s), k(4));" in text


def test_a_launch_over_several_lines_keeps_each_operand_on_its_line():
    source = "__global__ void k(int);\nvoid f() {\n  k\n  <<<1, // blocks\n  2>>>(\n  4);\n}\n"
    text = cut(source).host.sources[0].edited.text
    assert text.split("\n")[2:6] == [
        "  (::tvmffi_cubin::KernelLaunch(",
        "1, // blocks",
        "  2), k(",
        "  4));",
    ]


def test_launches_in_arguments_of_launches_and_in_macros_are_written_anew():
    text = host(
        "#define LAUNCH(K, ...) K<<<1, 2>>>(__VA_ARGS__)\n"
        "__global__ void k(int);\n"
        "void f() { k<<<1, 2>>>([] { k<<<3, 4>>>(5); return 6; }()); }"
    )
    assert "(::tvmffi_cubin::KernelLaunch(1, 2), K(__VA_ARGS__))" in text
    assert "KernelLaunch(1, 2), k([] { (::tvmffi_cubin::KernelLaunch(3, 4), k(5)); " in text


def test_device_functions_are_left_out_and_what_only_they_name():
    text = host(
        "struct OnDevice { float4 x; };\nstruct Named { int x; };\nstruct Unnamed {};\n"
        "__device__ float f(OnDevice d, Named n) { return d.x.x; }\n"
        "__device__ int declared(int);\n"
        "int g(Named n) { return n.x; }"
    )
    expected = "struct Named { int x; };\nstruct Unnamed {};\nint g(Named n) { return n.x; }"
    assert text == expected


def test_device_members_become_declarations():
    text = host(
        "struct S {\n"
        "__device__ S(int x) : x_(x), y{1} {}\n"
        "__device__ ~S() {}\n"
        "__device__ S() = default;\n"
        "__device__ int operator()(int a) const { return a; }\n"
        "__host__ __device__ int both() { return 1; }\n"
        "virtual __device__ int table() { return 2; }\n"
        "int x_, y;\n"
        "};\nS* f();"
    )
    assert text == (
        "struct S {\n"
        "__device__ S(int x) TVMFFI_CUBIN_DEVICE_ONLY;\n"
        "__device__ ~S() TVMFFI_CUBIN_DEVICE_ONLY;\n"
        "__device__ S() = default;\n"
        "__device__ int operator()(int a) const TVMFFI_CUBIN_DEVICE_ONLY;\n"
        "__host__ __device__ int both() { return 1; }\n"
        "virtual __device__ int table() { ::tvmffi_cubin::ThrowDeviceOnly(__func__); }\n"
        "int x_, y;\n"
        "};\nS* f();"
    )


def test_device_variables_stay_where_host_code_names_them_without_their_values():
    done = cut(
        "namespace n { __constant__ float table[4] = {1, 2}; }\n"
        "__constant__ int sizes[] = {1, 2};\n"
        "__device__ int unnamed = 3;\n"
        "int f() { return g(n::table, sizes); }"
    )
    text = done.host.sources[0].edited.text
    assert done.variables == ("n::table", "sizes")
    assert "{1, 2}" not in text.split("\n")[0]
    assert "__constant__ static int sizes[] = {1, 2};" in text
    assert "unnamed" not in text


def test_a_shadow_is_its_unit_s_own_as_the_variable_is_its_image_s():
    text = host(
        "extern __device__ int declared;\n__device__ int declared;\n"
        "struct A { static __device__ int member; };\n__device__ int A::member;\n"
        "alignas(16) __constant__ float a, b; inline __device__ int c; static __device__ int d;\n"
        "void f() { g(declared, A::member, a, b, c, d); }"
    )
    first, second, *_, last, _ = text.split("\n")
    assert (first, second) == ("extern __device__ int declared;", "__device__ int declared;")
    assert "__device__ int A::member;" in text
    assert last == (
        "alignas(16) __constant__ static float a, b; inline __device__ static int c; "
        "static __device__ int d;"
    )


def test_shared_memory_has_no_shadow():
    done = cut("extern __shared__ float tile[];\nint f() { int tile = 3; return tile; }")
    assert done.variables == ()
    assert "__shared__" not in done.host.text


def test_constexpr_device_functions_stay_where_host_code_names_them():
    text = host(
        "__device__ constexpr int wide(int x) { return 2 * x; }\n"
        "__device__ constexpr int unnamed(int x) { return 2 * x; }\n"
        "template <int> __global__ void k();\n"
        "void f() { k<wide(4)><<<1, 1>>>(); }"
    )
    assert "constexpr int wide" in text
    assert "unnamed" not in text


def test_an_instantiated_kernel_is_instantiated_as_a_stub():
    source = "template <class T> __global__ void k(T x) {}\ntemplate __global__ void k<int>(int x);"
    assert host(source).endswith("template __global__ void k<int>(int x);")


def test_kernels_are_told_with_their_namespaces_and_lines():
    done = cut("namespace a {\nnamespace {\n__global__ void k() {}\n}\n}\n__global__ void l();")
    assert [(kernel.name, kernel.line, kernel.is_template) for kernel in done.kernels] == [
        ("a::k", 3, False)
    ]


def test_places_in_the_host_text_are_told_as_the_users():
    source = "__global__ void k(int n) {}\nvoid f() { int y; k<<<1, 2>>>(bad); kk<<<1, 2>>>(y); }"
    done = cut(source)
    line = done.host.sources[0].edited.text.split("\n")[1]
    for word in ("bad", "kk", "y;"):
        column = line.index(word) + 1
        expected = source.split("\n")[1].index(word) + 1
        assert done.place("host", "a.cu", 2, column) == (2, expected)


def test_sources_share_what_they_name():
    done = cut(
        "struct Late { int x; };\n__device__ int f(Late l) { return l.x; }",
        "#include <vector>\nvoid g(Late);",
    )
    assert shown(done.host.text) == (
        '#line 1 "a.cu"\nstruct Late { int x; };\n#line 1 "b.cu"\n#include <vector>\nvoid g(Late);'
    )


def test_parameters_that_are_bound_are_none_of_a_stub():
    source = MixedSource(
        "a.cu",
        "template <typename T> __global__ void k(T*, int n = 1, float by = 2);\n"
        "template <typename T> __global__ void k(T*, int n, float by) {}\n"
        "template __global__ void k<int>(int*, int, float);\n"
        "__global__ void all(int n, float by) {}\n",
    )
    found = split(Program((source,), bound=("n", "by")))
    assert re.sub(" +\\)", ")", shown(found.host.sources[0].edited.text)) == (
        "template <typename T> __global__ void k(T*);\n"
        "template <typename T> __global__ void k(T* tvmffi_cubin_p0) TVMFFI_CUBIN_STUB("
        "(static_cast<void (*)(decltype(tvmffi_cubin_p0))>(&k<T>)), tvmffi_cubin_p0)\n"
        "template __global__ void k<int>(int*);\n"
        "__global__ void all() TVMFFI_CUBIN_STUB((static_cast<void (*)()>(&all)))"
    )
    assert [kernel.bound for kernel in found.kernels] == [("int", "float")] * 2
    assert "k(T*, int n, float by)" in found.device.text


def test_parameters_under_a_condition_have_names_that_mean_something_without_it():
    text = host(
        "__global__ void k(int a,\n#if A\nfloat b,\n#else\ndouble, float c,\n#endif\n"
        "#if B\nint d\n#else\nlong d\n#endif\n) { }"
    )
    assert text == (
        "__global__ void k(int a,\n#if A\nfloat tvmffi_cubin_c0,\n#else\n"
        "double tvmffi_cubin_c1, float tvmffi_cubin_c2,\n#endif\n#if B\nint d\n#else\n"
        "long d\n#endif\n"
        ") TVMFFI_CUBIN_STUB((static_cast<::tvmffi_cubin::KernelPointer<decltype(a), "
        "decltype(tvmffi_cubin_c0), decltype(tvmffi_cubin_c1), decltype(tvmffi_cubin_c2), "
        "decltype(d)>>(&k)), a, tvmffi_cubin_c0, tvmffi_cubin_c1, tvmffi_cubin_c2, d)"
    )


def test_a_member_called_as_its_type_is_declared_by_the_type_s_full_name():
    source = """namespace n {
    struct Vec {}; template <int N> struct Sync {}; enum Mode { A };
    namespace m {
    struct S {
    using Vec = Vec;
    typedef const Sync<3> Sync;
    template <int N> using Sync2 = Sync<N>;
    Mode Mode = A;
    Mode Mode2(Mode);
    Vec Vec2() const; Sync<4> Sync(int);
    using Size = Size;
    };
    }
    }"""
    text = host(source)
    for line in (
        "using Vec = ::n::Vec;",
        "typedef const ::n::Sync<3> Sync;",
        "template <int N> using Sync2 = Sync<N>;",
        "::n::Mode Mode = A;",
        "Mode Mode2(Mode);",
        "Vec Vec2() const; ::n::Sync<4> Sync(int);",
        "using Size = Size;",
    ):
        assert line in text.split("\n")


def test_a_member_called_as_a_type_of_its_class_s_base_is_left_as_it_is():
    source = "struct Shape {};\nstruct Base { struct Shape { int x; }; };\n"
    for member in ("using Shape = Shape;", "Shape Shape;"):
        assert f"{{ {member} }};" in host(f"{source}struct D final : public Base {{ {member} }};")
        assert "::Shape" in host(f"{source}struct D {{ {member} }};")
