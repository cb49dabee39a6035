"""Several files with kernels and host functions in one module: units, as nvcc has them."""

import os
import struct
from pathlib import Path

import pytest
from file_kit import linked, write
from stub.cuda_array import cuda_array

import tvmffi_cubin as tc
from tvmffi_cubin.inline import mixed_sides
from tvmffi_cubin.kernels.elf import Elf

HEADER = """#pragma once
template <typename T> __global__ void shared(T* x) { *x = 1; }
template <typename T> void run_shared(T* x) { shared<<<3, 1>>>(x); }
__global__ void of_one(int* x, int n);
__global__ void of_kernels(int n);
__constant__ float table[4];
int helper(int n);
"""
# What both files have under one name is internal, or the device's.
BOTH = """#include "common.h"
#include <tvm/ffi/function.h>
static __device__ int counter;
__device__ LEVEL level;
static __global__ void own(LEVEL x) {{ counter = x; }}
namespace {{ int hidden() {{ return {1}; }} }}
int own_{0}(int n) {{ own<<<1, n>>>({1}); return hidden(); }}
int64_t level_{0}() {{
  size_t bytes = 0;
  const float four[4] = {{}};
  if (cudaMemcpyToSymbol(table, four, sizeof(four)) != cudaSuccess) return -1;
  return cudaGetSymbolSize(&bytes, level) == cudaSuccess ? static_cast<int64_t>(bytes) : -2;
}}
TVM_FFI_DLL_EXPORT_TYPED_FUNC(own_{0}, own_{0});
TVM_FFI_DLL_EXPORT_TYPED_FUNC(level_{0}, level_{0});
"""
ONE = """#define LEVEL float
{0}
__global__ void of_one(int* x, int n) {{ *x = n; }}
int helper(int n) {{ run_shared<float>(nullptr); return n + hidden(); }}
"""
TWO = """#define LEVEL double
{0}
int all(int n) {{
  of_one<<<4, n>>>(nullptr, 7);
  of_kernels<<<5, 1>>>(n);
  run_shared<float>(nullptr);
  run_shared<int>(nullptr);
  return helper(n);
}}
TVM_FFI_DLL_EXPORT_TYPED_FUNC(all, all);
"""
SOURCES = ["one.cu", "two.cu", "kernels.cu", "more.cu"]


def write_sources():
    write("common.h", HEADER)
    write("one.cu", ONE.format(BOTH.format("one", 1)))
    write("two.cu", TWO.format(BOTH.format("two", 2)))
    write("kernels.cu", "__global__ void of_kernels(int n) { __trap(); }\n")
    text = 'extern "C" __global__ void exported(int* x) { *x = 2; }\n'
    write("more.cu", text + "template <class T> __global__ void filled(T* x) { *x = 3; }\n")
    return SOURCES


def load():
    filled = tc.Launch(kernel="filled<int>", grid=1, block=1)
    functions = {"all": None, "own_one": None, "exported": None, "filled": filled}
    return tc.load("units", sources=SOURCES, functions=functions, arch="sm_90")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("cutlass", numbered=False)  # as a checkout of it is called


@pytest.fixture
def mod(folder, monkeypatch):
    monkeypatch.chdir(folder)
    write_sources()
    return load()


def test_each_has_its_own_statics_variables_kernels_and_functions(mod, driver_stub):
    assert (mod.own_one(3), mod.own_two(4)) == (1, 2)
    first, second = driver_stub.launches()
    assert (first.block, first.params) == ((3, 1, 1), (struct.pack("<f", 1),))
    assert (second.block, second.params) == ((4, 1, 1), (struct.pack("<d", 2),))
    assert (mod.level_one(), mod.level_two()) == (4, 8)


def test_functions_and_kernels_of_one_are_there_for_the_others(mod, driver_stub):
    assert mod.all(6) == 7
    launches = [(launch.kernel, launch.grid[0]) for launch in driver_stub.launches()]
    shared = [(f"_Z6sharedI{kind}EvPT_", 3) for kind in "fif"]
    assert launches == [("_Z6of_onePii", 4), ("_Z10of_kernelsi", 5), *shared]
    assert driver_stub.launches()[0].values("Pi") == (0, 7)


def test_kernels_of_device_files_beside_them_are_exported_where_they_are_named(mod, driver_stub):
    x = cuda_array(driver_stub, 4, "int32")
    mod.exported[1, 1](x)
    mod.filled(x)
    assert [x.kernel for x in driver_stub.launches()] == ["exported", "_Z6filledIiEvPT_"]
    assert {launch.values("P") for launch in driver_stub.launches()} == {(x.data_ptr,)}
    assert sorted(mod.cubins) == ["kernels", "kernels_2", "kernels_3", "kernels_4"]


def test_a_file_that_names_nothing_of_tvm_ffi_needs_nothing_of_it(here, driver_stub):
    write("plain.cu", "__global__ void k() {}\nvoid plain() { k<<<1, 5000>>>(); }\n")
    export = "void plain();\nTVM_FFI_DLL_EXPORT_TYPED_FUNC(refused, plain);\n"
    write("ops.cu", f"#include <tvm/ffi/function.h>\n__global__ void other() {{}}\n{export}")
    made = tc.build("plain", sources="plain.cu", output="plain.o", arch="sm_90")
    symbols = Elf(Path(made).read_bytes()).symbols()
    assert not [x.name for x in symbols if "TVMFFI" in x.name]
    mod = tc.load("plain", sources=["plain.cu", "ops.cu"], arch="sm_90")
    with pytest.raises(tc.LaunchLimitError, match=r"plain\.cu:2: launch of k\("):
        mod.refused()


@pytest.mark.parametrize("of_main", ["k<<<1, 1>>>()", "return !malloc(1)"])  # as nvcc includes
def test_a_program_is_no_module_but_an_object(here, of_main):
    kernel = "__global__ void k() {}\n" * ("k" in of_main)
    write("prog.cu", f"{kernel}int main() {{ {of_main}; }}\n")
    with pytest.raises(ValueError, match=r"nothing to export.* main\(\), make an obj"):
        tc.load("prog", sources="prog.cu", arch="sm_90")
    made = tc.build("prog", sources="prog.cu", output="prog.o", arch="sm_90")
    assert "main" in [x.name for x in Elf(Path(made).read_bytes()).symbols()]


def test_a_change_compiles_the_side_of_one_file_anew(mod, driver_stub, monkeypatch):
    made = []

    def counted(what, compile_it):
        return lambda *given: made.append(what) or compile_it(*given)

    for side, name in (("host", "run_host"), ("device", "compile_device")):
        monkeypatch.setattr(mixed_sides, name, counted(side, getattr(mixed_sides, name)))
    write("one.cu", ONE.format(BOTH.format("one", 1)).replace("*x = n", "\n*x = n + 1"))
    again = load()
    assert made == ["device"]
    assert again.all(6) == 7


def test_a_kernel_that_is_declared_and_nowhere_defined_is_named(here):
    sources = [x for x in write_sources() if x != "kernels.cu"]
    with pytest.raises(tc.BuildError, match=r"undefined reference to `of_kernels\(int\)"):
        tc.load("units", sources=sources, arch="sm_90")


@pytest.mark.parametrize(
    ("text", "kind", "told"),
    [
        (
            "extern __device__ int far(int); __global__ void k(int* x) { *x = far(*x); }\n"
            "int helper(int n) { k<<<1, 1>>>(nullptr); return n; }",
            tc.CompileError,
            r"Unresolved extern function '_Z3fari'(?s:.*)define it .*, in a header if",
        ),
        (
            "__global__ void k(int* x) {}\nint helper(int n) { k<<<1, 1>>>(nullptr); return n; }\n"
            "__global__ void of_one(int* x, int n) {}\nint fb(int n) { return n; }",
            tc.BuildError,
            r"multiple definition of .of_one\(int\*, int\)",
        ),
    ],
)
def test_what_the_files_may_not_share_is_named(text, kind, told, here):
    write_sources()
    device = "__device__ int far(int x) { return x; }\n"
    write("one.cu", device + ONE.format(BOTH.format("one", 1)).replace("helper", "other"))
    write("two.cu", text)
    with pytest.raises(kind, match=told):
        tc.load("shared", sources=["one.cu", "two.cu"], arch="sm_90")


def test_objects_of_several_builds_are_linked_to_one_library(here, driver_stub):
    write_sources()
    one = ONE.format(BOTH.format("one", 1))
    write("one.cu", one + "__global__ void of_kernels(int n) { __trap(); }\n")
    # A file that only launches what others define is an object, too.
    two = TWO.format(BOTH.format("two", 2)).replace("of_kernels<<<5, 1>>>(n);", "far(n);")
    write("two.cu", two)
    write("common.h", HEADER + "void far(int n);\n")
    write("three.cu", '#include "common.h"\nvoid far(int n) { of_kernels<<<6, 1>>>(n); }\n')
    objects = [
        tc.build("apart", sources=f"{name}.cu", output=f"{name}.o", arch="sm_90")
        for name in ("one", "two", "three")
    ]
    library = linked(*objects, os.environ["TVMFFI_CUBIN_CUDART"])
    for mod in (tc.load("joined", sources=objects), tc.load_module(library)):
        driver_stub.reset()
        assert (mod.own_one(3), mod.own_two(4), mod.all(6)) == (1, 2, 7)
        assert (mod.level_one(), mod.level_two()) == (4, 8)
        launches = driver_stub.launches()
        assert [x.params[0] for x in launches[:2]] == [struct.pack("<f", 1), struct.pack("<d", 2)]
        assert launches[3].kernel == "_Z10of_kernelsi"
        assert sorted(mod.cubins) == ["kernels_one", "kernels_three", "kernels_two"]
