"""When files are built anew and when not: by content, theirs and that of all that they read."""

import os
import time
from pathlib import Path

import pytest
from file_kit import ADD, EXPORT, SCALE, compiled, write
from processes import run

import tvmffi_cubin as tc
from tvmffi_cubin.inline import build

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
    def path():
        return built(source, extra_include_paths=["include"])

    Path("include").mkdir()
    os.rename("answer.h", "include/answer.h")
    first = path()
    write("include/answer.h", "#define ANSWER 2\n")
    assert path() != first
    write("include/answer.h", "#define ANSWER 1\n")
    assert path() == first
    write("answer.h", "#define ANSWER 2\n")
    assert path() != first
    os.unlink("answer.h")
    assert path() == first


KERNEL_AND_LAUNCH = "__global__ void k(int* x) {}\nvoid f(int* x) { k<<<1, 1>>>(x); }\n"


@pytest.mark.parametrize("more", ["", KERNEL_AND_LAUNCH], ids=["host", "mixed"])
def test_a_header_that_is_only_asked_for_builds_anew_when_it_comes_and_goes(here, more):
    ask = '#if __has_include("b.h")\n#define B 2\n#else\n#define B 1\n#endif\n'
    write("sub/inner.h", ask)
    own = '#include "sub/inner.h"\nint answer() { return B; }\n' + EXPORT.format("answer")
    write("ops.cu", more + own)
    for answer in (1, 2, 1):
        if answer == 2:
            write("sub/b.h", "")
        else:
            Path("sub/b.h").unlink(missing_ok=True)
        assert tc.load("ops", sources="ops.cu", arch="sm_90").answer() == answer


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


def test_text_files_are_known_by_their_place_too_and_objects_by_their_content(here):
    for folder, answer in (("a", 1), ("b", 2)):
        write(f"{folder}/answer.h", f"#define ANSWER {answer}\n")
        write(f"{folder}/ops.cc", OPS)
        assert tc.load("ops", sources=f"{folder}/ops.cc").answer() == answer
    write("ops.cc", CALLER)
    made = [
        compiled("cc", write(f"{value}/answer.c", f"int get(void) {{ return {value}; }}\n"))
        for value in (1, 2)
    ]
    assert [tc.load("object", sources=["ops.cc", x]).answer() for x in made] == [1, 2]
    Path("other.o").write_bytes(made[0].read_bytes())
    assert built(["ops.cc", "other.o"]) == built(["ops.cc", made[0]])


def test_an_edit_during_a_build_is_not_taken_for_what_was_asked_for(here, monkeypatch):
    """The compiler reads the file itself, later than its content became part of the key."""
    path, edited = write("add.cc", ADD), ADD.replace("a + b", "a - b")
    make = build.make

    def edit_and_make(*args):
        write(path, edited)
        return make(*args)

    with monkeypatch.context() as patch:
        patch.setattr(build, "make", edit_and_make)
        tc.build("edited", sources=path)
    for text, answer in ((ADD, 4), (edited, 2)):
        write(path, text)
        assert tc.load("edited", sources=path).add(3, 1) == answer


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
    return tc.build("key", sources="answer.c", **options)


@pytest.mark.parametrize("way", ["CPATH", "CXX", "-iquote"])
def test_a_header_that_would_come_before_the_one_that_was_read_builds_anew(way, here, monkeypatch):
    write("answer.c", ANSWER)
    early, late = here / "early", here / "late"
    early.mkdir()
    write(late / "answer.h", "#define ANSWER 1\n")
    options = {"extra_include_paths": [late]}
    if way == "CXX":
        monkeypatch.setenv("CXX", f"c++ -I{early}")
    elif way.startswith("-"):
        write("answer.c", ANSWER.replace("<answer.h>", '"answer.h"'))
        options = {"extra_cflags": [way, str(early), f"-idirafter{late}"]}
    else:
        monkeypatch.setenv(way, f"{early}:{late}")
        options = {}
    first = built_in_c(**options)
    assert built_in_c(**options) == first
    write("early/answer.h", "#define ANSWER 2\n")
    assert built_in_c(**options) != first
    os.unlink("early/answer.h")
    assert built_in_c(**options) == first


def test_a_header_that_would_hide_one_of_the_system_s_builds_anew(here):
    write("answer.c", "#include <stdlib.h>\nint answer(void) { return EXIT_SUCCESS; }\n")
    Path("include").mkdir()
    first = built_in_c(extra_include_paths=["include"])
    # stdlib.h includes this; the source does not.
    write("include/bits/types.h", "#include_next <bits/types.h>\n")
    assert built_in_c(extra_include_paths=["include"]) != first


def test_what_assembly_embeds_counts_by_its_content(here):
    data = write("data.bin", "one")
    write("answer.c", f'__asm__(".data\\n.incbin \\"{data.absolute()}\\"\\n.text");\n')
    first = built_in_c()
    write("data.bin", "two")
    assert built_in_c() != first


# What linker flags name counts by its content


LINKED = 'extern "C" __global__ void k(float* x) { x[0] = 1; }'
PART = 'extern "C" int part();\nint answer() { return part(); }'


def make_part(answer, archive=None):
    made = compiled("cc", write("part.c", f"int part(void) {{ return {answer}; }}"))
    if archive:
        Path(archive).parent.mkdir(exist_ok=True)
        Path(archive).unlink(missing_ok=True)
        run("ar", "rcD", archive, made)


@pytest.mark.parametrize(
    ("flags", "archive"),
    [
        (["part.o"], None),
        (["-Llib", "-l:odd.name"], "lib/odd.name"),
        (["-Llib", "-Wl,--library=part"], "lib/libpart.a"),
        (["-lpart"], "lib/libpart.a"),
    ],
    ids=str,
)
def test_the_same_content_is_found_again_however_it_is_named(flags, archive, here, monkeypatch):
    (here / "early").mkdir()
    monkeypatch.setenv("LIBRARY_PATH", f"{here}/early:{here}/lib")

    def built_with(value, archive):
        make_part(value, archive)
        return tc.build_inline("linked", LINKED, arch="sm_90", extra_ldflags=flags)

    paths = [built_with(value, archive) for value in (1, 2, 1)]
    assert paths[0] == paths[2] != paths[1]
    if flags == ["-lpart"]:
        assert built_with(3, "early/libpart.a") not in paths


def test_a_symbol_that_is_missing_is_an_error_and_not_the_end_of_the_process(here):
    """Bound lazily, the first call of one ends the process."""
    options = {"extra_ldflags": [f"-L{here}", "-lsoon_missing", f"-Wl,-rpath,{here}"]}
    for name in ("part", "other"):
        # Of a name that no other test loads: the loader takes one that it has already for it.
        source = write("soon.c", f"int {name}(void) {{ return 1; }}")
        run("cc", "-shared", "-fPIC", "-o", "libsoon_missing.so", source)
        if name == "part":
            path = tc.build_inline("missing", cpp_sources=PART, functions="answer", **options)
    with pytest.raises(tc.BuildError, match="undefined symbol: part"):
        tc.load_module(path)
