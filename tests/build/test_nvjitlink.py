"""Separately compiled device code to one image, with the nvJitLink that is installed."""

from __future__ import annotations

import logging
import re
from pathlib import Path

import pytest
from alive import Alive

from tvmffi_cubin import Cubin, nvjitlink, nvrtc
from tvmffi_cubin.cuda import libraries
from tvmffi_cubin.errors import CompileError, ToolchainError
from tvmffi_cubin.kernels import nv_info
from tvmffi_cubin.kernels.image import read_image

LIBRARY = "__device__ float add_one(float x) { return x + 1; }\n__device__ int counter;"
USER = """
__device__ float add_one(float x);
extern __device__ int counter;
extern "C" __global__ void use(float* x) { x[0] = add_one(x[0]); counter = 1; }
"""
KINDS = ("relocatable", "ltoir")


def unit(source: str, kind: str = "relocatable", arch: str = "sm_90a", **more) -> Cubin:
    return nvrtc.compile(source, arch=arch, target_type=kind, **more)


def refusal(*inputs, error: type[Exception] = CompileError, **more) -> str:
    with pytest.raises(error) as caught:
        nvjitlink.link(inputs, **more)
    return str(caught.value)


@pytest.mark.parametrize("library", KINDS)
@pytest.mark.parametrize("user", KINDS)
def test_units_of_either_kind_become_one_image(library: str, user: str):
    linked = nvjitlink.link([unit(LIBRARY, library), unit(USER, user)])
    assert (linked.kind, linked.arch) == ("cubin", "sm_90a")
    assert [kernel.name for kernel in linked.kernels] == ["use"]
    assert read_image(linked).kind == "cubin"


def test_link_time_optimisation_inlines_across_units():
    separate, merged = (
        nvjitlink.link([unit(LIBRARY, kind), unit(USER, kind)]) for kind in ("relocatable", "ltoir")
    )
    names = [{x.name for x in nv_info.symbols(one.image)} for one in (separate, merged)]
    assert ["_Z7add_onef" in one for one in names] == [True, False]


def test_bytes_and_files_are_linked_too(tmp_path: Path):
    (tmp_path / "library.cubin").write_bytes(unit(LIBRARY).image)
    linked = nvjitlink.link([tmp_path / "library.cubin", unit(USER).image])
    assert [kernel.name for kernel in linked.kernels] == ["use"]


def test_ptx_is_linked_too():
    library = unit(LIBRARY, "ptx", "sm_90", options=["-rdc=true"])
    assert nvjitlink.link([library, unit(USER)]).kernels


def test_a_static_library_is_linked_too():
    cudart = libraries.find_cuda().require("cudart")
    runtime = cudart.with_name("libcudadevrt.a")
    if not runtime.exists():
        pytest.skip(f"no {runtime}")
    parent = unit(
        "__global__ void child(int* x) { x[0] = 1; }\n"
        'extern "C" __global__ void parent(int* x) { child<<<1, 1>>>(x); }'
    )
    assert "Undefined reference to '__cudaCDP2LaunchDeviceV2' in 'inputs[0]'" in refusal(parent)
    names = {kernel.name for kernel in nvjitlink.link([parent, runtime]).kernels}
    assert {"parent", "_Z5childPi"} <= names


def test_lowered_names_of_the_units_are_kept():
    fill = unit("template <class T> __global__ void fill(T* x) {}", name_expressions=["fill<int>"])
    linked = nvjitlink.link([unit(LIBRARY), fill])
    assert linked.lowered_names == fill.lowered_names
    assert [kernel.name for kernel in linked.kernels] == [fill.lowered_names["fill<int>"]]


def test_every_undefined_symbol_is_named_with_its_user():
    user = unit(
        "__device__ int missing(int, const char*);\n"
        "namespace a { struct B { __device__ void f(); }; }\n"
        'extern __constant__ float table[4];\nextern "C" __device__ int plain();\n'
        '__global__ void k(int* x) { a::B().f(); x[0] = missing(1, "") + table[x[1]] + plain(); }'
    )
    message = refusal(unit(LIBRARY), user)
    assert message.startswith("the inputs do not link for sm_90a:\n")
    for name in ("missing(int, char const*)", "a::B::f()", "table", "plain"):
        assert f"Undefined reference to '{name}' in 'inputs[1]'" in message


def test_an_undefined_variable_is_an_error_for_ltoir_too():
    user = unit("extern __device__ int v; __global__ void k(int* x) { x[0] = v; }", "ltoir")
    assert "Unresolved extern variable 'v'" in refusal(unit(LIBRARY, "ltoir"), user)


@pytest.mark.parametrize(
    "kinds", [("relocatable", "relocatable"), ("ltoir", "ltoir"), ("relocatable", "ltoir")]
)
def test_a_symbol_that_is_defined_twice_is_an_error(kinds: tuple[str, str], capfd):
    if kinds[0] != kinds[1] and nvjitlink.version() < (12, 9):
        pytest.skip("this nvJitLink tells of it on the error stream only")
    first, second = (unit(LIBRARY, kind) for kind in kinds)
    message = refusal(unit(USER), first, second)
    assert re.search("Multiple definition of 'counter'|'counter': symbol multiply", message)
    assert "Hint: rename one, make it static or inline, or keep one" in message
    assert capfd.readouterr().err == ""


def test_a_symbol_that_ptx_defines_too_is_an_error(capfd):
    source = LIBRARY + USER.replace("use(", "other(")
    ptx = unit(source, "ptx", "compute_90", options=["-rdc=true"])
    message = refusal(unit(LIBRARY), ptx, unit(USER))
    for name in ("add_one(float)", "counter"):
        assert f"Multiple definition of '{name}' in 'inputs[1]', first in 'inputs[0]'" in message
    assert "other" not in message
    assert capfd.readouterr().err == ""


def test_a_kernel_that_is_defined_twice_names_both_units():
    message = refusal(unit(LIBRARY), unit(LIBRARY), unit(LIBRARY), unit(USER))
    for other in ("inputs[1]", "inputs[2]"):
        assert f"Multiple definition of 'counter' in '{other}', first in 'inputs[0]'" in message
    kernels = [unit(f'extern "C" __global__ void k(int* x) {{ x[0] = {i}; }}') for i in (1, 2)]
    assert "Multiple definition of 'k' in 'inputs[1]', first in 'inputs[0]'" in refusal(*kernels)


def test_instances_and_inline_functions_may_be_in_several_units():
    source = (
        "template <class T> __global__ void fill(T* x) { x[0] = T(1); }\n"
        "inline __device__ __noinline__ int twice(int x) { return 2 * x; }\n"
        'extern "C" __global__ void k%d(int* x) { x[0] = twice(x[1]); }'
    )
    units = [unit(source % i, name_expressions=["fill<int>"]) for i in (1, 2)]
    assert len(nvjitlink.link(units).kernels) == 3


@pytest.mark.parametrize(
    ("declaration", "difference"),
    [
        ("extern __device__ int counter[4];", "4 bytes in 'inputs[0]' and 16 bytes in 'inputs[1]'"),
        (
            "extern __constant__ int counter[1];",
            "a __device__ variable in 'inputs[0]' and a __constant__ variable in 'inputs[1]'",
        ),
        (
            'extern "C" __device__ int counter(int);',
            "a __device__ variable in 'inputs[0]' and a function in 'inputs[1]'",
        ),
    ],
)
def test_a_variable_that_is_not_the_same_everywhere_is_an_error(
    declaration: str, difference: str, capfd
):
    use = "counter(x[1])" if "(int)" in declaration else "counter[x[1]]"
    user = unit(f"{declaration}\n__global__ void k(int* x) {{ x[0] = {use}; }}")
    message = refusal(unit(LIBRARY), user)
    assert f"'counter' is {difference}" in message
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("made_for", "target"),
    [("sm_90a", "sm_90"), ("sm_86", "sm_80"), ("sm_80", "sm_90"), ("sm_75", "sm_80")],
)
def test_code_for_another_architecture_is_refused_with_both_names(made_for: str, target: str):
    message = refusal(unit(LIBRARY, arch=made_for), error=ValueError, arch=target)
    assert f"inputs[0] is for {made_for} and cannot be linked into an image for {target}" in message


@pytest.mark.parametrize(
    ("kind", "made_for", "target"),
    [
        ("relocatable", "sm_80", "sm_86"),
        ("relocatable", "sm_90", "sm_90a"),
        ("ltoir", "sm_80", "sm_90a"),
    ],
)
def test_code_that_runs_on_the_target_too_is_linked(kind: str, made_for: str, target: str):
    library, user = unit(LIBRARY, kind, made_for), unit(USER, kind, target)
    linked = nvjitlink.link([library, user], arch=target)
    assert linked.arch == target
    assert read_image(linked).arch == target


def test_ltoir_for_a_newer_architecture_is_refused_without_its_cubin_saying_so():
    message = refusal(unit(LIBRARY, "ltoir").image, error=ValueError, arch="sm_80")
    assert "inputs[0] is for sm_90 and cannot be linked into an image for sm_80" in message


@pytest.mark.parametrize(
    ("given", "what"),
    [
        (b"", "it is empty"),
        (b"__global__ void k() {}", "it is CUDA source"),
        (b"\x7fELF", "corrupt ELF file: it is truncated"),
    ],
)
def test_what_cannot_be_linked_says_what_it_looks_like(given: bytes, what: str):
    assert f"inputs[0]: {what}" in refusal(given, error=ValueError, arch="sm_90")


def test_a_linked_cubin_and_a_damaged_one_are_refused():
    linked = nvrtc.compile("__global__ void k() {}", arch="sm_90a")
    assert "linked already" in refusal(linked, error=ValueError)
    assert "truncated or damaged" in refusal(unit(LIBRARY).image[:2000], error=ValueError)


@pytest.mark.parametrize("left", [8, 20, 70, 2000, -1])
def test_a_truncated_fatbin_is_refused(left: int):
    fatbin = nvrtc.compile(LIBRARY, arch=["sm_80", "sm_90"])
    said = refusal(fatbin.image[:left], error=ValueError, arch="sm_90")
    assert "inputs[0]: corrupt fatbin: it is truncated or damaged" in said


def test_a_fatbin_of_linked_cubins_is_refused():
    fatbin = nvrtc.compile("__global__ void k() {}", arch=["sm_80", "sm_90"])
    assert "linked already" in refusal(fatbin, error=ValueError, arch="sm_90")


def test_a_shared_object_is_refused():
    cudart = libraries.find_cuda().require("cudart")
    assert "a shared object" in refusal(cudart, error=ValueError, arch="sm_90")


@pytest.mark.parametrize("option", ["-arch=sm_80", "-lto", "-ptx"])
def test_an_option_that_an_argument_says_is_refused(option):
    assert f"the option '{option}' is said by an argument" in refusal(
        unit(LIBRARY), error=ValueError, options=[option]
    )


def test_wrong_arguments_are_named():
    assert "inputs[0] is bytes, a Cubin or a path, got int" in refusal(3, error=TypeError)
    assert "inputs is empty" in refusal(error=ValueError)
    with pytest.raises(TypeError, match="got one Cubin"):
        nvjitlink.link(unit(LIBRARY))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="options must be a sequence"):
        nvjitlink.link([unit(LIBRARY)], options="-g")
    for wrong in (None, 3):
        with pytest.raises(TypeError, match=f"inputs is a sequence.*{type(wrong).__name__}"):
            nvjitlink.link(wrong)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="options must hold strings"):
            nvjitlink.link([unit(LIBRARY)], options=[wrong])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="options must be a sequence"):
        nvjitlink.link([unit(LIBRARY)], options=None)  # type: ignore[arg-type]
    for path in ("a\0b", "\ud800"):
        with pytest.raises(ValueError, match=r"inputs\[0\]: .* cannot be a path"):
            nvjitlink.link([path])
    assert "refuses an option" in refusal(unit(LIBRARY), error=ValueError, options=["-nothing"])
    assert "arch='sm_150'" in refusal(unit(LIBRARY), error=ValueError, arch="sm_150")
    with pytest.raises(FileNotFoundError, match=r"inputs\[0\]: No such file"):
        nvjitlink.link(["/nowhere/library.a"])


def test_optimising_across_units_without_ltoir_says_what_is_missing():
    message = refusal(unit(LIBRARY), unit(USER), lto=True)
    assert 'no input has LTO-IR: compile them with target_type="ltoir", or leave out' in message


def test_warnings_are_logged_and_kept(caplog):
    units = [unit(LIBRARY, "ltoir"), unit(USER, "ltoir")]
    with caplog.at_level(logging.WARNING, "tvmffi_cubin"):
        linked = nvjitlink.link(units, options=["-maxrregcount=16"])
    assert "register count" in linked.log
    assert "nvJitLink for sm_90a" in caplog.text


def test_a_link_that_fails_is_freed(monkeypatch):
    library = libraries.library("nvJitLink", libraries.find_cuda().require("nvjitlink"))
    alive = Alive(monkeypatch, library.calls, "nvJitLinkCreate", "nvJitLinkDestroy")
    nvjitlink.link([unit(LIBRARY), unit(USER)])
    refusal(unit(USER))
    refusal(unit(LIBRARY), error=ValueError, options=["-nothing"])
    refusal(unit(LIBRARY, "ltoir").image, error=ValueError, arch="sm_80")
    assert alive.count == 0


def test_an_older_nvjitlink_names_both_versions_and_the_remedy(monkeypatch):
    release = nvrtc.version()
    monkeypatch.setattr(
        libraries.Library, "version", lambda self: release if self.title == "nvrtc" else (12, 1)
    )
    message = refusal(unit(LIBRARY), error=ToolchainError)
    made = ".".join(map(str, release))
    wheel = libraries.find_cuda().wheels["nvjitlink"]
    assert f"nvJitLink 12.1 is older than NVRTC {made}" in message
    assert f"pip install --upgrade '{wheel}>={made}'" in message


def test_the_version_is_that_of_the_family():
    assert nvjitlink.version()[0] == libraries.find_cuda().major
