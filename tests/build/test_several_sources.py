"""Device sources that are compiled separately, and libraries, linked to one image."""

from __future__ import annotations

from pathlib import Path

import pytest

import tvmffi_cubin as tc
from tvmffi_cubin import nvrtc
from tvmffi_cubin.cuda import libraries
from tvmffi_cubin.errors import CompileError
from tvmffi_cubin.kernels.elf import Elf

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
LIBRARY = """
__device__ float helper(float x) { return x + 1; }
extern "C" __global__ void inside(float* x) {}
"""
CALLER = """
extern __device__ float helper(float);
extern "C" __global__ void call(float* x) { x[0] = helper(x[0]); }
"""
BOTH = pytest.mark.parametrize("lto", [False, True])


def load(sources=SOURCES, functions=None, name="several", **more) -> tc.Module:
    return tc.load_inline(name, sources, functions=functions, **{"arch": "sm_90a", **more})


def refusal(*sources: str, error: type[Exception] = CompileError, **more) -> str:
    with pytest.raises(error) as caught:
        load(list(sources), **more)
    return str(caught.value)


def library(kind: str = "relocatable", source: str = LIBRARY, arch: str = "sm_90a") -> tc.Cubin:
    options = ["-rdc=true"] if kind == "ptx" else []
    return nvrtc.compile(source, arch=arch, target_type=kind, options=options)


def symbols(mod: tc.Module) -> set[str]:
    return {x.name for x in Elf(mod.cubins["kernels"].image).symbols()}


@BOTH
def test_kernels_of_all_units_are_exported_in_order_with_their_types(lto):
    mod = load(lto=lto)
    assert [mod[name].signature for name in mod.functions] == [
        "first(float* x, int n)",
        "second(float* x, double y)",
        "third(const int* p)",
    ]
    # Only LTO inlines across units.
    assert ("_Z6scaledf" in symbols(mod)) != lto


def test_one_function_launches_kernels_of_two_units(driver_stub, x):
    shape = {"grid": 1, "block": 32}
    launches = [
        tc.Launch(kernel="first", **shape, args={"n": "x.numel"}),
        tc.Launch(kernel="second", **shape),
        tc.Launch(kernel="fill<float>", **shape, args={"value": 3.0}),
    ]
    mod = load(functions={"all": launches}, name="launched")
    mod.all(x, 1.5)
    launched = driver_stub.launches()
    assert [x.kernel for x in launched] == ["first", "_Z6secondPfd", "_Z4fillIfEvPT_S0_"]
    assert launched[1].values("Pd") == (x.data_ptr, 1.5)
    assert mod.cubins["kernels"].lowered_names == {"fill<float>": "_Z4fillIfEvPT_S0_"}


def test_files_are_units_with_their_own_folders(tmp_path: Path):
    for name, text in (("a", SCALE), ("b", USE)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "own.h").write_text(HEADER)
        (tmp_path / name / f"{name}.cu").write_text(f'#include "own.h"\n{text}')
    files = [tmp_path / "a" / "a.cu", tmp_path / "b" / "b.cu"]
    assert tc.load("files", sources=files, arch="sm_90a").functions == ("first", "second", "third")
    files[1].write_text(files[1].read_text() + "nonsense")
    with pytest.raises(CompileError, match=r"b/b\.cu does not compile") as caught:
        tc.load("files", sources=files, arch="sm_90a")
    assert "a.cu" not in str(caught.value)


def test_overloads_and_a_header_s_templates_in_several_units_keep_their_own_types(tmp_path: Path):
    header = "template <class T> __global__ void fill(T* x, T value) { x[0] = value; }"
    (tmp_path / "fill.cuh").write_text(header)
    one = '#include "fill.cuh"\n__global__ void put(float* p) { p[0] = 1; }'
    other = "__global__ void put(int* p) { p[0] = 1; }\n__global__ void put(short* c) {}"
    kernels = {"d": "fill<double>", "f": "_Z3putPf", "i": "_Z3putPi"}
    functions = {name: tc.Launch(kernel=kernel) for name, kernel in kernels.items()}
    mod = load([one, other], functions, extra_include_paths=[tmp_path])
    assert [mod[name].signature for name in functions] == [
        *("d(double* arg0, double arg1)", "f(float* p)", "i(int* p)")
    ]


@pytest.mark.parametrize(("kind", "lto"), [("relocatable", False), ("ltoir", True), ("ptx", False)])
def test_a_library_is_linked_into_a_single_source(kind, lto):
    made = library(kind, arch="compute_90" if kind == "ptx" else "sm_90a")
    # Its own kernels are exported where they are named.
    functions = {"call": None, "f": tc.Launch(kernel="inside", params="float* x")}
    for given in (None, functions):
        mod = load(CALLER, given, device_libraries=[made], lto=lto, name=f"with_{kind}")
        assert mod.functions == tuple(given or ["call"])
        assert mod.call.signature == "call(float* x)"


def test_kernels_may_launch_kernels_with_the_device_runtime():
    source = """__global__ void child(int* x) { x[0] = 1; }
    extern "C" __global__ void parent(int* x) { child<<<1, 1>>>(x); }"""
    assert refusal(source).count('pass device_libraries=["cudadevrt"]') == 1
    cudart = libraries.find_cuda().require("cudart")
    if not cudart.with_name("libcudadevrt.a").exists():
        pytest.skip("the CUDA runtime's wheel has no libcudadevrt.a")
    mod = load([source], device_libraries=["cudadevrt"], name="nested")
    assert mod.functions == ("child", "parent")


def test_what_is_no_library_is_named():
    linked = nvrtc.compile("__global__ void k() {}", arch="sm_90a")
    for given, error, problem in (
        (library(arch="sm_80"), ValueError, "[0] is for sm_80 and cannot be linked into an image"),
        (b"nothing", ValueError, "device_libraries[0]: not an image: it starts with"),
        (linked, ValueError, "device_libraries[0]: its kind is 'cubin';"),
        ("/nowhere/libhelper.a", FileNotFoundError, "/nowhere/libhelper.a"),
    ):
        assert problem in refusal(CALLER, error=error, device_libraries=[given])
    with pytest.raises(TypeError, match="device_libraries must be a sequence"):
        load(CALLER, device_libraries="libhelper.a")
    with pytest.raises(ValueError, match="there are none: link them with nvjitlink.link"):
        tc.load_inline("m", cpp_sources="int one() { return 1; }", device_libraries=[library()])


def test_of_broken_units_the_first_ones_own_log_is_shown():
    broken = "__global__ void k() {\n  nonsense;\n}"
    with pytest.raises(CompileError) as caught:
        load([*SOURCES, broken, "__global__ void b() { two; }"])
    message = str(caught.value)
    assert message.startswith("cuda_sources[3] does not compile for sm_90a:\n")
    assert 'cuda_sources[3](2): error: identifier "nonsense" is undefined' in message
    assert not any(f"cuda_sources[{index}]" in message for index in (0, 1, 2, 4))
    assert caught.value.source.endswith(f"\n{broken}")


def test_a_unit_that_needs_a_declaration_is_told_so():
    message = refusal(HEADER, SCALE, USE.replace("__device__ Real scaled(Real x);", ""))
    assert 'identifier "scaled" is undefined' in message
    assert "Hint: sources of a list are compiled separately: declare here" in message


@BOTH
def test_what_is_defined_twice_is_named_with_both_units(lto, capfd):
    unit = """
    __device__ int helper(int x) { return x; }
    __device__ int counter;
    extern "C" __global__ void k(int* x) { x[0] = helper(counter); }"""
    message = refusal(unit, unit, lto=lto)
    if lto:  # nvJitLink tells one
        assert "': symbol multiply defined" in message
    else:
        for name in ("helper(int)", "counter", "k"):
            assert f"Multiple definition of '{name}' in 'cuda_sources[1]', first in" in message
    assert capfd.readouterr().err == ""
