"""Device sources of which one does not compile, or that do not link: what is said of which."""

from __future__ import annotations

import pytest
from several_units import BOTH, HEADER, SCALE, SOURCES, USE, load, refusal

from tvmffi_cubin.errors import CompileError

# Units that do not compile


@BOTH
def test_of_a_broken_unit_only_its_own_log_is_shown(lto):
    with pytest.raises(CompileError) as caught:
        load([*SOURCES, "__global__ void k() {\n  nonsense;\n}"], lto=lto)
    message = str(caught.value)
    assert message.startswith("cuda_sources[3] does not compile for sm_90a:\n")
    assert 'cuda_sources[3](2): error: identifier "nonsense" is undefined' in message
    assert not any(f"cuda_sources[{index}]" in message for index in (0, 1, 2))
    assert caught.value.source == "__global__ void k() {\n  nonsense;\n}"


def test_an_error_in_a_header_names_the_header():
    header = '#define OK\n#error "wrong"'
    assert "cuda_sources[0](2): catastrophic error: #error" in refusal(header, SCALE, USE)


def test_a_unit_that_needs_a_declaration_is_told_which():
    message = refusal(HEADER, SCALE, USE.replace("__device__ Real scaled(Real x);", ""))
    assert 'identifier "scaled" is undefined' in message
    assert (
        "Hint: cuda_sources[1] has scaled, but sources of a list are compiled separately: "
        "declare it here as well, '__device__ Real scaled(Real x);'; or put it into a source of its"
    ) in message


# Units that do not link


def test_all_undefined_symbols_are_named_with_their_unit():
    user = """
    __device__ int missing(int, const char*);
    extern __device__ int variable;
    extern "C" __global__ void k(int* x) { x[0] = missing(1, "") + variable; }"""
    with pytest.raises(CompileError) as caught:
        load([*SOURCES, user])
    message = str(caught.value)
    assert message.startswith("the device sources do not link for sm_90a:\n")
    for name in ("missing(int, char const*)", "variable"):
        assert f"Undefined reference to '{name}' in 'cuda_sources[3]'" in message
    assert caught.value.log
    assert caught.value.source == ""
    assert "-arch=sm_90a" in caught.value.options


@pytest.mark.parametrize(
    ("definition", "hint"),
    [
        ("static __device__ int f(int x) { return x; }", "cuda_sources[0] defines f as static"),
        ("inline __device__ int f(int x) { return x; }", "cuda_sources[0] defines f as inline"),
        (
            "template <class T> __device__ T f(T x) { return x; }",
            "cuda_sources[0] defines f as a template, for itself alone",
        ),
        (
            "namespace n { inline __device__ int f(int x) { return x; } }\nusing n::f;",
            "cuda_sources[0] defines n::f as inline, for itself alone",
        ),
    ],
)
def test_what_is_almost_the_undefined_function_is_pointed_out(definition, hint):
    first = definition + "\n__global__ void other(int* x) { x[0] = f(x[1]); }"
    second = "__device__ int f(int);\n__global__ void k(int* x) { x[0] = f(x[1]); }"
    message = refusal(first, second)
    assert "Undefined reference to 'f(int)' in 'cuda_sources[1]'" in message
    assert f"Hint: {hint}" in message


def test_an_undefined_instance_of_a_template_is_pointed_out():
    template = "template <class T> __device__ T f(T x)"
    use = "__global__ void {}(int* x) {{ x[0] = f(x[1]); }}"
    first = template + " { return x; }\n" + use.format("other")
    message = refusal(first, template + ";\n" + use.format("k"))
    assert "Undefined reference to 'int f<int>(int)' in 'cuda_sources[1]'" in message
    assert "Hint: cuda_sources[0] defines f as a template" in message


@BOTH
def test_kernels_that_launch_kernels_are_told_of_the_device_runtime(lto):
    nested = "__global__ void c(int* x) {}\n__global__ void k(int* x) { c<<<1, 1>>>(x); }"
    for sources in ([nested], [nested, "__device__ int other() { return 1; }"]):
        message = refusal(*sources, lto=lto)
        assert message.count('pass device_libraries=["cudadevrt"]') == 1


def test_all_that_is_defined_twice_is_named_with_both_units(capfd):
    unit = """
    __device__ int helper(int x) { return x; }
    __device__ int counter;
    extern "C" __global__ void k(int* x) { x[0] = helper(counter); }"""
    message = refusal(unit, unit)
    for name in ("helper(int)", "counter", "k"):
        clash = f"Multiple definition of '{name}' in 'cuda_sources[1]', first in 'cuda_sources[0]'"
        assert clash in message
    assert "Hint: rename one, make it static" in message
    assert capfd.readouterr().err == ""
