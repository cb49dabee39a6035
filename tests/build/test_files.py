"""`load` and `build`: what becomes of files, what they export, and how messages name them."""

import ctypes
import re
from pathlib import Path

import pytest
from file_kit import ADD, EXPORT, MACRO, SCALE, compiled, include_flags, write
from processes import run
from stub.cuda_array import cuda_array

import tvmffi_cubin as tc


def test_files_become_what_their_suffixes_say(here):
    """Each C++ file is a unit of its own; C goes to the C compiler; the rest is linked."""
    write("a/ops.cc", ADD + "static int value = 1;\n")
    write("b/ops.cc", "static int value = 2;\nint two() { return value; }\n" + EXPORT.format("two"))
    write("d.C", "int four() { return 4; }\n" + MACRO.format("four"))
    text = "#include <cuda.h>\nint new_(int class) { return class + CUDA_VERSION / 12000; }\n"
    write("new.c", "#include <cuda_runtime_api.h>\n#include <tvm/ffi/c_api.h>\n" + text)
    twice = compiled("cc", write("twice.c", "int twice(int x) { return 2 * x; }\n"))
    thrice = compiled("cc", write("thrice.c", "int thrice(int x) { return 3 * x; }\n"))
    run("ar", "rcs", "libthrice.a", thrice)
    answer = write("answer.c", "int answer(void) { return 42; }\n")
    run("cc", "-shared", "-fPIC", "-o", "libanswer.so", answer)
    text = 'extern "C" int new_(int), twice(int), thrice(int), answer();\n'
    text += "int all(int x) { return new_(twice(thrice(x))) + answer(); }\n"
    write("all.cc", text + EXPORT.format("all"))
    sources = ["a/ops.cc", "b/ops.cc", "d.C", "new.c", "all.cc"]
    mod = tc.load("kinds", sources=[*sources, twice, "libthrice.a", "libanswer.so"])
    assert (mod.add(5, 2), mod.two(), mod.four(), mod.all(1)) == (7, 2, 4, 49)


def test_c_is_not_given_the_standard_of_cxx(here, monkeypatch):
    """clang refuses it."""
    script = '#!/bin/sh\ncase "$*" in *"-x c "*-std=c++*|*-std=c++*"-x c "*) exit 1 ;; esac\n'
    compiler = write("clang++", script + 'exec g++ "$@"\n')
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", f"{compiler.absolute()} -std=c++20 -DSIX=6")
    write("six.c", "int six(void) { int class = SIX; return class; }\n")
    write("add.cc", 'extern "C" int six();\n' + EXPORT.format("six"))
    assert tc.load("standards", sources=["six.c", "add.cc"]).six() == 6


def test_the_three_arguments_mean_the_same_and_a_file_counts_once(here):
    path = write("add.cc", ADD)
    given = [{"cpp_files": [path]}, {"cuda_files": str(path)}, {"sources": ["add.cc", path]}]
    assert len({tc.build("add", **options) for options in given}) == 1


def test_an_object_alone_may_export_and_an_archive_what_is_named(here):
    write("add.cc", ADD)
    made = compiled("g++", "add.cc", "-std=c++17", *include_flags())
    assert tc.load("object", sources=made).add(1, 2) == 3
    run("ar", "rcs", "libadd.a", made)
    assert tc.load("archive", sources="libadd.a", functions=["add"]).add(1, 2) == 3


def test_a_cu_file_of_host_code_is_for_the_host_compiler_as_nvcc_reads_it(here):
    text = "int width() { return WIDTH * (int)sizeof(dim3); }\n"
    write("width.cu", text + EXPORT.format("width"))
    mod = tc.load("width", sources="width.cu", extra_cuda_cflags=["-DWIDTH=2", "-std=c++20"])
    assert mod.width() == 24


def test_generated_and_own_functions_live_in_one_module(here, driver_stub):
    write("scale.cuh", SCALE)
    write("scale.cu", '#include "scale.cuh"\n')
    assert tc.load("header", sources="scale.cu", arch="sm_90").functions == ("scale",)
    # A file's own function comes before a kernel of its name.
    write("scale.cu", SCALE + 'extern "C" __global__ void add(int* x) {}')
    write("add.cc", ADD)
    launch = tc.Launch(grid="ceil_div(n, 4)", block=4, args={"n": "x.numel"})
    functions = {"scale": launch, "add": None}
    mod = tc.load("both", sources=["scale.cu", "add.cc"], functions=functions, arch="sm_90")
    assert mod.functions == ("scale",)
    assert mod.add(1, 2) == 3
    x = cuda_array(driver_stub, 10)
    mod.scale(x, 3.0)
    (launch,) = driver_stub.launches()
    assert (launch.grid, launch.values("Pfi")) == ((3, 1, 1), (x.data_ptr, 3.0, 10))


def test_what_no_file_defines_is_named(here):
    write("add.cc", ADD)
    with pytest.raises(tc.BuildError, match=r"'sub'.*TYPED_FUNC\(sub, sub\)"):
        tc.load("missing", sources="add.cc", functions=["add", "sub"])
    write("run.cu", "__global__ void k(int* x);\nvoid run(int* x) { k<<<1, 1>>>(x); }\n")
    with pytest.raises(tc.BuildError, match=r"undefined reference to `k\(int\*\)"):
        tc.load("run", sources="run.cu", arch="sm_90")


@pytest.mark.parametrize(
    ("name", "mark"), [("wrong.cu", "(3)"), ("wrong.cc", ":3:"), ("wrong.c", ":3:")]
)
def test_messages_show_the_user_s_path_and_line(here, name, mark):
    path = write(name, "\n\n__device__ wrong;\n")
    with pytest.raises((tc.CompileError, tc.BuildError), match=re.escape(f"{path}{mark}")):
        tc.load("wrong", sources=path, arch="sm_90")


def test_headers_are_searched_beside_a_file_first(here):
    write("own/near.h", "#define NEAR 1\n")
    write("other/near.h", "#define NEAR 2\n")
    write("own/k.cu", '#include "near.h"\nstatic_assert(NEAR == 1);\n__global__ void k() {}\n')
    write("own/f.cc", '#include "near.h"\nint f() { return NEAR; }\n' + EXPORT.format("f"))
    options = {"extra_include_paths": ["other"], "arch": "sm_90"}
    assert tc.load("first", sources=["own/k.cu", "own/f.cc"], **options).f() == 1


@pytest.mark.parametrize(
    ("sources", "error", "text"),
    [
        ([], ValueError, r"no source: .* load_module"),
        ("none.cu", FileNotFoundError, "none.cu"),
        ("notes.txt", ValueError, "cannot build .*notes.txt; supported suffixes: .cu .c .cpp"),
        ("latin.cu", ValueError, r"latin.cu:2: .* byte 0xe9 .*: convert the file"),
    ],
    ids=str,
)
def test_what_is_no_source_is_refused_by_name(here, sources, error, text):
    write("notes.txt", "")
    Path("latin.cu").write_bytes(b"\n// caf\xe9\n")
    with pytest.raises(error, match=text):
        tc.load("refused", sources=sources)


def test_a_copy_goes_where_the_arguments_say(here):
    write("add.cc", ADD)
    for options, wanted in (
        ({"output": Path("sub/a b'$\u00e4.so")}, "sub/a b'$\u00e4.so"),
        ({"output": "libk.so", "build_directory": "made/deep"}, "made/deep/libk.so"),
        ({"build_directory": "made"}, "made/add.so"),
    ):
        made = tc.build("add", sources="add.cc", **options)
        assert made == str(here / wanted)
        assert ctypes.CDLL(made) is not None


def test_an_output_that_cannot_be_is_refused(here):
    sources = [write("add.cc", ADD), compiled("cc", write("x.c", "int x;\n"))]
    for output, text in (
        ("", "output '' is not a valid file name"),
        ("libk.dll", "or .o, got 'libk.dll'"),
        ("x.o", "is one of the sources"),
    ):
        with pytest.raises(ValueError, match=text):
            tc.build("k", sources=sources, output=output)


def test_verbose_prints_the_commands_of_a_build_and_nothing_on_a_hit(here, capfd):
    write("loud.c", "int f(void) { return 1; }\n")
    for printed in ("-c -MD", None):
        tc.build("loud", sources="loud.c", verbose=True)
        said = capfd.readouterr().err
        assert (printed in said) if printed else said == ""
