"""Names and types of kernels, from source and NVRTC together."""

from __future__ import annotations

import pytest

from tvmffi_cubin import nvrtc
from tvmffi_cubin.device.parameters import resolve
from tvmffi_cubin.device.signatures import compile_with_signatures
from tvmffi_cubin.errors import CompileError
from tvmffi_cubin.sources.reader import read


class Compiler:
    """NVRTC for one architecture; counts its runs."""

    def __init__(self) -> None:
        self.runs = 0

    def __call__(self, source, **arguments):
        self.runs += 1
        return nvrtc.compile(source, arch="sm_90a", **arguments)


def signatures(source: str, *wanted: str, runs: int = 1):
    compiler = Compiler()
    cubin, found = compile_with_signatures(source, compile=compiler, wanted=wanted)
    assert compiler.runs == runs
    assert not [name for name in cubin.lowered_names if "tvmffi_cubin" in name]
    assert {x.symbol for x in found} == {kernel.name for kernel in cubin.kernels}
    return {x.display: x for x in found}


def declared(signature) -> list[tuple[str, str]]:
    assert signature.problem == ""
    return [(param.type.text, param.name) for param in signature.params]


def test_extern_c_kernels_have_exact_types():
    source = r"""
#include <cuda_bf16.h>
#include <cuda_fp16.h>
typedef float4 quad;
using index = unsigned long long;
struct Pair { int a; float b; };
enum Mode { A, B };
enum class Small : short { A };
#define SIZE 4
extern "C" __global__ void k(const float* __restrict__ x, quad* v, const index n, Pair p, Mode m,
                             Small s, __half h, __nv_bfloat162* b, float a[SIZE], bool flag,
                             int64_t i, void* any, const __grid_constant__ Pair q) {}
"""
    found = signatures(source)["k"]
    assert declared(found) == [
        ("const float*", "x"),
        ("float4*", "v"),
        ("unsigned long long", "n"),
        ("Pair", "p"),
        ("int", "m"),
        ("short", "s"),
        ("__half", "h"),
        ("__nv_bfloat162*", "b"),
        ("float*", "a"),
        ("bool", "flag"),
        ("long long", "i"),
        ("void*", "any"),
        ("Pair", "q"),
    ]
    assert (found.names_known, found.line) == (True, 10)
    assert found.params[3].type.size == 8


def test_cxx_kernels_in_namespaces_and_overloads():
    source = """
namespace ns {
enum E { A };
__global__ void one(float* x, E e) {}
__global__ void over(float* left) {}
__global__ void over(int* right) {}
namespace { __global__ void hidden(double* x) {} }
static __global__ void internal(char* x) {}
extern "C" __global__ void c_in_namespace(short* x) {}
}
"""
    compiler = Compiler()
    _, found = compile_with_signatures(source, compile=compiler)
    assert compiler.runs == 1
    by_symbol = {x.symbol: x for x in found}
    assert declared(by_symbol["_ZN2ns4overEPf"]) == [("float*", "left")]
    assert declared(by_symbol["_ZN2ns4overEPi"]) == [("int*", "right")]
    assert declared(by_symbol["c_in_namespace"]) == [("short*", "x")]
    by_name = {x.display: x for x in found}
    assert declared(by_name["ns::one"]) == [("float*", "x"), ("int", "e")]
    assert declared(by_name["ns::hidden"]) == [("double*", "x")]
    assert declared(by_name["ns::internal"]) == [("char*", "x")]


def test_template_instances():
    source = """
namespace ns {
template <class T> struct Traits { using pointer = T*; };
template <class T, int N> __global__ void fill(T* x, T value, int n) {}
template <class T> __global__ void dependent(typename Traits<T>::pointer x, decltype(T() + 1) y) {}
template <class... Ts> __global__ void pack(Ts... ts) {}
template __global__ void fill<double, 2>(double*, double, int);
}
template __global__ void ns::dependent<short>(short*, int);
"""
    found = signatures(source, "ns::fill<float, 4>", "ns::dependent<float>", "ns::pack<int, char*>")
    fill = [("float*", "x"), ("float", "value"), ("int", "n")]
    assert declared(found["ns::fill<float, 4>"]) == fill
    assert declared(found["ns::fill<double, 2>"])[0] == ("double*", "x")
    assert declared(found["ns::dependent<float>"]) == [("float*", "x"), ("float", "y")]
    assert declared(found["ns::dependent<short>"]) == [("short*", "x"), ("int", "y")]
    pack = found["ns::pack<int, char*>"]
    assert declared(pack) == [("int", "arg0"), ("char*", "arg1")]
    assert not pack.names_known


def test_a_definition_names_parameters_and_not_what_declares_them_before():
    source = """
typedef float real;
extern "C" __global__ void c(real* input, int length);
namespace ns { __global__ void k(real* input, int length); }
extern "C" __global__ void c(real* x, int n) {}
__global__ void ns::k(real* x, int n) {}
extern "C" __global__ void c(real* again, int count);
"""
    found = signatures(source)
    for name in ("c", "ns::k"):
        assert declared(found[name]) == [("float*", "x"), ("int", "n")]
        assert found[name].names_known


def test_a_declaration_names_what_the_definition_does_not():
    source = """
extern "C" __global__ void c(float* x, int n);
extern "C" __global__ void c(float* x, int) {}
"""
    assert declared(signatures(source)["c"]) == [("float*", "x"), ("int", "n")]


def test_overloads_keep_the_names_of_their_own():
    source = """
__global__ void k(float* a) {}
__global__ void k(int* b) {}
"""
    _, found = compile_with_signatures(source, compile=Compiler())
    made = {tuple(declared(signature)) for signature in found}
    assert made == {(("float*", "a"),), (("int*", "b"),)}


def test_kernels_that_macros_make():
    source = """
#define DEF(n, T) extern "C" __global__ void n##_k(const T* x, int size) {}
DEF(scale, float)
"""
    found = signatures(source)["scale_k"]
    assert declared(found) == [("const float*", "x"), ("int", "size")]
    assert (found.names_known, found.line) == (True, 3)


def test_a_kernel_from_a_header_has_types_but_no_names(tmp_path):
    header = 'extern "C" __global__ void from_header(const float* x, int n) {}'
    (tmp_path / "kernels.cuh").write_text(header)
    compiler = Compiler()

    def compile_here(source, **arguments):
        return compiler(source, include_paths=[tmp_path], **arguments)

    _, (found,) = compile_with_signatures('#include "kernels.cuh"\n', compile=compile_here)
    assert declared(found) == [("const float*", "arg0"), ("int", "arg1")]
    assert (found.names_known, found.line, compiler.runs) == (False, None, 2)


def test_a_kernel_that_is_compiled_out_costs_one_more_run():
    source = """
enum E { A };
#ifdef NEVER
extern "C" __global__ void never(int n) {}
#endif
extern "C" __global__ void k(float* x, E e) {}
"""
    found = signatures(source, runs=2)
    assert list(found) == ["k"]
    assert declared(found["k"]) == [("float*", "x"), ("int", "e")]


def test_both_branches_of_a_conditional():
    source = """
#ifdef NEVER
extern "C" __global__ void k(double* y) {}
#else
extern "C" __global__ void k(float* x) {}
#endif
"""
    found = signatures(source)["k"]
    assert [param.type.text for param in found.params] == ["float*"]


def test_a_name_that_c_and_cxx_share_falls_back_to_the_source():
    source = """
struct Pair { int a, b; };
extern "C" __global__ void k(float* x, int n) {}
extern "C" __global__ void l(float* x, Pair p) {}
void k(float);
void l(float);
"""
    found = signatures(source, runs=2)
    assert declared(found["k"]) == [("float*", "x"), ("int", "n")]
    with pytest.raises(ValueError) as error:
        found["l"].require()
    assert "the parameters of kernel 'l' are not known: 'Pair' may be any type" in str(error.value)
    assert 'params="void* x, void* p"' in str(error.value)


def test_names_of_one_letter_macros_do_no_harm():
    source = '#define T float\n#define type 3\n#define F\nextern "C" __global__ void k(T* N) {}'
    assert declared(signatures(source)["k"]) == [("float*", "N")]


def test_an_error_in_the_source_is_reported_without_the_probes():
    with pytest.raises(CompileError) as error:
        compile_with_signatures(
            'extern "C" __global__ void k(float* x) { foo; }', compile=Compiler()
        )
    assert "foo" in str(error.value)
    assert "tvmffi_cubin_" not in str(error.value)


def test_an_unknown_instance_lists_the_kernels_there_are():
    with pytest.raises(ValueError, match="^'fill<float>': no instance of .*are: k") as error:
        compile_with_signatures(
            'extern "C" __global__ void k(float* x) {}', compile=Compiler(), wanted=["fill<float>"]
        )
    assert "tvmffi_cubin_" not in str(error.value)


def test_of_many_instances_those_that_fail_are_named():
    template = "template <int W> __global__ void fill(int* x) { *x = W; }"
    wanted = [*(f"fill<{i}>" for i in range(20)), "fill<oops>", "fill<ouch>"]
    with pytest.raises(ValueError, match="^'fill<oops>', 'fill<ouch>': no instance of"):
        compile_with_signatures(template, compile=Compiler(), wanted=wanted)


def test_an_instance_whose_body_does_not_compile_fails_as_such():
    template = "template <class T> __global__ void fill(T* x) { *x = T::one; }"
    with pytest.raises(CompileError, match=r'instantiation of "void fill\(T \*\)') as error:
        compile_with_signatures(template, compile=Compiler(), wanted=["fill<float>"])
    assert "tvmffi_cubin_" not in str(error.value)


def test_a_source_that_fails_by_itself_fails_as_such_whatever_is_wanted():
    with pytest.raises(CompileError, match="nonsense"):
        compile_with_signatures(
            "__global__ void k() { nonsense; }", compile=Compiler(), wanted=["fill<float>"]
        )


def test_a_kernel_without_parameters():
    assert declared(signatures('extern "C" __global__ void k() {}')["k"]) == []


def test_a_source_that_does_not_match_the_image_names_both_sizes():
    source = 'extern "C" __global__ void k(float* x, int n) {}'
    facts = read('extern "C" __global__ void k(float* x, double n) {}')
    cubin = nvrtc.compile(source, arch="sm_90a")
    (found,) = resolve(facts, cubin, {}, trust_source=True)
    assert "parameter 1 ('n') is declared 'double', which has 8 bytes" in found.problem
    assert "but the image's has 4" in found.problem
