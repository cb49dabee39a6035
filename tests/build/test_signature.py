"""Names and types of kernels, from source and NVRTC together."""

from __future__ import annotations

import pytest

from tvmffi_cubin.device.compile import compile_device
from tvmffi_cubin.device.image import KernelSignature
from tvmffi_cubin.errors import CompileError
from tvmffi_cubin.inline.options import make_request


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
    assert found["k"].place == 0
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
    wanted = {
        "_ZN2ns4overEPf": "float* left",
        "_ZN2ns4overEPi": "int* right",
        "c_in_namespace": "short* x",
        "ns::one": "float* x, int e",
        "ns::hidden": "double* x",
        "ns::internal": "char* x",
    }
    found = signatures(source)
    assert {name: declared(found[name]) for name in wanted} == wanted


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
    wanted = {
        "ns::fill<float, 4>": "float* x, float value, int n",
        "ns::dependent<float>": "float* x, float y",
        "ns::pack<int, char*>": "int arg0, char* arg1",
        "ns::fill<double, 2>": "double* x, double value, int n",
        "ns::dependent<short>": "short* x, int y",
    }
    found = signatures(source, *list(wanted)[:3])
    assert {name: declared(found[name]) for name in wanted} == wanted


def test_names_are_those_of_the_definition_that_is_compiled():
    source = """
// A definition names parameters, not what declares them before or after.
extern "C" __global__ void defined(float* input, int length);
extern "C" __global__ void defined(float* x, int n) {}
extern "C" __global__ void defined(float* again, int count);
// A declaration names what the definition does not.
extern "C" __global__ void named(float* x, int n);
extern "C" __global__ void named(float* x, int) {}
// Compiled out, or in.
#ifdef NEVER
extern "C" __global__ void chosen(double* x) {}
#else
extern "C" __global__ void chosen(float* x) {}
#endif
// The probe's own names are long, since macros have any short one.
#define T float
#define type 3
#define F
extern "C" __global__ void replaced(T* N) {}
"""
    assert {name: declared(x) for name, x in signatures(source).items()} == {
        "defined": "float* x, int n",
        "named": "float* x, int n",
        "chosen": "float* x",
        "replaced": "float* N",
    }


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
    assert found.place is None
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
    assert message.endswith("Hint: kernels in the source: fill")
