"""Names and types of kernels, from source and NVRTC together."""

from __future__ import annotations

import pytest

from tvmffi_cubin.device.compile import compile_device
from tvmffi_cubin.device.signature import KernelSignature
from tvmffi_cubin.errors import CompileError
from tvmffi_cubin.inline.request import make_request


def signatures(source: str, *wanted: str, **options) -> dict[str, KernelSignature]:
    """Return the kernels of a source by symbol, and by name where that is another."""
    request = make_request("s", cuda_sources=source, name_expressions=wanted, **options)
    image = compile_device(request, request.cuda_sources, ("sm_90a",))
    assert not [name for name in image.cubin.lowered_names if "tvmffi_cubin" in name]
    assert {x.kernel.name for x in image.signatures} == {x.name for x in image.cubin.kernels}
    return {name: x for x in image.signatures for name in (x.kernel.name, x.name.display)}


def declared(signature: KernelSignature) -> str:
    return ", ".join(f"{param.type.text} {param.name}" for param in signature.params)


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
extern "C" __global__ void none() {}
"""
    found = signatures(source)
    assert declared(found["k"]) == (
        "const float* x, float4* v, unsigned long long n, Pair p, int m, short s, __half h, "
        "__nv_bfloat162* b, float* a, bool flag, long long i, void* any, Pair q"
    )
    assert (found["k"].names_known, found["k"].line) == (True, 10)
    assert found["k"].params[3].type.size == 8
    assert declared(found["none"]) == ""


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
    found = signatures(source)
    assert declared(found["_ZN2ns4overEPf"]) == "float* left"
    assert declared(found["_ZN2ns4overEPi"]) == "int* right"
    assert declared(found["c_in_namespace"]) == "short* x"
    assert declared(found["ns::one"]) == "float* x, int e"
    assert declared(found["ns::hidden"]) == "double* x"
    assert declared(found["ns::internal"]) == "char* x"


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
    assert declared(found["ns::fill<float, 4>"]) == "float* x, float value, int n"
    assert declared(found["ns::fill<double, 2>"]) == "double* x, double value, int n"
    assert declared(found["ns::dependent<float>"]) == "float* x, float y"
    assert declared(found["ns::dependent<short>"]) == "short* x, int y"
    assert declared(found["ns::pack<int, char*>"]) == "int arg0, char* arg1"
    assert not found["ns::pack<int, char*>"].names_known


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        # A definition names parameters, not what declares them before or after.
        (
            'extern "C" __global__ void k(float* input, int length);\n'
            'extern "C" __global__ void k(float* x, int n) {}\n'
            'extern "C" __global__ void k(float* again, int count);',
            "float* x, int n",
        ),
        # A declaration names what the definition does not.
        (
            'extern "C" __global__ void k(float* x, int n);\n'
            'extern "C" __global__ void k(float* x, int) {}',
            "float* x, int n",
        ),
        # Compiled out, or in.
        (
            '#ifdef NEVER\nextern "C" __global__ void k(double* x) {}\n#else\n'
            'extern "C" __global__ void k(float* x) {}\n#endif',
            "float* x",
        ),
        # The probe's own names are long, since macros have any short one.
        (
            '#define T float\n#define type 3\n#define F\nextern "C" __global__ void k(T* N) {}',
            "float* N",
        ),
    ],
)
def test_names_are_those_of_the_definition_that_is_compiled(source, expected):
    found = signatures(source)
    assert set(found) == {"k"}
    assert declared(found["k"]) == expected


def test_a_kernel_from_a_header_has_types_but_no_names(tmp_path):
    header = 'extern "C" __global__ void k(const float* x, int n) {}'
    (tmp_path / "kernels.cuh").write_text(header)
    source = """
#include "kernels.cuh"
using real = float;
template <class T> struct Traits { using pointer = T*; };
template <class T> __global__ void fill(typename Traits<T>::pointer x) {}
"""
    kernels = signatures(source, "fill<real>", extra_include_paths=[tmp_path])
    found = kernels["k"]
    assert declared(found) == "const float* arg0, int arg1"
    assert (found.names_known, found.line) == (False, None)
    assert declared(kernels["fill<float>"]) == "float* x"


def test_of_what_the_compiler_cannot_tell_the_size_is_known():
    # The name of two functions has no one type.
    found = signatures('extern "C" __global__ void k(float* x, int n) {}\nvoid k(float);')
    assert declared(found["k"]) == "8 bytes x, 4 bytes n"


def test_of_many_instances_those_that_fail_are_named():
    template = "template <int W> __global__ void fill(int* x) { *x = W; }"
    wanted = [*(f"fill<{i}>" for i in range(20)), "fill<oops>", "fill<ouch>"]
    with pytest.raises(CompileError) as caught:
        signatures(template, *wanted)
    message = str(caught.value)
    assert all(f"nv_mangled_name {x}\n" in message for x in wanted[-2:])
    assert message.endswith("Hint: the source's kernels are: fill")
