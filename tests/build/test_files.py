"""`load` and `build`: what becomes of sources, objects and archives, and what they export."""

import os
import re
import subprocess

import pytest
from file_kit import ADD, EXPORT, MACRO, SCALE, compiled, include_flags, write
from stub.cuda_array import cuda_array
from wrapper_sources import DRIVER, KERNELS

import tvmffi_cubin as tc

# What each kind becomes


@pytest.mark.parametrize("suffix", [".cpp", ".cc", ".cxx", ".CPP", ".C"])
def test_a_cpp_file_exports_what_it_says(here, suffix):
    export = MACRO if suffix == ".cpp" else EXPORT
    write(f"add{suffix}", "int add(int a, int b) { return a + b; }\n" + export.format("add"))
    assert tc.load("add", sources=f"add{suffix}").add(1, 2) == 3


@pytest.mark.parametrize("argument", ["sources", "cpp_files", "cuda_files"])
def test_the_three_arguments_mean_the_same(here, argument):
    path = write("add.cc", ADD)
    assert tc.load("add", **{argument: [path]}).add(1, 2) == 3
    assert tc.load("add", **{argument: str(path)}).add(2, 2) == 4


def test_a_file_that_is_named_twice_counts_once(here):
    path = write("add.cc", ADD)
    assert tc.load("add", sources=["add.cc", path], cpp_files=path).add(1, 2) == 3


def test_each_cpp_file_is_a_unit_of_its_own(here):
    write("a.cc", "static int value = 1;\nint one() { return value; }\n" + EXPORT.format("one"))
    write("b.cc", "static int value = 2;\nint two() { return value; }\n" + EXPORT.format("two"))
    mod = tc.load("units", sources=["a.cc", "b.cc"])
    assert (mod.one(), mod.two()) == (1, 2)


def test_files_of_one_name_in_several_folders_do_not_collide(here):
    write("a/ops.cc", ADD)
    write("b/ops.cc", "int sub(int a, int b) { return a - b; }\n" + EXPORT.format("sub"))
    mod = tc.load("same", sources=["a/ops.cc", "b/ops.cc"])
    assert (mod.add(5, 2), mod.sub(5, 2)) == (7, 3)


def test_c_files_go_to_the_c_compiler(here, monkeypatch):
    write("new.c", "int new_(int class) { return class + (int)sizeof 'a'; }\n")
    declared = 'extern "C" int new_(int);\nint call(int x) { return new_(x); }\n'
    write("call.cc", declared + EXPORT.format("call"))
    assert tc.load("c", sources=["new.c", "call.cc"]).call(3) == 7
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(tc.ToolchainError, match="CC='no-such-compiler'"):
        tc.load("c", sources=["new.c", "call.cc"])


@pytest.mark.parametrize("flags", [["-std=c++20"], ["-std=c11"], ["-std=gnu++20", "-std=gnu11"]])
def test_a_standard_is_that_of_its_own_language(here, flags):
    wanted = "20" if "++20" in flags[0] else "17"
    write("ops.cc", f"static_assert(__cplusplus / 100 >= 20{wanted});\n" + ADD)
    write("more.c", "int more(void) { return __STDC_VERSION__; }\n")
    options = {"extra_cflags": ["-Werror", *flags]}
    assert tc.load("std", sources=["ops.cc", "more.c"], **options).add(1, 2) == 3


def test_c_files_see_tvm_ffi_and_cuda(here):
    write(
        "version.c",
        "#include <cuda.h>\n#include <cuda_runtime_api.h>\n#include <tvm/ffi/c_api.h>\n"
        "int version(void) { return CUDA_VERSION + (int)sizeof(TVMFFIAny); }\n",
    )
    declared = 'extern "C" int version();\nint call() { return version(); }\n'
    write("call.cc", declared + EXPORT.format("call"))
    assert tc.load("c_cuda", sources=["version.c", "call.cc"]).call() > 12000


def test_objects_and_archives_are_linked(here):
    write("twice.c", "int twice(int x) { return 2 * x; }\n")
    write("thrice.c", "int thrice(int x) { return 3 * x; }\n")
    twice, thrice = compiled("cc", "twice.c"), compiled("cc", "thrice.c")
    subprocess.run(["ar", "rcs", "libthrice.a", thrice], check=True)
    text = 'extern "C" int twice(int), thrice(int);\nint six(int x) { return twice(thrice(x)); }\n'
    write("six.cc", text + EXPORT.format("six"))
    assert tc.load("six", sources=["six.cc", twice, "libthrice.a"]).six(2) == 12


def test_a_shared_library_is_found_where_it_lies(here):
    write("lib/answer.c", "int answer(void) { return 42; }\n")
    compiled("cc", "lib/answer.c", "-shared")
    os.rename("lib/answer.o", "lib/libanswer.so")
    text = 'extern "C" int answer();\nint ask() { return answer(); }\n'
    write("ask.cc", text + EXPORT.format("ask"))
    assert tc.load("ask", sources=["ask.cc", "lib/libanswer.so"]).ask() == 42


def test_an_object_alone_may_export(here):
    write("add.cc", ADD)
    made = compiled("g++", "add.cc", "-std=c++17", *include_flags())
    assert tc.load("object", sources=made).add(1, 2) == 3


def test_an_archive_gives_the_functions_that_are_named(here):
    write("add.cc", ADD)
    subprocess.run(
        ["ar", "rcs", "libadd.a", compiled("g++", "add.cc", "-std=c++17", *include_flags())],
        check=True,
    )
    assert tc.load("archive", sources="libadd.a", functions=["add"]).add(1, 2) == 3


# Kernels


def test_every_kernel_of_a_cu_file_is_exported(here, driver_stub):
    write("scale.cu", SCALE)
    mod = tc.load("scale", sources="scale.cu", arch="sm_90")
    assert mod.scale.signature == "scale(float* x, float by, int n)"
    x = cuda_array(driver_stub, 8)
    mod.scale[2, 4](x, 3.0, 8)
    (launch,) = driver_stub.launches()
    assert launch.values("Pfi") == (x.data_ptr, 3.0, 8)


def test_kernels_of_files_are_launched_as_functions_says(here, driver_stub):
    write("scale.cu", SCALE)
    launch = tc.Launch(grid="ceil_div(n, 4)", block=4, args={"n": "x.numel"})
    mod = tc.load("scale", sources="scale.cu", functions={"scale": launch}, arch="sm_90")
    mod.scale(cuda_array(driver_stub, 10), 3.0)
    assert driver_stub.launches()[0].grid == (3, 1, 1)


def test_template_instances_of_files(here):
    write("fill.cu", "template <class T> __global__ void fill(T* x, T by) { x[0] = by; }")
    functions = {"fill_int": tc.Launch(kernel="fill<int>")}
    mod = tc.load("fill", sources="fill.cu", functions=functions, arch="sm_90")
    assert mod.fill_int.signature == "fill_int(int* x, int by)"


def test_a_wrapper_in_a_cc_file_launches_the_kernels_of_a_cu_file(here, driver_stub):
    write("kernels.cu", KERNELS)
    write("wrapper.cc", DRIVER)
    mod = tc.load("wrapped", sources=["kernels.cu", "wrapper.cc"], arch="sm_90")
    x, y = cuda_array(driver_stub, 300), cuda_array(driver_stub, 300)
    mod.add_one(x, y)
    (launch,) = driver_stub.launches()
    assert (launch.grid[0], launch.values("PPq")) == (2, (x.data_ptr, y.data_ptr, 300))


def test_a_cu_file_of_host_code_is_for_the_host_compiler_as_nvcc_reads_it(here):
    text = "#ifndef WIDTH\n#define WIDTH 1\n#endif\n"
    text += "int width() { return WIDTH * (int)sizeof(dim3); }\n"
    write("width.cu", text + EXPORT.format("width"))
    mod = tc.load("width", sources="width.cu", extra_cuda_cflags=["-DWIDTH=2", "-std=c++20"])
    assert mod.width() == 24


def test_generated_and_own_functions_live_in_one_module(here, driver_stub):
    write("scale.cu", SCALE)
    write("add.cc", ADD)
    mod = tc.load("both", sources=["scale.cu", "add.cc"], functions=["scale", "add"], arch="sm_90")
    assert mod.functions == ("scale",)
    assert mod.add(1, 2) == 3
    mod.scale[1, 1](cuda_array(driver_stub, 4), 1.0, 4)
    assert len(driver_stub.launches()) == 1


def test_a_kernel_that_only_a_header_of_the_file_defines_is_found(here):
    write("scale.cuh", SCALE)
    write("scale.cu", '#include "scale.cuh"\n')
    assert tc.load("header", sources="scale.cu", arch="sm_90").functions == ("scale",)


MIXED = """#include "count.cuh"
void run(float* x) { scale<<<COUNT, 1>>>(x, 1.0f, 1); }
int count() { run(nullptr); return COUNT; }
TVM_FFI_DLL_EXPORT_TYPED_FUNC(count, count);
"""


def test_a_file_may_have_kernels_and_host_functions(here, driver_stub):
    write("parts/count.cuh", "#define COUNT 3\n")
    write("parts/mixed.cu", SCALE + MIXED)
    write("add.cc", ADD)
    sources = ["parts/mixed.cu", "add.cc"]
    mod = tc.load("mixed", sources=sources, functions=["count", "add"], arch="sm_90")
    assert (mod.count(), mod.add(1, 2)) == (3, 3)
    (launch,) = driver_stub.launches()
    assert (launch.kernel, launch.grid) == ("scale", (3, 1, 1))
    write("parts/mixed.cu", SCALE + MIXED.replace("COUNT, 1", "COUNT, true, 1, 2, 3"))
    path = re.escape(str(here / "parts" / "mixed.cu"))
    with pytest.raises(tc.BuildError, match=rf"{path}:7:\d+: error"):
        tc.load("mixed", sources=sources, functions=["count", "add"], arch="sm_90")


def test_a_file_may_have_all_its_kernels_and_launches_in_headers(here, driver_stub):
    launch = "inline void run(float* x) { scale<<<5, 1>>>(x, 1.0f, 1); }\n"
    write("scale.h", SCALE + launch)
    text = '#include "scale.h"\nint count() { run(nullptr); return 5; }\n'
    write("count.cu", text + "TVM_FFI_DLL_EXPORT_TYPED_FUNC(count, count);\n")
    assert tc.load("in_headers", sources="count.cu", arch="sm_90").count() == 5
    assert [launch.grid for launch in driver_stub.launches()] == [(5, 1, 1)]


def test_a_kernel_that_is_launched_and_nowhere_defined_is_named(here):
    write("run.cu", "__global__ void k(int* x);\nvoid run(int* x) { k<<<1, 1>>>(x); }\n")
    with pytest.raises(
        ValueError, match=r"run\.cu:2: k<<<\.\.\.>>> launches a kernel, and none of"
    ):
        tc.load("run", sources="run.cu", arch="sm_90")


# What is exported


def test_a_function_that_no_file_exports_is_an_error_with_the_macro(here):
    write("add.cc", ADD)
    with pytest.raises(tc.BuildError, match=r"'sub'.*TYPED_FUNC\(sub, sub\)"):
        tc.load("missing", sources="add.cc", functions=["add", "sub"])


def test_a_file_s_own_function_comes_before_a_kernel_of_its_name(here):
    write("add.cu", 'extern "C" __global__ void add(int* x) {}')
    write("add.cc", ADD)
    mod = tc.load("own", sources=["add.cu", "add.cc"], functions=["add"], arch="sm_90")
    assert (mod.functions, mod.add(1, 2)) == ((), 3)
