"""Device sources that are compiled separately and linked to one image."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from stub.cuda_array import cuda_array

import tvmffi_cubin as tc
from tvmffi_cubin import cuda_wheels, elf, nvrtc
from tvmffi_cubin.errors import CompileError, ToolchainError
from tvmffi_cubin.nvjitlink_library import NvJitLinkLibrary

HEADER = "using Real = float;\n__device__ __forceinline__ Real half_of(Real x) { return x / 2; }"
SCALE = """
__device__ Real scaled(Real x) { return half_of(x) * 2; }
__device__ int counter;
__constant__ float factors[2] = {1, 2};
extern "C" __global__ void first(Real* x, int n) { x[0] = scaled(x[0]); counter = n; }
template <class T> __global__ void fill(T* x, T value) { x[0] = value; }
"""
USE = """
__device__ Real scaled(Real x);
extern __device__ int counter;
extern __constant__ float factors[2];
__global__ void second(Real* x, double y) { x[1] = scaled(x[1]) * factors[counter]; }
#define DEFINE(name) extern "C" __global__ void name(const int* p) { counter = p[0]; }
DEFINE(third)
"""
SOURCES = [HEADER, SCALE, USE]
BOTH = pytest.mark.parametrize("lto", [False, True])


def load(sources=SOURCES, functions=None, name="several", **more) -> tc.Module:
    return tc.load_inline(name, sources, functions=functions, **{"arch": "sm_90a", **more})


def refusal(*sources: str, error: type[Exception] = CompileError, **more) -> str:
    with pytest.raises(error) as caught:
        load(list(sources), **more)
    return str(caught.value)


def symbols(mod: tc.Module) -> frozenset[str]:
    return elf.parse(mod.cubins["kernels"].image).symbols


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


@pytest.mark.parametrize("more", ["", "__global__ void put(short* c) {}"])
@BOTH
def test_overloads_in_several_units_keep_their_own_types(lto, more):
    one, other = (f"__global__ void put({type_} p) {{ p[0] = 1; }}" for type_ in ("float*", "int*"))
    kernels = {"f": "_Z3putPf", "i": "_Z3putPi"}
    functions = {name: tc.Launch(kernel=symbol) for name, symbol in kernels.items()}
    mod = load([one, f"{other}\n{more}"], functions, lto=lto)
    assert [mod[name].signature for name in mod.functions] == ["f(float* p)", "i(int* p)"]


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


def test_a_text_that_includes_kernels_is_a_unit_too(tmp_path: Path):
    (tmp_path / "kernels.cuh").write_text('extern "C" __global__ void included(int* x) {}')
    sources = ['#include "kernels.cuh"', *(f"__global__ void k{i}(int* x) {{}}" for i in (1, 2))]
    mod = load(sources, name="included", extra_include_paths=[tmp_path])
    assert sorted(mod.functions) == ["included", "k1", "k2"]


def test_several_architectures_and_ptx_are_made_of_several_units():
    mod = load(name="archs", arch=["sm_80", "sm_90a", "compute_90"])
    image = mod.cubins["kernels"]
    assert image.archs == ("sm_80", "sm_90a", "compute_90")
    assert mod.functions == ("first", "second", "third")
    assert {kernel.name for kernel in image.kernels} == {"first", "_Z6secondPfd", "third"}


def test_a_source_that_is_alone_is_not_linked(monkeypatch):
    monkeypatch.setattr(NvJitLinkLibrary, "load", None)
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


def test_an_instance_of_nothing_lists_the_kernels_of_all_units():
    functions = {"f": tc.Launch(kernel="full<float>")}
    message = refusal(*SOURCES, functions=functions, error=ValueError)
    assert "'full<float>', is no instance of the source's kernels" in message
    assert "first, fill, second, third" in message


# Units that do not compile


@BOTH
def test_of_a_broken_unit_only_its_own_log_is_shown(lto):
    with pytest.raises(CompileError) as caught:
        load([*SOURCES, "__global__ void k() {\n  nonsense;\n}"], lto=lto)
    message = str(caught.value)
    assert message.startswith("cuda_sources[3] does not compile for sm_90a:\n")
    assert 'cuda_sources[3](2): error: identifier "nonsense" is undefined' in message
    assert "> 2 |   nonsense;" in message
    assert not any(f"cuda_sources[{index}]" in message for index in (0, 1, 2))
    assert caught.value.source == "__global__ void k() {\n  nonsense;\n}"


def test_of_two_broken_units_the_first_is_reported():
    for _ in range(3):
        message = refusal("__global__ void a() { one; }", "__global__ void b() { two; }")
        assert '"one" is undefined' in message
        assert "two" not in message


def test_an_error_in_a_header_names_the_header():
    header = '#define OK\n#error "wrong"'
    assert "cuda_sources[0](2): catastrophic error: #error" in refusal(header, SCALE, USE)


def test_a_unit_that_needs_a_declaration_is_told_which():
    message = refusal(HEADER, SCALE, USE.replace("__device__ Real scaled(Real x);", ""))
    assert 'identifier "scaled" is undefined' in message
    assert (
        "Hint: cuda_sources[1] defines scaled, but sources of a list are compiled separately: "
        "declare it here as well, '__device__ Real scaled(Real x);', or join the sources"
    ) in message


# Units that do not link


@BOTH
def test_all_undefined_symbols_are_named_with_their_unit(lto):
    user = """
    __device__ int missing(int, const char*);
    extern __device__ int variable;
    extern "C" __global__ void k(int* x) { x[0] = missing(1, "") + variable; }"""
    with pytest.raises(CompileError) as caught:
        load([*SOURCES, user], lto=lto)
    message = str(caught.value)
    assert message.startswith("the device sources do not link for sm_90a:\n")
    assert "missing(int, char const*) is used in cuda_sources[3] and defined nowhere" in message
    assert "variable is used in cuda_sources[3] and defined nowhere" in message
    assert caught.value.log
    assert caught.value.source == ""
    assert "-arch=sm_90a" in caught.value.options


def test_an_undefined_symbol_in_ptx_names_its_unit():
    user = 'extern __device__ int v; extern "C" __global__ void k(int* x) { x[0] = v; }'
    message = refusal("__device__ int other;", user, arch="compute_90")
    assert "v is used in cuda_sources[1] and defined nowhere" in message


@pytest.mark.parametrize(
    ("definition", "hint"),
    [
        ("static __device__ int f(int x) { return x; }", "cuda_sources[0] defines f as static"),
        ("inline __device__ int f(int x) { return x; }", "cuda_sources[0] defines f as inline"),
        ("__device__ int f(float x) { return 1; }", "cuda_sources[0] defines f(float)"),
        (
            'extern "C" __device__ int f(int x) { return x; }',
            'cuda_sources[0] defines f as extern "C", cuda_sources[1] declares it without',
        ),
    ],
)
def test_what_is_almost_the_undefined_function_is_pointed_out(definition, hint):
    first = definition + "\n__global__ void other(int* x) { x[0] = f(x[1]); }"
    second = "__device__ int f(int);\n__global__ void k(int* x) { x[0] = f(x[1]); }"
    message = refusal(first, second)
    assert "f(int) is used in cuda_sources[1] and defined nowhere" in message
    assert f"Hint: {hint}" in message


@BOTH
def test_all_that_is_defined_twice_is_named_with_both_units(lto, capfd):
    unit = """
    __device__ int helper(int x) { return x; }
    __device__ int counter;
    extern "C" __global__ void k(int* x) { x[0] = helper(counter); }"""
    message = refusal(unit, unit, lto=lto)
    places = "is defined twice, in cuda_sources[0] and cuda_sources[1]"
    assert f"helper(int) {places}: make it static or inline, or keep one" in message
    assert f"counter {places}" in message
    assert f"k {places}: rename one, or keep one" in message
    assert capfd.readouterr().err == ""


def test_a_variable_of_two_sizes_is_an_error(capfd):
    message = refusal(
        "__constant__ int table[4];",
        "extern __constant__ int table[8]; __global__ void k(int* x) { x[0] = table[x[1]]; }",
    )
    assert "16 bytes in cuda_sources[0] and 32 bytes in cuda_sources[1]" in message
    assert capfd.readouterr().err == ""


# Libraries

LIBRARY = "__device__ float helper(float x) { return x + 1; }"
CALLER = 'extern __device__ float helper(float); extern "C" __global__ void call(float* x) {'
CALLER += " x[0] = helper(x[0]); }"


def library(kind: str = "relocatable", source: str = LIBRARY, arch: str = "sm_90a") -> tc.Cubin:
    options = ["-rdc=true"] if kind == "ptx" else []
    return nvrtc.compile(source, arch=arch, target_type=kind, options=options)


@BOTH
@pytest.mark.parametrize("kind", ["relocatable", "ltoir", "ptx"])
def test_a_library_is_linked_into_a_single_source(kind, lto):
    source = LIBRARY + '\nextern "C" __global__ void inside(float* x) {}'
    made = library(kind, source, arch="compute_90" if kind == "ptx" else "sm_90a")
    mod = load(CALLER, device_libraries=[made], lto=lto, name=f"with_{kind}")
    assert mod["call"].signature == "call(float* x)"


def test_libraries_may_be_bytes_and_files(tmp_path: Path):
    path = tmp_path / "helper.cubin"
    path.write_bytes(library().image)
    for given in (path, str(path), library().image):
        assert load(CALLER, device_libraries=[given], name="given").functions == ("call",)


def test_the_content_of_a_library_is_part_of_the_key():
    one, other = (library(source=LIBRARY.replace("1", x)) for x in ("1", "2"))

    def build(made: tc.Cubin, **more) -> str:
        return tc.build_inline("keyed", CALLER, arch="sm_90a", device_libraries=[made], **more)

    assert build(one) == build(one)
    assert len({build(one), build(other), build(one, lto=True)}) == 3


def test_kernels_may_launch_kernels_with_the_device_runtime():
    cudart = cuda_wheels.find_cuda().cudart
    if cudart is None or not cudart.with_name("libcudadevrt.a").exists():
        pytest.skip("the CUDA runtime's wheel has no libcudadevrt.a")
    source = """
    __global__ void child(int* x) { x[0] = 1; }
    extern "C" __global__ void parent(int* x) { child<<<1, 1>>>(x); }"""
    mod = load([source], device_libraries=["cudadevrt"], name="nested")
    assert mod.functions == ("child", "parent")


def test_a_library_s_own_kernels_are_exported_where_they_are_named():
    source = LIBRARY + '\nextern "C" __global__ void inside(float* x) {}'
    made = library(source=source)
    assert load(CALLER, device_libraries=[made], name="own").functions == ("call",)
    launch = tc.Launch(kernel="inside", params="float* x")
    mod = load(CALLER, {"f": launch}, device_libraries=[made], name="own")
    assert mod["f"].signature == "f(float* x)"


@BOTH
def test_a_library_without_the_symbol_names_the_source_that_uses_it(lto):
    other = library(source=LIBRARY.replace("float x", "int x"))
    message = refusal(CALLER, device_libraries=[other], lto=lto)
    assert "helper(float) is used in cuda_sources[0] and defined nowhere" in message
    assert "Hint: device_libraries[0] defines helper(int)" in message


def test_a_library_for_another_architecture_is_refused_with_both_names():
    message = refusal(CALLER, error=ValueError, device_libraries=[library(arch="sm_80")])
    assert "device_libraries[0] is for sm_80 and cannot be linked into an image for sm_9" in message


def test_what_is_no_library_is_named():
    linked = nvrtc.compile("__global__ void k() {}", arch="sm_90a")
    for given, problem in (
        (b"nothing", "device_libraries[1] cannot be linked: it begins with"),
        (linked, "device_libraries[1] cannot be linked: it is a cubin that is linked already"),
    ):
        message = refusal(CALLER, error=ValueError, device_libraries=[library(), given])
        assert problem in message
    with pytest.raises(TypeError, match=r"device_libraries\[0\] is bytes, a Cubin or a path"):
        load(CALLER, device_libraries=[3])
    with pytest.raises(TypeError, match="device_libraries is a sequence"):
        load(CALLER, device_libraries="libhelper.a")
    with pytest.raises(FileNotFoundError, match=r"device_libraries\[0\]: No such file"):
        load(CALLER, device_libraries=["/nowhere/libhelper.a"])
    array = np.zeros(3, np.uint8)
    with pytest.raises(TypeError, match=r"device_libraries\[0\] is bytes, .* got ndarray"):
        load(CALLER, device_libraries=[array])
    with pytest.raises(ValueError, match=r"device_libraries\[0\]: 'a.x00b' cannot be a path"):
        load(CALLER, device_libraries=["a\0b"])
    with pytest.raises(ValueError, match="there are none: link them with nvjitlink.link"):
        tc.load_inline("m", cpp_sources="int one() { return 1; }", device_libraries=[library()])
    with pytest.raises(TypeError, match="lto is True or False, got 'yes'"):
        load(lto="yes")


# Options and tools


def test_the_options_of_a_link_are_those_of_the_compilation():
    flags = ["-lineinfo", "-maxrregcount=32", "-dlto", "-rdc=true"]
    image = load(name="options", extra_cuda_cflags=flags).cubins["kernels"].image
    assert b".debug_line" in image
    assert "_Z6scaledf" not in elf.parse(image).symbols
    with pytest.raises(CompileError) as caught:
        load(
            [*SOURCES, "extern __device__ int v; __global__ void k(int* x) { x[0] = v; }"],
            extra_cuda_cflags=flags,
        )
    assert {"-lineinfo", "-maxrregcount=32"} <= {*caught.value.options}


def test_a_missing_nvjitlink_names_its_wheel(monkeypatch):
    cuda = dataclasses.replace(cuda_wheels.find_cuda(), nvjitlink=None)
    monkeypatch.setattr(cuda_wheels, "_find", lambda *_: cuda)
    wheel = cuda.wheels["nvjitlink"]
    message = refusal(*SOURCES, error=ToolchainError, name="missing")
    assert f"pip install {wheel}" in message
    assert load(SCALE.replace("half_of(x)", "x").replace("Real", "float"), name="missing").functions


def test_another_nvjitlink_is_another_key_only_where_there_may_be_a_link(monkeypatch):
    def build(sources, name):
        return tc.build_inline(name, sources, arch="sm_90a")

    alone = build(CALLER.replace("helper(x[0])", "x[0]"), "key_alone")
    build(SOURCES, "key_several")
    cuda = cuda_wheels.find_cuda()
    other = dataclasses.replace(cuda, nvjitlink=cuda.nvrtc)
    monkeypatch.setattr(cuda_wheels, "_find", lambda *_: other)
    assert build(CALLER.replace("helper(x[0])", "x[0]"), "key_alone") == alone
    with pytest.raises(ToolchainError, match="nvJitLink could not be loaded"):
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
