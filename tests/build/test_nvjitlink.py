"""Separately compiled device code to one image, with the nvJitLink that is installed."""

from __future__ import annotations

import re

import pytest

from tvmffi_cubin import Cubin, nvjitlink, nvrtc
from tvmffi_cubin.cuda import libraries
from tvmffi_cubin.errors import CompileError, ToolchainError
from tvmffi_cubin.kernels.cubin import read_image

LIBRARY = "__device__ float add_one(float x) { return x + 1; }\n__device__ int counter;"
USER = """
__device__ float add_one(float x);
extern __device__ int counter;
extern "C" __global__ void use(float* x) { x[0] = add_one(x[0]); counter = 1; }
"""


def unit(source: str, kind: str = "relocatable", arch: str = "sm_90a", **more) -> Cubin:
    return nvrtc.compile(source, arch=arch, target_type=kind, **more)


def refusal(*inputs, error: type[Exception] = CompileError, **more) -> str:
    with pytest.raises(error) as caught:
        nvjitlink.link(inputs, **more)
    return str(caught.value)


@pytest.mark.parametrize(("library", "user"), [("relocatable", "ltoir"), ("ltoir", "relocatable")])
def test_units_of_either_kind_become_one_image(library: str, user: str):
    linked = nvjitlink.link([unit(LIBRARY, library), unit(USER, user)])
    assert (linked.kind, linked.arch) == ("cubin", "sm_90a")
    assert [kernel.name for kernel in linked.kernels] == ["use"]


def test_every_undefined_symbol_is_named():
    user = unit(
        "__device__ int missing(int, const char*);\n"
        'extern __constant__ float table[4];\nextern "C" __device__ int plain_input7();\n'
        '__global__ void k(int* x) { x[0] = missing(1, "") + table[x[1]] + plain_input7(); }'
    )
    message = refusal(unit(LIBRARY), user)
    assert message.startswith("device code does not link for sm_90a:\n")
    for name in ("missing(int, char const*)", "table", "plain_input7"):
        assert f"Undefined reference to '{name}' in 'inputs[1]'" in message
    user = unit("extern __device__ int v; __global__ void k(int* x) { x[0] = v; }", "ltoir")
    assert "Unresolved extern variable 'v'" in refusal(unit(LIBRARY, "ltoir"), user)


@pytest.mark.parametrize(
    "kinds",
    [("relocatable", "relocatable"), ("ltoir", "ltoir"), ("relocatable", "ltoir"), ("ptx", "ptx")],
)
def test_a_symbol_that_is_defined_twice_is_an_error(kinds: tuple[str, str], capfd):
    if kinds == ("relocatable", "ltoir") and nvjitlink.version() < (12, 9):
        pytest.skip("this nvJitLink tells of it on the error stream only")
    first, second = (unit(LIBRARY, kind, options=["-rdc=true"]) for kind in kinds)
    message = refusal(unit(USER), first, second)
    assert re.search("Multiple definition of 'counter'|'counter': symbol multiply", message)
    assert capfd.readouterr().err == ""


def test_a_variable_that_is_not_the_same_everywhere_is_an_error(capfd):
    for declared, use in (
        ("extern __device__ int counter[4];", "counter[*x]"),
        ("extern __constant__ int counter;", "counter"),
        ('extern "C" __device__ int counter(int);', "counter(*x)"),
    ):
        user = unit(f"{declared}\n__global__ void k(int* x) {{ *x = {use}; }}")
        wanted = "'counter' differs in size or kind between 'inputs[1]' and 'inputs[0]'"
        assert wanted in refusal(unit(LIBRARY), user)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("kind", "made_for", "target", "fits"),
    [
        ("relocatable", "sm_90a", "sm_90", False),
        ("relocatable", "sm_90", "sm_90a", True),
        ("ltoir", "sm_80", "sm_90a", True),
    ],
)
def test_code_for_another_architecture_is_linked_where_it_runs(kind, made_for, target, fits):
    inputs = (unit(LIBRARY, kind, made_for), unit(USER, kind, target))
    if fits:
        assert read_image(nvjitlink.link(inputs, arch=target)).arch == target
    else:
        assert f"inputs[0] is for {made_for} and cannot be linked into an image for {target}" in (
            refusal(*inputs, error=ValueError, arch=target)
        )


def test_what_cannot_be_linked_says_what_it_looks_like():
    linked = nvrtc.compile("__global__ void k() {}", arch="sm_90a")
    fatbin = nvrtc.compile("__global__ void k() {}", arch=["sm_80", "sm_90"])
    for given, what in (
        (b"__global__ void k() {}", "not an image: it starts with b'__global__"),
        (unit(LIBRARY).image[:2000], "truncated or damaged"),
        (linked, "its kind is 'cubin'; expected"),
        (fatbin.image[:70], "truncated or damaged"),
        (libraries.find_cuda().require("cudart"), "its kind is 'shared object'"),
    ):
        said = refusal(given, error=ValueError, arch="sm_90")
        assert said.startswith("inputs[0]")
        assert what in said


def test_wrong_arguments_are_named():
    assert "inputs[0] must be bytes, a Cubin or a path, got int" in refusal(3, error=TypeError)
    with pytest.raises(TypeError, match="inputs must be a sequence, got Cubin"):
        nvjitlink.link(unit(LIBRARY))  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError, match="/nowhere/library.a"):
        nvjitlink.link(["/nowhere/library.a"])
    assert "support sm_150" in refusal(unit(LIBRARY), error=ToolchainError, arch="sm_150")
    assert "-nothing" in refusal(unit(LIBRARY), options=["-nothing"])
    for option in ("-arch=sm_80", "-lto"):
        said = refusal(unit(LIBRARY), error=ValueError, options=[option])
        assert f"cannot pass the option '{option}'" in said
