"""Precompiled headers of wrappers: used, complete in their dependencies, and never needed."""

from __future__ import annotations

import ctypes
import itertools
import logging
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import wrapper_sources
from stub.cuda_array import cuda_array
from test_fork_and_isolation import in_fork

import tvmffi_cubin as tc
from tvmffi_cubin import dependency_set, host_build, host_pch, pch_maker, toolset
from tvmffi_cubin.cache import Cache
from tvmffi_cubin.errors import BuildError
from tvmffi_cubin.plan import BuildPlan, Cxx, Link

PREFIX = "#include <string.h>\n#include <vector>\n"
ANSWER = 'extern "C" int answer() { return 42; }'

numbers = itertools.count()


@pytest.fixture(autouse=True)
def _log(caplog):
    caplog.set_level(logging.DEBUG, "tvmffi_cubin")


@pytest.fixture
def cache(tmp_path) -> Cache:
    return Cache(tmp_path / "cache")


class Builder:
    """Builds small units that begin with PREFIX, each in a folder of its own."""

    def __init__(self, cache: Cache, folder: Path) -> None:
        self.cache = cache
        self.folder = folder
        self.read: list[str] = []

    def __call__(self, source=ANSWER, *, flags=(), include_dirs=(), use_pch=True, prefix=PREFIX):
        tools = toolset.find(needs_cuda=False)
        folder = self.folder / f"build{next(numbers)}"
        folder.mkdir()
        command = tools.compiler.command
        unit = Cxx("unit.cc", command, ("-fPIC", *flags), tuple(map(str, include_dirs)), prefix)
        self.read = host_build.run(
            BuildPlan("unit", (unit,), link=Link(command)),
            folder,
            {"unit.cc": f'{prefix}#line 1 "mine.cc"\n{source}'},
            cache=self.cache,
            tools=tools,
            use_pch=use_pch,
        )
        return ctypes.CDLL(os.fspath(folder / "unit.so")).answer()

    def settled(self, *args, **options):
        """Build, and wait until the headers are precompiled."""
        answer = self(*args, **options)
        host_pch.settle()
        return answer

    @property
    def kept(self) -> list[Path]:
        return list(self.cache.root.glob("headers/entries/*/*"))


@pytest.fixture
def build(cache, tmp_path) -> Builder:
    return Builder(cache, tmp_path)


def uses(caplog) -> list[str]:
    """Return "used" or "ignored" for each build since the last look."""
    words = [r.getMessage().rsplit(" ", 1)[1] for r in caplog.records if ": precompiled" in r.msg]
    caplog.clear()
    return words


# Use


def test_the_first_build_has_them_made_and_the_next_uses_them(build, caplog):
    assert build.settled() == 42
    assert uses(caplog) == []
    assert build(ANSWER.replace("42", "43")) == 43
    assert uses(caplog) == ["used"]
    assert len(build.kept) == 1


def test_a_build_that_finds_them_under_way_does_not_wait(build, caplog, monkeypatch):
    may_go_on = threading.Event()
    make = pch_maker.make

    def make_later(*args, **options):
        assert may_go_on.wait(60)
        return make(*args, **options)

    monkeypatch.setattr(pch_maker, "make", make_later)
    assert build() == 42
    assert build(ANSWER.replace("42", "43")) == 43
    may_go_on.set()
    host_pch.settle()
    assert build(ANSWER.replace("42", "44")) == 44
    assert uses(caplog) == ["used"]


def test_other_flags_macros_and_prefixes_have_their_own(build, caplog):
    source = 'extern "C" int answer() { return VALUE; }'
    for value in ("1", "2"):
        flags = (f"-DVALUE={value}",)
        assert build.settled(source, flags=flags) == int(value)
        assert build(source, flags=flags) == int(value)
    prefix = f"#define VALUE 3\n{PREFIX}"
    assert build.settled(source, prefix=prefix) == 3
    assert build(source, prefix=prefix) == 3
    assert uses(caplog) == ["used"] * 3
    assert len(build.kept) == 3


def test_a_wrapper_gives_the_same_results_and_the_same_dependencies(tmp_path, monkeypatch, caplog):
    def built(value, **options):
        source = f"#include <memory>\nint64_t answer(int64_t x) {{ return x + {value}; }}"
        functions = {"answer": "Adds."}
        mod = tc.load_inline("pch", cpp_sources=source, functions=functions, **options)
        assert mod.answer(1) == 1 + value
        assert mod.answer.__doc__ is None or "Adds." in mod.answer.__doc__
        host_pch.settle()

    read = []
    for name, use_pch in (("with", None), ("without", False)):
        monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(tmp_path / name))
        for value in (1, 2):
            built(value, use_pch=use_pch)
        files = (tmp_path / name / "deps").glob("*.json")
        read.append([set(dependency_set.read_sets(str(file))[0].names) for file in files])
    assert uses(caplog) == ["used"]
    first, second = read[0]
    assert first == second == read[1][0]
    assert "$TVM_FFI/tvm/ffi/function.h" in first
    assert "$TVM_FFI/tvm/ffi/any.h" in first
    assert not (tmp_path / "without" / "headers").exists()


@pytest.mark.parametrize("compiler", ["", "clang++"])
@pytest.mark.parametrize("dialect", ["DRIVER", "RUNTIME"])
def test_what_is_compiled_beside_them_works_as_what_a_wrapper_compiles(
    dialect, compiler, driver_stub, tmp_path, monkeypatch, caplog
):
    if compiler:
        if shutil.which(compiler) is None:
            pytest.skip(f"needs {compiler}")
        monkeypatch.setenv("CXX", compiler)
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(tmp_path / "cache"))
    image = tc.nvrtc.nvrtc_compile(wrapper_sources.KERNELS, arch="sm_90")
    source = getattr(wrapper_sources, dialect)
    x, y = cuda_array(driver_stub, (1000,)), cuda_array(driver_stub, (1000,))
    errors = []
    for suffix, kernel in itertools.product(("", "//"), ("add_one", "absent")):
        text = source.replace('"add_one"', f'"{kernel}"') + suffix
        mod = tc.load_inline(f"{dialect}_{kernel}", text, embed_cubin={"kernels": image})
        if kernel == "absent":
            with pytest.raises(
                tc.LaunchError, match="no kernel .absent.; it has .*mul_two"
            ) as caught:
                mod.add_one(x, y)
            errors.append(str(caught.value))
        else:
            mod.add_one(x, y)
        host_pch.settle()
    assert [launch.kernel for launch in driver_stub.launches()] == ["add_one"] * 2
    assert errors[0] == errors[1]
    assert uses(caplog)[-2:] == ["used"] * 2


def test_a_header_of_the_users_still_decides_what_follows_it(shadow, tmp_path, monkeypatch):
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(tmp_path / "cache"))
    (shadow / "config.h").write_text("#define TVM_FFI_CUBIN_LAUNCHER_USE_DRIVER_API 1\n")
    source = """#include <config.h>
    #include <tvm/ffi/extra/cuda/cubin_launcher.h>
    #include <type_traits>
    bool is_driver() { return std::is_same_v<tvm::ffi::cuda_api::ResultType, CUresult>; }
    """
    for suffix in ("", "//"):
        mod = tc.load_inline(
            "config",
            cpp_sources=source + suffix,
            functions="is_driver",
            extra_include_paths=[shadow],
        )
        assert mod.is_driver()
        host_pch.settle()


def test_messages_show_the_users_own_lines(build, caplog):
    build.settled()
    with pytest.raises(BuildError, match=r"mine\.cc:2:1: error:"):
        build("\nnonsense;")
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


def test_a_compiler_behind_a_launcher_has_them_too(build, caplog, monkeypatch):
    compiler = toolset.find(needs_cuda=False).compiler
    monkeypatch.setenv("CXX", f"env LAUNCHED=1 {' '.join(compiler.command)}")
    build.settled()
    assert build() == 42
    assert uses(caplog) == ["used"]


# What they were made from


@pytest.fixture
def shadow(tmp_path) -> Path:
    """A user's folder in which a header of the prefix may appear."""
    folder = tmp_path / "include"
    folder.mkdir()
    return folder


def write(path: Path, value: int) -> None:
    path.write_text(f"#include_next <string.h>\n#undef VALUE\n#define VALUE {value}\n")


VALUE = """
#ifndef VALUE
#define VALUE 0
#endif
extern "C" int answer() { return VALUE; }
"""


def test_a_header_that_changes_is_read_anew(build, shadow, caplog):
    write(shadow / "string.h", 1)
    assert build.settled(VALUE, include_dirs=[shadow]) == 1
    assert build(VALUE, include_dirs=[shadow]) == 1
    assert os.fspath(shadow / "string.h") in build.read
    write(shadow / "string.h", 2)
    assert build.settled(VALUE, include_dirs=[shadow]) == 2
    assert build(VALUE, include_dirs=[shadow]) == 2
    assert uses(caplog) == ["used"] * 2


def test_a_header_that_appears_before_another_is_read(build, shadow, caplog):
    assert build.settled(VALUE, include_dirs=[shadow]) == 0
    assert build(VALUE, include_dirs=[shadow]) == 0
    assert uses(caplog) == ["used"]
    write(shadow / "string.h", 1)
    assert build(VALUE, include_dirs=[shadow]) == 1


def test_a_module_is_built_anew_when_a_precompiled_header_changes(shadow, tmp_path, monkeypatch):
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(tmp_path / "cache"))

    def answer(suffix=""):
        mod = tc.load_inline(
            "module",
            cpp_sources=f"int64_t answer() {{ return VALUE; }}{suffix}",
            functions="answer",
            extra_include_paths=[shadow],
        )
        host_pch.settle()
        return mod.answer()

    write(shadow / "string.h", 1)
    assert [answer(), answer("//"), answer("//")] == [1, 1, 1]
    write(shadow / "string.h", 2)
    assert [answer("//"), answer()] == [2, 2]


# By-pass and fall-back


def test_they_can_be_turned_off(build, caplog):
    build.settled()
    assert build(use_pch=False) == 42
    assert uses(caplog) == []


@pytest.mark.parametrize("option", ["variable", "argument"])
def test_a_wrapper_can_do_without(option, tmp_path, monkeypatch):
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(tmp_path))
    if option == "variable":
        monkeypatch.setenv("TVMFFI_CUBIN_PCH", "off")
    options = {"use_pch": False} if option == "argument" else {}
    source = "int64_t answer() { return 42; }"
    tc.build_inline("off", cpp_sources=source, functions="answer", **options)
    host_pch.settle()
    assert not (tmp_path / "headers").exists()


def test_coverage_rules_them_out(build):
    assert build.settled(flags=("-ftest-coverage",)) == 42
    assert not build.kept


def test_an_object_that_is_yet_to_be_linked_has_all_in_it(tmp_path, monkeypatch, caplog):
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(tmp_path))
    image = tc.nvrtc.nvrtc_compile(wrapper_sources.KERNELS, arch="sm_90")
    for edit in ("", "// edited"):
        source = wrapper_sources.DRIVER + edit
        path = tc.build_inline("o", source, embed_cubin={"kernels": image}, output="o.o")
        host_pch.settle()
        done = subprocess.run(["nm", "-C", path], check=True, capture_output=True, text=True)
        assert " U tvmffi_cubin::" not in done.stdout
    assert uses(caplog) == ["used"]


def test_a_header_that_comes_before_all_others_rules_them_out(build, shadow, caplog):
    (shadow / "first.h").write_text("#define VALUE 7\n")
    flags = ("-include", os.fspath(shadow / "first.h"))
    assert build.settled(VALUE, flags=flags) == 7
    assert build(VALUE, flags=flags) == 7
    assert not build.kept


def precompiled_file(build) -> Path:
    (folder,) = build.kept
    return next(path for path in folder.iterdir() if path.suffix in (".gch", ".pch"))


@pytest.mark.parametrize("place", [0, 0.5])
def test_a_damaged_file_is_built_around(build, place, caplog):
    build.settled()
    file = precompiled_file(build)
    data = bytearray(file.read_bytes())
    start = int(place * len(data))
    data[start:] = b"\xee" * (len(data) - start)
    file.write_bytes(data)
    assert build(ANSWER.replace("42", "44")) == 44
    assert uses(caplog) in ([], ["ignored"])


def test_what_cannot_be_used_is_removed_and_made_anew(build, monkeypatch, caplog):
    build.settled()
    monkeypatch.setattr(
        pch_maker, "flags_for", lambda entry: ("-include", "/nowhere/tvmffi_cubin_precompiled.h")
    )
    assert build() == 42
    assert not build.kept
    assert [r for r in caplog.records if "failed and were removed" in r.msg]
    monkeypatch.undo()
    build.settled()
    uses(caplog)
    assert build() == 42
    assert uses(caplog) == ["used"]


def test_a_file_that_is_gone_is_made_anew(build, caplog):
    build.settled()
    precompiled_file(build).unlink()
    assert build.settled() == 42
    assert uses(caplog) == []
    assert build() == 42
    assert uses(caplog) == ["used"]


def compiler_that(folder: Path, monkeypatch, *, on_headers: str) -> Path:
    """Set CXX to a compiler that precompiles headers in another way; return its log."""
    real = " ".join(toolset.find(needs_cuda=False).compiler.command)
    script, log = folder / "compiler", folder / "compiler.log"
    script.write_text(
        f'#!/bin/sh\ncase "$*" in *c++-header*) echo made >> {log}; {on_headers};; esac\n'
        f'exec {real} "$@"\n'
    )
    script.chmod(0o755)
    monkeypatch.setenv("CXX", os.fspath(script))
    log.touch()
    return log


@pytest.mark.parametrize(
    "on_headers",
    ["echo no >&2; exit 1", "kill -9 $$", f": > {pch_maker.HEADER}.gch; : > headers.d; exit 0"],
    ids=["refuses", "dies", "makes nothing"],
)
def test_a_compiler_that_cannot_is_asked_once(build, on_headers, tmp_path, monkeypatch, caplog):
    log = compiler_that(tmp_path, monkeypatch, on_headers=on_headers)
    for _ in range(3):
        assert build.settled() == 42
    assert log.read_text() == "made\n"
    assert not build.kept
    assert not list(build.cache.root.glob("headers/tmp/*"))
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


def test_none_are_made_where_the_cache_cannot_be_written(build, monkeypatch, caplog):
    monkeypatch.setattr(host_pch, "has_room", lambda folder: False)
    assert build.settled() == 42
    assert not build.cache.root.exists()
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


# Side by side


def test_threads_have_them_made_once(build, tmp_path, monkeypatch):
    log = compiler_that(tmp_path, monkeypatch, on_headers=":")
    answers = []
    threads = [
        threading.Thread(target=lambda i=i: answers.append(build(ANSWER.replace("42", str(i)))))
        for i in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    host_pch.settle()
    assert sorted(answers) == [0, 1, 2, 3]
    assert log.read_text() == "made\n"
    assert len(build.kept) == 1


PROCESS = """
import sys
from pathlib import Path
sys.path[:] = sys.argv[3].split(":")
from test_host_pch import Builder
from tvmffi_cubin.cache import Cache
print(Builder(Cache(Path(sys.argv[1])), Path(sys.argv[2]))())
"""


def test_processes_share_them_and_end_after_they_are_made(build, tmp_path):
    running = []
    for i in range(2):
        folder = tmp_path / f"process{i}"
        folder.mkdir()
        arguments = [build.cache.root, folder, ":".join(sys.path)]
        command = [sys.executable, "-c", PROCESS, *map(os.fspath, arguments)]
        running.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
    assert [process.communicate()[0].strip() for process in running] == ["42", "42"]
    assert [process.returncode for process in running] == [0, 0]
    assert len(build.kept) == 1


def test_a_forked_child_does_not_wait_for_its_parent(build, tmp_path, monkeypatch):
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    compiler_that(tmp_path, monkeypatch, on_headers=f"cat {gate} >&2")
    assert build() == 42
    assert in_fork(lambda: build(ANSWER.replace("42", "43"))) == 43
    gate.write_text("")  # lets the parent's go on
    host_pch.settle()
    assert len(build.kept) == 1


def test_there_are_never_more_than_a_few(build):
    for value in range(6):
        build.settled(flags=(f"-DVALUE={value}",))
    assert len(build.kept) == 4
