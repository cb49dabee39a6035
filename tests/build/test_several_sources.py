"""Device sources that are compiled separately and linked to one image."""

from __future__ import annotations

from pathlib import Path

import pytest
from several_units import BOTH, CALLER, HEADER, SCALE, SOURCES, USE, library, load, refusal
from stub.cuda_array import cuda_array

import tvmffi_cubin as tc
from tvmffi_cubin.cuda import libraries, nvjitlink
from tvmffi_cubin.errors import CompileError, ToolchainError
from tvmffi_cubin.kernels import nv_info


def symbols(mod: tc.Module) -> set[str]:
    return {x.name for x in nv_info.symbols(mod.cubins["kernels"].image)}


# Units


@BOTH
def test_kernels_of_all_units_are_exported_in_order_with_their_types(lto):
    mod = load(lto=lto)
    assert [mod[name].signature for name in mod.functions] == [
        "first(float* x, int n)",
        "second(float* x, double y)",
        "third(const int* p)",
    ]


@BOTH
def test_one_function_launches_kernels_of_two_units(lto, driver_stub):
    shape = {"grid": 1, "block": 32}
    launches = [
        tc.Launch(kernel="first", **shape, args={"n": "x.numel"}),
        tc.Launch(kernel="second", **shape),
        tc.Launch(kernel="fill<float>", **shape, args={"value": 3.0}),
    ]
    mod = load(functions={"all": launches}, lto=lto, name="launched")
    x = cuda_array(driver_stub, 4)
    mod.all(x, 1.5)
    first, second, third = driver_stub.launches()
    assert [x.kernel for x in (first, second, third)] == [
        "first",
        "_Z6secondPfd",
        "_Z4fillIfEvPT_S0_",
    ]
    assert first.values("Pi") == (x.data_ptr, 4)
    assert second.values("Pd") == (x.data_ptr, 1.5)
    assert third.values("Pf") == (x.data_ptr, 3.0)


def test_lto_inlines_across_units_and_separate_units_do_not():
    assert "_Z6scaledf" in symbols(load())
    assert "_Z6scaledf" not in symbols(load(lto=True))


@BOTH
def test_what_is_static_may_have_one_name_in_several_units(lto):
    unit = """
    static __device__ __noinline__ int own(int x) { return x * %d; }
    namespace { __device__ int hidden; __global__ void inner(int* x) { x[0] = hidden; } }
    template <class T> __device__ __noinline__ T twice(T x) { return x * clock(); }
    extern "C" __global__ void k%d(int* x) { x[0] = own(x[1]) + twice(x[2]) + hidden; }"""
    functions = {name: tc.Launch(kernel=name, grid=1, block=1) for name in ("k1", "k2")}
    mod = load([unit % (i, i) for i in (1, 2)], functions, lto=lto, name="static")
    assert mod.functions == ("k1", "k2")


@BOTH
def test_two_static_kernels_of_one_name_are_an_error_that_names_both(lto):
    unit = "static __global__ void same(int* x) { x[0] = %d; }"
    message = refusal(unit % 1, unit % 2, lto=lto)
    assert "same is a static kernel in cuda_sources[0] and in cuda_sources[1]" in message


def test_a_wrapper_beside_several_units_goes_to_the_host_compiler():
    wrapper = """
    #include <tvm/ffi/tvm_ffi.h>
    int answer() { return 42; }
    TVM_FFI_DLL_EXPORT_TYPED_FUNC(answer, answer);"""
    mod = load([*SOURCES, wrapper], name="wrapped")
    assert mod["answer"]() == 42
    assert set(mod.cubins) == {"kernels"}


def test_files_are_units_with_their_own_folders(tmp_path: Path):
    for name, text in (("a", SCALE), ("b", USE)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "own.h").write_text(HEADER)
        (tmp_path / name / f"{name}.cu").write_text(f'#include "own.h"\n{text}')
    files = [tmp_path / "a" / "a.cu", tmp_path / "b" / "b.cu"]
    assert tc.load("files", sources=files, arch="sm_90a").functions == ("first", "second", "third")
    made = library(source=SCALE.replace("Real", "float").replace("half_of(x)", "x"))
    with_library = tc.load("files", sources=files[1], arch="sm_90a", device_libraries=[made])
    assert with_library.functions == ("second", "third")
    files[1].write_text(files[1].read_text() + "nonsense")
    with pytest.raises(CompileError, match=r"b/b\.cu does not compile") as caught:
        tc.load("files", sources=files, arch="sm_90a")
    assert "a.cu" not in str(caught.value)


def test_several_architectures_and_ptx_are_made_of_several_units():
    mod = load(name="archs", arch=["sm_80", "sm_90a", "compute_90"])
    image = mod.cubins["kernels"]
    assert image.archs == ("sm_80", "sm_90a", "compute_90")
    assert mod.functions == ("first", "second", "third")
    assert {kernel.name for kernel in image.kernels} == {"first", "_Z6secondPfd", "third"}


def test_a_source_that_is_alone_is_not_linked(monkeypatch):
    monkeypatch.setattr(nvjitlink, "link_inputs", None)
    alone = ["#define N 3", 'extern "C" __global__ void alone(int* x) { x[0] = N; }']
    for sources in (alone, alone[1].replace("N;", "4;")):
        mod = load(sources, name="alone", lto=True, extra_cuda_cflags=["-rdc=true"])
        assert mod.functions == ("alone",)


# Instances


@BOTH
def test_an_instance_is_made_by_the_unit_that_has_the_template(lto):
    mod = load(functions={"f": tc.Launch(kernel="fill<double>")}, lto=lto, name="instance")
    assert mod["f"].signature == "f(double* x, double value)"
    assert mod.cubins["kernels"].lowered_names == {"fill<double>": "_Z4fillIdEvPT_S0_"}


def test_an_instance_of_a_header_s_template_is_found_by_trying(tmp_path: Path):
    (tmp_path / "fill.cuh").write_text("template <class T> __global__ void from_header(T* x) {}")
    mod = load(
        ["__global__ void k(int* x) {}", '#include "fill.cuh"\n__global__ void l(int* x) {}'],
        {"f": tc.Launch(kernel="from_header<int>")},
        name="tried",
        extra_include_paths=[tmp_path],
    )
    assert mod["f"].signature == "f(int* arg0)"


def test_an_instance_whose_body_does_not_compile_is_reported_with_its_unit():
    template = "template <class T> __global__ void one(T* x) { *x = T::one; }"
    with pytest.raises(tc.CompileError, match=r"cuda_sources\[1\].*does not compile"):
        load(
            ["__global__ void k(int* x) {}", template],
            {"f": tc.Launch(kernel="one<int>")},
            name="body",
        )


# Options and tools


def test_the_options_of_a_link_are_those_of_the_compilation():
    flags = ["-lineinfo", "-maxrregcount=32", "-dlto", "-rdc=true"]
    mod = load(name="options", extra_cuda_cflags=flags)
    assert b".debug_line" in mod.cubins["kernels"].image
    assert "_Z6scaledf" not in symbols(mod)
    with pytest.raises(CompileError) as caught:
        load(
            [*SOURCES, "extern __device__ int v; __global__ void k(int* x) { x[0] = v; }"],
            extra_cuda_cflags=flags,
        )
    assert {"-lineinfo", "-maxrregcount=32"} <= {*caught.value.options}


def test_a_missing_nvjitlink_names_its_wheel(monkeypatch):
    cuda = libraries.find_cuda()
    parts = {part: path for part, path in cuda.parts.items() if part != "nvjitlink"}
    cuda = cuda._replace(parts=parts)
    monkeypatch.setattr(libraries, "_find", lambda *_: cuda)
    wheel = cuda.wheels["nvjitlink"]
    message = refusal(*SOURCES, error=ToolchainError, name="missing")
    assert f"pip install {wheel}" in message
    assert load(SCALE.replace("half_of(x)", "x").replace("Real", "float"), name="missing").functions


def test_another_nvjitlink_is_another_key_only_where_there_may_be_a_link(monkeypatch, tmp_path):
    def build(sources, name):
        return tc.build_inline(name, sources, arch="sm_90a")

    alone = build(CALLER.replace("helper(x[0])", "x[0]"), "key_alone")
    build(SOURCES, "key_several")
    cuda = libraries.find_cuda()
    (tmp_path / "libnvJitLink.so.12").write_text("nothing")
    parts = {**cuda.parts, "nvjitlink": str(tmp_path / "libnvJitLink.so.12")}
    other = cuda._replace(parts=parts)
    monkeypatch.setattr(libraries, "_find", lambda *_: other)
    assert build(CALLER.replace("helper(x[0])", "x[0]"), "key_alone") == alone
    assert tc.cache_info().events[-1].reason == ""
    with pytest.raises(tc.ToolchainError, match="nvJitLink could not be loaded"):
        build(SOURCES, "key_several")


def test_warnings_name_the_unit(caplog):
    unused = "\n\n__global__ void warned(int* x) { int unused; x[0] = 1; }"
    mod = load([*SOURCES, unused], name="warned")
    assert "cuda_sources[3](3): warning" in mod.cubins["kernels"].log
    assert "NVRTC on cuda_sources[3]" in caplog.text


def test_what_is_yet_to_be_linked_is_not_embedded_as_it_is():
    for kind, what in (("relocatable", "is a relocatable cubin"), ("ltoir", "it is LTO-IR")):
        with pytest.raises(ValueError, match=rf"embed_cubin\['image'\].*{what}.*nvjitlink\.link"):
            tc.load_inline(
                "unlinked",
                embed_cubin={"image": library(kind, USE.replace("Real", "float"))},
                functions={"third": tc.Launch(params="const int* p")},
            )
