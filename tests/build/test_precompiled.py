"""Headers that NVRTC precompiles: the same images, sooner; never old headers, never needed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from tvmffi_cubin import nvrtc
from tvmffi_cubin.cuda import precompiled
from tvmffi_cubin.cuda.precompiled import prefix_end
from tvmffi_cubin.errors import CompileError

pytestmark = pytest.mark.skipif(nvrtc.version() < (12, 8), reason="needs NVRTC 12.8 or newer")

# The least of what is heavy: half a second without precompiled headers.
INCLUDE = "#include <cuda/std/array>\n"
KERNEL = """\
extern "C" __global__ void k(int* y) {
  y[0] = VALUE;
  asm volatile("// VALUE = %0" ::"n"(VALUE));
}
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path_factory, monkeypatch, caplog) -> Path:
    """A folder for temporary files in which nobody else works, and a process that keeps nothing."""
    caplog.set_level("DEBUG")
    folder = tmp_path_factory.mktemp("temporary")
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    precompiled._folder.cache_clear()
    return folder


def source(value: object, *, include: str = INCLUDE, kernel: str = KERNEL) -> str:
    return f"{include}#define VALUE {value}\n{kernel}"


def ptx(text: str, **options) -> str:
    options = {"arch": "sm_90", "target_type": "ptx"} | options
    return nvrtc.compile(text, **options).image.decode()


def stored(text: str, **options) -> int:
    """Return the number that a source's VALUE is."""
    (found,) = re.findall(r"// VALUE = (\d+)", ptx(text, **options))
    return int(found)


def said(caplog) -> list[str]:
    """Return "made" or "used" for each compilation since the last look."""
    words = [r.args[0] for r in caplog.records if "precompiled header for" in r.msg]
    caplog.clear()
    return words


def in_new_process(code: str, *, wait: bool = True) -> subprocess.Popen:
    setup = f"""
import logging, os, sys
from tvmffi_cubin import nvrtc
logging.basicConfig(level="DEBUG", stream=sys.stdout, format="%(message)s")
def compile_it(value):
    nvrtc.compile({INCLUDE!r} + "#define VALUE %d\\n" % value + {KERNEL!r}, arch="sm_90")
    sys.stdout.flush()
"""
    command = [sys.executable, "-c", f"{setup}\n{code}"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    if wait:
        process.wait()
        assert process.returncode == 0
    return process


# Use


def test_images_are_the_same_as_without(caplog):
    options = ("-lineinfo", "-std=c++20", "-use_fast_math")
    kernel = """
    // The lines and the file's name are part of the image.
    extern "C" __global__ void k(int* y, cuda::std::array<int, 3> x) {
      y[0] = x[1] + __LINE__ + __FILE__[0] + sizeof(__FILE__);
      if (y[1] > VALUE) asm volatile("trap;");
    }"""
    text = source(7, kernel=kernel, include=f"/* first */\n\n{INCLUDE}")
    plain = nvrtc.compile(text, arch="sm_90", options=options, name="mine.cu", use_pch=False)
    assert said(caplog) == []
    for word in ("made", "used"):
        cubin = nvrtc.compile(text, arch="sm_90", options=options, name="mine.cu")
        assert said(caplog) == [word]
        assert cubin.image == plain.image
        assert cubin.log == plain.log == ""


def test_another_option_architecture_or_include_has_its_own_and_few_are_kept(caplog, temporary):
    assert stored(source("MACRO"), options=["-DMACRO=1"]) == 1
    assert stored(source("MACRO"), options=["-DMACRO=2"]) == 2
    assert stored(source(3), arch="sm_80") == 3
    assert stored(source(4, include=INCLUDE + "#include <cuda/std/utility>\n")) == 4
    assert stored(source("BEFORE", include=f"#define BEFORE 5\n{INCLUDE}")) == 5
    assert said(caplog) == ["made"] * 5
    assert len([path for path in temporary.rglob("*") if path.is_file()]) == 4


def test_it_can_be_turned_off(monkeypatch, caplog):
    assert stored(source(1), use_pch=False) == 1
    monkeypatch.setenv("TVMFFI_CUBIN_PCH", "off")
    assert stored(source(1)) == 1
    assert said(caplog) == []


# Headers that change


@pytest.mark.parametrize("is_beside", [False, True])
def test_a_changed_header_is_read_anew(is_beside, tmp_path):
    text = source("OWN", include='#include "own.h"\n')
    options = {"include_paths": [tmp_path]}
    if is_beside:
        options = {"name": str(tmp_path / "kernel.cu"), "source_include": True}
    for value in (1, 1, 2, 2, 1):
        (tmp_path / "own.h").write_text(f"{INCLUDE}#define OWN {value}\n")
        os.utime(tmp_path / "own.h", (1e9, 1e9))  # as edits within one tick have
        assert stored(text, **options) == value


def test_a_header_that_appears_before_another_is_read(tmp_path):
    text = source("OWN", include="#include <own.h>\n")
    folders = [tmp_path / "first", tmp_path / "second"]
    for value in (1, 0):
        folders[value].mkdir()
        (folders[value] / "own.h").write_text(f"{INCLUDE}#define OWN {value}\n")
        assert stored(text, include_paths=folders) == value


# What is said


def test_messages_have_the_users_lines_and_no_word_of_it(caplog):
    unused = INCLUDE + "__global__ void k() { int unused; }"
    logs = [nvrtc.compile(unused, arch="sm_90").log for _ in range(2)]
    assert logs[0] == logs[1]
    assert "unused" in logs[0]
    assert "PCH" not in logs[0]
    assert said(caplog) == ["made", "used"]
    text = f"{INCLUDE}\n#define VALUE 1\n{KERNEL}\nnonsense;\n"
    for _ in range(2):
        with pytest.raises(CompileError) as raised:
            nvrtc.compile(text, arch="sm_90", name="mine.cu")
        assert "mine.cu(9): error" in str(raised.value)
        assert "precompiled" not in str(raised.value) + raised.value.log
    assert said(caplog) == ["used", "used"]
    with pytest.raises(CompileError, match=r"mine\.cu\(2\): .*nowhere\.h"):
        nvrtc.compile(f"{INCLUDE}#include <nowhere.h>\n{KERNEL}", arch="sm_90", name="mine.cu")


# Threads and processes


def test_threads_share_what_one_makes(caplog):
    results = {}
    threads = [
        threading.Thread(target=lambda i=i: results.update({i: ptx(source(i + 10))}))
        for i in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert said(caplog).count("made") == 1
    assert [results[i] for i in range(4)] == [ptx(source(i + 10), use_pch=False) for i in range(4)]


def test_what_a_killed_process_has_left_is_removed_by_the_next(temporary):
    killed = in_new_process("compile_it(1)\nprint('done', flush=True)\ninput()", wait=False)
    while killed.stdout.readline() not in ("done\n", ""):
        pass
    (left,) = temporary.iterdir()
    in_new_process("compile_it(1)")
    assert left.exists()
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    in_new_process("compile_it(1)")
    assert os.listdir(temporary) == []


# What a source begins with


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("#include <a>\n", "int x;"),
        ("#define X 1\n#include <a>\n#undef X\n# include <b>\n", "#define Y\nint x;"),
        ("#include <a>\n", "#ifdef B\nint x;\n#include <b>\n#endif\n"),
        ("#include <a> /* one\n two */\n#include <b> // three \\\n four\n", "int x;"),
        ("", "int x;\n#include <a>\n"),
        ("", "#ifndef GUARD\n#define GUARD\n#include <a>\nint x;\n#endif\n"),
    ],
)
def test_the_part_ends_after_the_last_include_before_any_code(before, after):
    assert prefix_end(before + after) == len(before)
