"""Where the kernels of a source stand: what a tool needs that changes their text."""

import pytest

import tvmffi_cubin as tc

SOURCE = """\
// __global__ void comment(int x) {}
#define LIMIT 128
template <typename T>
__global__ void __launch_bounds__(LIMIT) fill(T* x, /* räksmörgås */ int n = 3) { if (n) {} }
namespace a { static __global__ void add(); __global__ void
add(void)
{ } }
template __global__ void fill<float>(float* x, int n);
extern "C" __global__ void __cluster_dims__(2, 1, 1) h(
    const float* __restrict__ x,
    float (*f)(int, int)) noexcept {
}
#ifndef __CUDACC_RTC__
__global__ void never(int x) {}
#endif
"""


def parts(source):
    return {
        (kernel.name, kernel.line): (
            source[kernel.params_start : kernel.params_end],
            kernel.body_start and source[kernel.body_start - 1],
        )
        for kernel in tc.find_kernels(source)
    }


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_offsets_are_those_of_the_source(newline):
    source = SOURCE.replace("\n", newline)
    assert parts(source) == {
        ("fill", 4): ("T* x, /* räksmörgås */ int n = 3", "{"),
        ("a::add", 5): ("", None),
        ("a::add", 6): ("void", "{"),
        ("fill<float>", 8): ("float* x, int n", None),
        ("h", 9): (
            f"{newline}    const float* __restrict__ x,{newline}    float (*f)(int, int)",
            "{",
        ),
    }


MACROS = """\
#define KERNEL(name) __global__ void name(int n)
#define KERNEL_PARAMS (__restrict__ int n)
#define LB __launch_bounds__(128)
#define CONST_PTR(T) const T* __restrict__
#define GLOBAL __global__
"""


@pytest.mark.parametrize(
    ("source", "params"),
    [
        ('extern "C" GLOBAL void k(int n) { n = 1; }', "int n"),
        *(
            (f"__global__ LB void k({params}) {{ }}", params)
            for params in (
                "float* b, CONST_PTR(int) d, int (h)",
                "int (*f)(int), int (h), float* b",
            )
        ),
    ],
)
def test_macros_and_comments_move_nothing(source, params):
    assert parts(MACROS + source) == {("k", 6): (params, "{")}


@pytest.mark.parametrize(
    "declaration",
    [
        "KERNEL(made) { }",
        "__global__ void f KERNEL_PARAMS {}",
    ],
)
def test_a_declaration_spelled_by_a_macro_is_refused_by_line(declaration):
    with pytest.raises(ValueError, match="^line 6: .* is spelled by a macro, or cannot be parsed"):
        tc.find_kernels(MACROS + declaration)
