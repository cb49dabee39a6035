"""When files are built anew and when not: by content, theirs and that of what they include."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from file_kit import ADD, EXPORT, SCALE, compiled, write
from processes import in_new_process

import tvmffi_cubin as tc
from tvmffi_cubin.cache import memo

OPS = '#include "answer.h"\nint answer() { return ANSWER; }\n' + EXPORT.format("answer")
KERNEL = '#include "answer.h"\nextern "C" __global__ void k(int* x) { x[0] = ANSWER; }\n'


@pytest.fixture
def ops(here):
    """A C++ file and a CUDA file that include a header beside them."""
    write("answer.h", "#define ANSWER 1\n")
    write("ops.cc", OPS)
    write("ops.cu", KERNEL)
    return ["ops.cc", "ops.cu"]


def built(sources, **options):
    return tc.build("ops", sources=sources, **{"arch": "sm_90"} | options)


def test_the_same_files_give_the_same_path(ops):
    path = built(ops)
    assert built(ops) == path
    assert built([Path(name).absolute() for name in ops]) == path
    assert tc.load("ops", sources=ops, arch="sm_90").path == path


def test_a_touched_file_is_the_same_and_a_changed_one_is_not(ops):
    path = built(ops)
    for name in ops:
        os.utime(name, ns=(1, time.time_ns() + 10**9))
    assert built(ops) == path
    for name in ops:
        before = Path(name).read_text()
        write(name, before + "// more\n")
        assert built(ops) != path
        write(name, before)
        assert built(ops) == path


@pytest.mark.parametrize("source", ["ops.cc", "ops.cu"])
def test_a_changed_header_beside_a_file_builds_anew(ops, source):
    first = built(source)
    write("answer.h", "#define ANSWER 2\n")
    second = built(source)
    assert second != first
    write("answer.h", "#define ANSWER 1\n")
    assert built(source) == first


def test_each_of_several_cu_files_counts_with_its_own_headers(here):
    for folder in ("a", "b"):
        write(f"{folder}/answer.h", "#define ANSWER 1\n")
        write(f"{folder}/k.cu", KERNEL.replace(" k(", f" {folder}("))
    sources = ["a/k.cu", "b/k.cu"]
    first = built(sources)
    assert tc.load("ops", sources=sources, arch="sm_90").functions == ("a", "b")
    for folder in ("a", "b"):
        write(f"{folder}/answer.h", "#define ANSWER 2\n")
        assert built(sources) != first
        write(f"{folder}/answer.h", "#define ANSWER 1\n")
        assert built(sources) == first


@pytest.mark.parametrize("source", ["src/ops.cc", "src/ops.cu"])
def test_a_header_that_appears_beside_a_file_builds_anew(here, source):
    write("include/answer.h", "#define ANSWER 1\n")
    write("src/ops.cc", OPS)
    write("src/ops.cu", KERNEL)
    first = built(source, extra_include_paths=["include"])
    write("src/answer.h", "#define ANSWER 2\n")
    second = built(source, extra_include_paths=["include"])
    assert second != first
    os.unlink("src/answer.h")
    assert built(source, extra_include_paths=["include"]) == first


def test_a_changed_header_of_a_c_file_builds_anew(here):
    write("answer.h", "#define ANSWER 1\n")
    write("answer.c", '#include "answer.h"\nint get(void) { return ANSWER; }\n')
    text = 'extern "C" int get();\nint answer() { return get(); }\n'
    write("ops.cc", text + EXPORT.format("answer"))
    assert tc.load("c", sources=["answer.c", "ops.cc"]).answer() == 1
    write("answer.h", "#define ANSWER 2\n")
    assert tc.load("c", sources=["answer.c", "ops.cc"]).answer() == 2


def test_a_changed_object_is_linked_anew(here):
    text = 'extern "C" int get();\nint answer() { return get(); }\n'
    write("ops.cc", text + EXPORT.format("answer"))
    for value in (1, 2):
        made = compiled("cc", write("answer.c", f"int get(void) {{ return {value}; }}\n"))
        assert tc.load("object", sources=["ops.cc", made]).answer() == value


def test_an_object_is_known_by_its_content_wherever_it_lies(here):
    text = 'extern "C" int get();\nint answer() { return get(); }\n'
    write("ops.cc", text + EXPORT.format("answer"))
    made = compiled("cc", write("a/answer.c", "int get(void) { return 1; }\n"))
    first = built(["ops.cc", made])
    (here / "b").mkdir()
    copy = here / "b" / "other.o"
    copy.write_bytes(made.read_bytes())
    assert built(["ops.cc", copy]) == first


def test_text_files_are_known_by_their_place_too(here):
    text = "int line() { return __FILE__[sizeof(__FILE__) - 10]; }\n" + EXPORT.format("line")
    write("a/line.cc", text)
    write("b/line.cc", text)
    assert tc.load("line", sources="a/line.cc").line() == ord("a")
    assert tc.load("line", sources="b/line.cc").line() == ord("b")


def test_the_headers_of_one_folder_do_not_answer_for_those_of_another(here):
    for folder, answer in (("a", 1), ("b", 2)):
        write(f"{folder}/answer.h", f"#define ANSWER {answer}\n")
        write(f"{folder}/ops.cc", OPS)
        assert tc.load("ops", sources=f"{folder}/ops.cc").answer() == answer


def test_a_link_that_leads_elsewhere_is_another_file(here):
    for folder, answer in (("a", 1), ("b", 2)):
        write(f"{folder}/answer.h", f"#define ANSWER {answer}\n")
        write(f"{folder}/ops.cc", OPS)
    for folder, answer in (("a", 1), ("b", 2), ("a", 1)):
        Path("ops.cc").unlink(missing_ok=True)
        os.symlink(f"{folder}/ops.cc", "ops.cc")
        assert tc.load("ops", sources="ops.cc").answer() == answer


def test_a_file_that_is_gone_is_an_error_whatever_was_built(ops):
    built(ops)
    os.unlink("ops.cu")
    with pytest.raises(FileNotFoundError, match=r"ops\.cu"):
        built(ops)


@pytest.mark.parametrize(
    "option", [{"output": "ops.o"}, {"extra_cflags": ["-DX"]}, {"arch": "sm_80"}]
)
def test_other_options_are_another_path(ops, option):
    assert built(ops, **option) != built(ops)


def test_the_order_of_files_counts(ops):
    write("add.cc", ADD)
    assert built(["ops.cc", "add.cc"]) != built(["add.cc", "ops.cc"])


def test_the_c_compiler_counts_where_there_is_c(here, monkeypatch):
    write("answer.c", "int answer(void) { return ANSWER; }\n")
    write("ops.cc", 'extern "C" int answer();\n' + EXPORT.format("answer"))
    for value in ("1", "2"):
        monkeypatch.setenv("CC", f"cc -DANSWER={value}")
        assert tc.load("cc", sources=["answer.c", "ops.cc"]).answer() == int(value)


def test_a_hit_in_a_new_process_imports_no_compiler_and_spawns_no_process(ops):
    write("twice.c", "int twice(int x) { return 2 * x; }\n")
    sources = [*ops, compiled("cc", "twice.c")]
    memo.forget()  # what is known of tools by another test's cache folder
    path = built(sources)
    code = """
import os, subprocess, sys
import tvm_ffi  # which spawns a process itself
def refuse(*args, **kwargs):
    raise AssertionError(f"a process is spawned: {args}")
subprocess.Popen = os.system = os.posix_spawn = os.fork = refuse
import tvmffi_cubin as tc
mod = tc.load("ops", sources=sys.argv[1:], arch="sm_90")
print(mod.path, mod.answer())
print(*sorted(name for name in sys.modules if "." in name or "_" in name))
"""
    found, names = in_new_process(code, *map(str, sources)).split("\n")
    assert found == f"{path} 1"
    forbidden = {
        *(
            "nvrtc",
            "signature",
            "sources.reader",
            "functions.plan",
            "host.ninja",
            "host.build",
            "assemble",
            "elf",
            "host.plan",
        ),
        *("host.units", "cuda.nvjitlink", "linker", "host.include_scan", "sources.code"),
    }
    imported = set(names.split())
    assert imported.isdisjoint(f"tvmffi_cubin.{name}" for name in forbidden)
    assert "tvmffi_cubin.inline.files" in imported


def test_processes_that_build_the_same_files_at_once_agree(ops):
    code = """
import sys
import tvmffi_cubin as tc
mod = tc.load("together", sources=sys.argv[1:], arch="sm_90")
print(mod.path, mod.answer())
"""
    command = [sys.executable, "-c", code, *ops]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = [process.communicate()[0] for process in running]
    assert [process.returncode for process in running] == [0, 0]
    assert said[0] == said[1] == f"{tc.load('together', sources=ops, arch='sm_90').path} 1\n"


def test_an_edit_during_a_build_is_not_taken_for_what_was_asked_for(here, monkeypatch):
    """The compiler reads the file itself, later than its content became part of the key."""
    from tvmffi_cubin.host import precompiled

    path = write("add.cc", ADD)
    run = precompiled.run

    def edit_and_run(*args, **kwargs):
        write(path, ADD.replace("a + b", "a - b"))
        return run(*args, **kwargs)

    monkeypatch.setattr(precompiled, "run", edit_and_run)
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
    with pytest.raises((tc.ToolchainError, ValueError), match="99"):
        tc.load("cuda", sources="cuda.cc")
    write("scale.cu", SCALE)
    with pytest.raises((tc.ToolchainError, ValueError), match="99"):
        tc.load("cuda", sources="scale.cu", arch="sm_90")
