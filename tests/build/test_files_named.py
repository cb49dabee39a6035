"""`load` and `build`: paths and messages, and what is said of files that cannot be sources."""

import ctypes
import os
from pathlib import Path

import pytest
from file_kit import ADD, EXPORT, SCALE, compiled, write
from stub.cuda_array import cuda_array

import tvmffi_cubin as tc

# Messages and places


@pytest.mark.parametrize("suffix", [".cu", ".cc", ".c"])
def test_messages_show_the_user_s_path_and_line(here, suffix):
    path = write(
        f"wrong{suffix}", "\n\n__device__ wrong;\n" if suffix == ".cu" else "\n\nwrong wrong;\n"
    )
    with pytest.raises((tc.CompileError, tc.BuildError)) as caught:
        tc.load("wrong", sources=path, arch="sm_90")
    mark = "(3)" if suffix == ".cu" else ":3:"
    assert f"{path}{mark}" in str(caught.value)


ODD = ["a b", "it's", 'quo"te', "$HOME", "münchen", "co:lon", "hash#", "per%cent", "pi|pe", "a\\b"]


@pytest.mark.parametrize("odd", ODD)
def test_odd_paths_work(here, driver_stub, odd):
    folder = Path(odd)
    write(folder / "answer.h", "#define ANSWER 42\n")
    include = '#include "answer.h"\n'
    answer = "int answer() { return ANSWER; }\n" + EXPORT.format("answer")
    sources = [
        write(folder / f"{odd}.cc", include + answer),
        write(folder / f"{odd}.c", include + "int unused(void) { return ANSWER; }\n"),
        write(folder / f"{odd}.cu", include + "__global__ void k(int* x) { x[0] = ANSWER; }\n"),
    ]
    sources.append(compiled("cc", write(folder / f"{odd} o.c", "int object(void) { return 1; }\n")))
    mod = tc.load("odd", sources=sources, functions=["k", "answer"], arch="sm_90")
    assert mod.answer() == 42
    mod.k[1, 1](cuda_array(driver_stub, 1, "int32"))


def test_a_file_s_own_folder_is_searched_first(here, tmp_path):
    write("in/answer.h", "#define ANSWER 1\n")
    write("other/answer.h", "#define ANSWER 2\n")
    text = '#include "answer.h"\n'
    write("in/k.cu", text + "static_assert(ANSWER == 1);\n__global__ void k(int* x) {}\n")
    write("in/answer.cc", text + "int answer() { return ANSWER; }\n" + EXPORT.format("answer"))
    sources = ["in/k.cu", "in/answer.cc"]
    mod = tc.load("first", sources=sources, extra_include_paths=["other"], arch="sm_90")
    assert mod.answer() == 1


def test_a_link_finds_headers_beside_itself_and_then_beside_what_it_leads_to(here):
    write("real/near.h", "#define NEAR 1\n")
    write("real/far.h", "#define FAR 1\n")
    write("links/near.h", "#define NEAR 2\n")
    text = '#include "near.h"\n#include "far.h"\n'
    write("real/k.cu", text + "static_assert(NEAR == 2 && FAR == 1);\n__global__ void k() {}\n")
    write("real/f.cc", text + "int f() { return NEAR + FAR; }\n" + EXPORT.format("f"))
    for name in ("k.cu", "f.cc"):
        os.symlink(f"../real/{name}", f"links/{name}")
    mod = tc.load("links", sources=["links/k.cu", "links/f.cc"], arch="sm_90")
    assert mod.f() == 3


def test_the_file_itself_is_compiled(here):
    text = "int line() { return __FILE__[0] == '/' ? __LINE__ : 0; }\n"
    write("line.cc", text + EXPORT.format("line"))
    assert tc.load("line", sources="line.cc").line() == 1


def test_any_encoding_is_the_host_compiler_s_affair(here):
    Path("latin.cc").write_bytes(b"// caf\xe9\n" + ADD.encode())
    assert tc.load("latin", sources="latin.cc").add(1, 2) == 3


def test_build_returns_what_load_loads(here):
    write("add.cc", ADD)
    path = tc.build("add", sources="add.cc")
    assert path == tc.load("add", sources="add.cc").path
    copy = tc.build("add", sources="add.cc", build_directory="out")
    assert copy == str(here / "out" / "add.so")
    assert ctypes.CDLL(copy) is not None


# What cannot be


@pytest.mark.parametrize(
    ("sources", "error", "text"),
    [
        ([], ValueError, "sources is empty"),
        ("none.cu", FileNotFoundError, "there is no such source.*none.cu"),
        (".", IsADirectoryError, "a source is a file, this is a folder"),
        ("folder.cu", IsADirectoryError, "a source is a file, this is a folder"),
        ("pipe.cu", ValueError, "pipe.cu is a device or a pipe"),
        ("notes.txt", ValueError, r"notes.txt has the suffix '.txt': known are .cu .cpp"),
        ("noname", ValueError, r"noname has the suffix '': known are"),
        ("ops.cuh", ValueError, r"ops.cuh is a header: leave it out.*extra_include_paths"),
        ("latin.cu", ValueError, r"latin.cu is no UTF-8 text: line 2 holds the byte 0xe9: convert"),
        ("loop.cu", OSError, r"Too many levels of symbolic links.*loop.cu"),
        ("empty.o", ValueError, "empty.o is empty: there is nothing to link"),
        (b"a.cc", TypeError, "sources is a path or a sequence of paths, got bytes"),
        ([3], TypeError, "sources holds paths, got int"),
        ([""], ValueError, "sources holds '', which is no path"),
        (["a\nb.cc"], ValueError, "which is no path that a build file can have"),
    ],
    ids=str,
)
def test_what_is_no_source_is_refused_by_name(here, sources, error, text):
    (here / "folder.cu").mkdir()
    os.mkfifo("pipe.cu")
    os.symlink("loop.cu", "loop.cu")
    for name in ("notes.txt", "noname", "ops.cuh", "empty.o"):
        write(name, "")
    Path("latin.cu").write_bytes(b"\n// caf\xe9\n")
    with pytest.raises(error, match=text):
        tc.load("refused", sources=sources)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_a_file_that_cannot_be_read_is_named(here):
    for suffix in (".cu", ".o"):
        path = write(f"secret{suffix}", SCALE)
        path.chmod(0)
        with pytest.raises(PermissionError, match=f"secret{suffix}"):
            tc.load("secret", sources=path)


def test_a_shared_object_without_sources_is_for_load_module(here):
    for function in (tc.load, tc.build):
        with pytest.raises(TypeError, match=r"load_module\('dist/ops.so'\)"):
            function("dist/ops.so")
        with pytest.raises(TypeError, match=r"needs source files(?!.*load_module)"):
            function("ops")


def test_unknown_arguments_are_refused(here):
    with pytest.raises(TypeError, match="unexpected keyword argument 'cuda_sources'"):
        tc.load("ops", cuda_sources=SCALE)
