"""When files are built anew and when not: by content, theirs and that of all that they read."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest
from file_kit import ADD, EXPORT, SCALE, compiled, write

import tvmffi_cubin as tc

OPS = '#include "answer.h"\nint answer() { return ANSWER; }\n' + EXPORT.format("answer")
KERNEL = '#include "answer.h"\nextern "C" __global__ void k(int* x) { x[0] = ANSWER; }\n'
CALLER = 'extern "C" int get();\nint answer() { return get(); }\n' + EXPORT.format("answer")


@pytest.fixture
def ops(here):
    """A C++ file and a CUDA file that include a header beside them."""
    write("answer.h", "#define ANSWER 1\n")
    write("ops.cc", OPS)
    write("ops.cu", KERNEL)
    return ["ops.cc", "ops.cu"]


def built(sources, **options):
    return tc.build("ops", sources=sources, **{"arch": "sm_90"} | options)


def test_the_same_files_give_the_same_path_and_changed_ones_another(ops):
    path = built(ops)
    assert built([Path(name).absolute() for name in ops]) == path
    assert tc.load("ops", sources=ops, arch="sm_90").path == path
    for name in ops:
        os.utime(name, ns=(1, time.time_ns() + 10**9))
    assert built(ops) == path
    for name in ops:
        before = Path(name).read_text()
        write(name, before + "// more\n")
        assert built(ops) != path
        write(name, before)
        assert built(ops) == path
    os.unlink("ops.cu")
    with pytest.raises(FileNotFoundError, match=r"ops\.cu"):
        built(ops)


@pytest.mark.parametrize("source", ["ops.cc", "ops.cu"])
def test_a_header_that_changes_or_appears_builds_anew(ops, source):
    Path("include").mkdir()
    os.rename("answer.h", "include/answer.h")
    options = {"extra_include_paths": ["include"]}
    first = built(source, **options)
    write("include/answer.h", "#define ANSWER 2\n")
    assert built(source, **options) != first
    write("include/answer.h", "#define ANSWER 1\n")
    assert built(source, **options) == first
    write("answer.h", "#define ANSWER 2\n")
    assert built(source, **options) != first
    os.unlink("answer.h")
    assert built(source, **options) == first


@pytest.mark.parametrize(
    "more", ["", "void f(int* x) { k<<<1, 1>>>(x); }\n"], ids=["host", "mixed"]
)
def test_a_header_that_is_only_asked_for_builds_anew_when_it_comes_and_goes(here, more):
    ask = '#if __has_include("{}.h")\n#define {} 2\n#else\n#define {} 1\n#endif\n'
    write("sub/inner.h", ask.format("b", "B", "B"))
    own = '#include "sub/inner.h"\nint answer() { return A * 10 + B; }\n' + EXPORT.format("answer")
    kernel = "__global__ void k(int* x) { *x = 1; }\n" if more else ""
    write("ops.cu", ask.format("a", "A", "A") + kernel + more + own)
    found = []
    for path in ("a.h", "sub/b.h"):
        for change in (
            lambda: None,
            lambda path=path: write(path, ""),
            lambda path=path: os.unlink(path),
        ):
            change()
            found.append(tc.load("ops", sources="ops.cu", arch="sm_90").answer())
    assert found == [11, 21, 11, 11, 12, 11]


def test_c_files_count_with_their_headers_and_compiler(here, monkeypatch):
    write("answer.h", "#define ANSWER 1\n")
    write("answer.c", '#include "answer.h"\nint get(void) { return ANSWER + MORE; }\n')
    write("ops.cc", CALLER)
    for more, answer in (("0", 1), ("1", 1), ("1", 2)):
        monkeypatch.setenv("CXX", f"c++ -DMORE={more}")
        write("answer.h", f"#define ANSWER {answer}\n")
        assert tc.load("c", sources=["answer.c", "ops.cc"]).answer() == answer + int(more)
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(tc.ToolchainError, match="CXX='no-such-compiler'"):
        tc.load("c", sources=["answer.c", "ops.cc"])


def test_an_object_is_known_by_its_content_wherever_it_lies(here):
    write("ops.cc", CALLER)
    made = [
        compiled("cc", write(f"{value}/answer.c", f"int get(void) {{ return {value}; }}\n"))
        for value in (1, 2)
    ]
    assert [tc.load("object", sources=["ops.cc", x]).answer() for x in made] == [1, 2]
    (here / "other.o").write_bytes(made[0].read_bytes())
    assert built(["ops.cc", "other.o"]) == built(["ops.cc", made[0]])


def test_text_files_are_known_by_their_place_too(here):
    for folder, answer in (("a", 1), ("b", 2)):
        write(f"{folder}/answer.h", f"#define ANSWER {answer}\n")
        write(f"{folder}/ops.cc", OPS)
        assert tc.load("ops", sources=f"{folder}/ops.cc").answer() == answer


def test_an_edit_during_a_build_is_not_taken_for_what_was_asked_for(here, monkeypatch):
    """The compiler reads the file itself, later than its content became part of the key."""
    from tvmffi_cubin.inline import assemble

    path = write("add.cc", ADD)
    make = assemble.make

    def edit_and_make(*args):
        write(path, ADD.replace("a + b", "a - b"))
        return make(*args)

    monkeypatch.setattr(assemble, "make", edit_and_make)
    tc.build("edited", sources=path)
    monkeypatch.undo()
    monkeypatch.chdir(here)
    write(path, ADD)
    assert tc.load("edited", sources=path).add(3, 1) == 4
    write(path, ADD.replace("a + b", "a - b"))
    assert tc.load("edited", sources=path).add(3, 1) == 2


def test_what_files_need_of_cuda_is_asked_for_only_where_they_name_it(here, monkeypatch):
    monkeypatch.setenv("TVMFFI_CUBIN_CUDA", "99")
    write("add.cc", ADD)
    assert tc.load("plain", sources="add.cc").add(1, 2) == 3
    write("cuda.cc", "#include <cuda_runtime.h>\n" + ADD)
    write("scale.cu", SCALE)
    for source in ("cuda.cc", "scale.cu"):
        with pytest.raises(ValueError, match="99"):
            tc.load("cuda", sources=source, arch="sm_90")


# What no argument says is in the key, too: headers that hide others, libraries. All are files of
# C, which compile in no time.


ANSWER = "#include <answer.h>\nint answer(void) { return ANSWER; }\n"


def built_in_c(**options) -> str:
    return tc.build("key", **{"sources": "answer.c"} | options)


def header(path: str, text: str = "#define ANSWER 2\n") -> Path:
    return write(path, text)


@pytest.fixture
def late(here) -> Path:
    """A folder with the header that a file beside it includes."""
    write("answer.c", ANSWER)
    (here / "early").mkdir()
    return header("late/answer.h", "#define ANSWER 1\n").parent.absolute()


@pytest.mark.parametrize("way", ["CPATH", "CXX", "-iquote"])
def test_a_header_that_would_come_before_the_one_that_was_read_builds_anew(way, late, monkeypatch):
    early = str(late.parent / "early")
    options = {"extra_include_paths": [late]}
    if way == "CXX":
        monkeypatch.setenv("CXX", f"c++ -I{early}")
    elif way.startswith("-"):
        write("answer.c", ANSWER.replace("<answer.h>", '"answer.h"'))
        options = {"extra_cflags": [way, early, f"-idirafter{late}"]}
    else:
        monkeypatch.setenv(way, f"{early}:{late}")
        options = {}
    first = built_in_c(**options)
    assert built_in_c(**options) == first
    header("early/answer.h")
    second = built_in_c(**options)
    assert second != first
    os.unlink("early/answer.h")
    assert built_in_c(**options) == first


def test_a_header_that_would_hide_one_of_the_system_s_builds_anew(here):
    write("answer.c", "#include <stdlib.h>\nint answer(void) { return EXIT_SUCCESS; }\n")
    include = header("include/own.h").parent
    first = built_in_c(extra_include_paths=[include])
    # stdlib.h includes this; the source does not.
    header("include/bits/types.h", "#include_next <bits/types.h>\n")
    assert built_in_c(extra_include_paths=[include]) != first


@pytest.mark.parametrize("way", ["LIBRARY_PATH", "flag"])
def test_a_library_counts_by_its_content_and_one_that_comes_before_it(way, here, monkeypatch):
    write("answer.c", "int part(void);\nint answer(void) { return part(); }\n")
    early, late = here / "early", here / "late"
    early.mkdir()

    def archive(folder: Path, number: int) -> None:
        made = compiled("cc", write(folder / "part.c", f"int part(void) {{ return {number}; }}\n"))
        subprocess.run(["ar", "rcD", folder / "libpart.a", made], check=True)

    archive(late, 1)
    options = {"extra_ldflags": ["-lpart"]}
    if way == "LIBRARY_PATH":
        monkeypatch.setenv("LIBRARY_PATH", f"{early}:{late}")
    else:
        options = {"extra_ldflags": [f"-L{early}", f"-L{late}", "-lpart"]}
    first = built_in_c(**options)
    archive(late, 2)
    second = built_in_c(**options)
    archive(early, 3)
    assert len({first, second, built_in_c(**options)}) == 3
    os.unlink(early / "libpart.a")
    assert built_in_c(**options) == second


def test_what_assembly_embeds_counts_by_its_content(here):
    data = write("data.bin", "one")
    write("answer.c", f'__asm__(".data\\n.incbin \\"{data.absolute()}\\"\\n.text");\n')
    first = built_in_c()
    write("data.bin", "two")
    assert built_in_c() != first
    write("data.bin", "one")
    assert built_in_c() == first
