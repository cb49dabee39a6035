"""Precompiled headers of wrappers: used, complete in their dependencies, and never needed."""

import ctypes
import itertools
import logging
import os
import sys
import time
from pathlib import Path

import pytest
import wrapper_sources
from processes import in_new_process
from stub.cuda_array import cuda_array

import tvmffi_cubin as tc
from tvmffi_cubin.cache.entry import read_record
from tvmffi_cubin.cache.store import Cache
from tvmffi_cubin.host import precompiled
from tvmffi_cubin.host.steps import compilation, link
from tvmffi_cubin.inline.tools import find_tools

pytestmark = pytest.mark.usefixtures("own_headers")

PREFIX = "#include <string.h>\n#include <vector>\n"
SOURCE = 'extern "C" int answer() { return 42; }'
numbers = itertools.count()


class Builder:
    """Builds small units that begin with PREFIX, each in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.cache, self.folder = Cache(folder / "cache"), folder
        self.read: tuple[str, ...] = ()

    def __call__(self, source=SOURCE, include_dirs=()):
        tools = find_tools(needs_cuda=False)
        folder = self.folder / f"build{next(numbers)}"
        folder.mkdir()
        command = tools.compiler.command
        folders = tuple(map(str, include_dirs))
        unit = compilation("unit.cc", (*command, "-fPIC"), folders, prefix=PREFIX)
        steps = [unit, link("unit.so", (unit.made,), command=command, flags=())]
        text = f'{PREFIX}#line 1 "mine.cc"\n{source}'
        self.read = precompiled.run(steps, folder, {"unit.cc": text}, self.cache, tools).read
        return ctypes.CDLL(os.fspath(folder / "unit.so")).answer()

    def settled(self, *args, **options):
        """Build, and wait until the headers are precompiled."""
        answer = self(*args, **options)
        precompiled.settle()
        return answer

    @property
    def kept(self) -> list[Path]:
        return [path.parent for path in self.cache.root.glob("entries/*/*/*.gch")]


@pytest.fixture
def build(tmp_path) -> Builder:
    return Builder(tmp_path)


def test_the_first_build_has_them_made_and_the_next_uses_them(build):
    assert build.settled() == 42
    assert not build.read
    assert build(SOURCE.replace("42", "43")) == 43
    assert build.read  # their list of headers comes from where they lie
    assert len(build.kept) == 1


def test_a_wrapper_gives_the_same_results_and_has_the_same_dependencies(
    tmp_path, monkeypatch, driver_stub, caplog
):
    source = wrapper_sources.RUNTIME
    second = source[source.index("namespace loader") :].replace('"add_one"', '"absent"')
    source += second.replace("AddOne", "Absent").replace("(add_one, ", "(absent, ")
    image = tc.nvrtc.nvrtc_compile(wrapper_sources.KERNELS, arch="sm_90")
    x = cuda_array(driver_stub, 1000)

    def load(source):
        return tc.load_inline("pch", source, embed_cubin={"kernels": image})

    errors, read = set(), set()
    for folder, texts in (("without", ["//without"]), ("with", ["//first", "//second"])):
        monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(tmp_path / folder))
        monkeypatch.setenv("TVMFFI_CUBIN_PCH", "off" if folder == "without" else "")
        for text in texts:
            mod = load(source + text)
            mod.add_one(x, x)
            with pytest.raises(tc.LaunchError, match=r"no kernel .absent.; .*: .*two") as caught:
                mod.absent(x, x)
            errors.add(str(caught.value))
            precompiled.settle()
        for record in (tmp_path / folder / "records").glob("*.json"):
            row = read_record(str(tmp_path / folder), record.stem)[0]
            if row.loaded[0] == "pch.so":
                read.add(frozenset(row.read))
        assert len([*(tmp_path / folder).glob("entries/*/*/*.gch")]) == (folder == "with")
    (files,) = read
    assert {"$TVM_FFI/tvm/ffi/function.h", "$TVM_FFI/tvm/ffi/any.h"} <= files
    assert len(errors) == 1
    assert [launch.kernel for launch in driver_stub.launches()] == ["add_one"] * 3
    # A mistake in the source is not blamed on them.
    with pytest.raises(tc.BuildError, match="'nothing' was not declared") as caught:
        load(source + "int f() { return nothing; }")
    assert "-include" in caught.value.command  # they were used
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


def test_a_header_that_changes_is_read_anew(build, tmp_path):
    shadow = tmp_path / "include"
    shadow.mkdir()
    for value in (1, 2):
        text = f"#include_next <string.h>\n#undef VALUE\n#define VALUE {value}\n"
        (shadow / "string.h").write_text(text)
        for _ in range(2):
            assert build.settled(SOURCE.replace("42", "VALUE"), [shadow]) == value
        assert os.fspath(shadow / "string.h") in build.read


def compiler_that(folder: Path, monkeypatch, *, on_headers: str) -> Path:
    """Set CXX to a compiler that precompiles headers in another way; return its log."""
    real = " ".join(find_tools(needs_cuda=False).compiler.command)
    script, log = folder / "compiler", folder / "compiler.log"
    script.write_text(
        f'#!/bin/sh\ncase "$*" in *c++-header*) echo made >> {log}; {on_headers};; esac\n'
        f'exec {real} "$@"\n'
    )
    script.chmod(0o755)
    monkeypatch.setenv("CXX", os.fspath(script))
    log.touch()
    return log


def test_a_compiler_that_cannot_is_asked_once_a_process(build, tmp_path, monkeypatch, caplog):
    log = compiler_that(tmp_path, monkeypatch, on_headers="echo no >&2; exit 1")
    for _ in range(3):
        assert build.settled() == 42
    assert log.read_text() == "made\n"
    assert not build.kept
    assert not list(build.cache.root.glob("tmp/*"))
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


PROCESS = """
import sys, time
from pathlib import Path
sys.path[:] = sys.argv[2].split(":")
from test_host_precompiled import Builder
print(Builder(Path(sys.argv[1]))())
while not Path(sys.argv[1], "pid").exists():
    time.sleep(0.01)
"""


def test_a_process_that_ends_neither_waits_for_them_nor_leaves_a_compiler(tmp_path, monkeypatch):
    on_headers = f"sleep 3000 & echo $! > {tmp_path}/new; mv {tmp_path}/new {tmp_path}/pid; wait"
    compiler_that(tmp_path, monkeypatch, on_headers=on_headers)
    assert in_new_process(PROCESS, tmp_path, ":".join(sys.path)) == "42"
    compiler = Path("/proc", (tmp_path / "pid").read_text().strip())
    deadline = time.monotonic() + 10
    while compiler.exists():
        assert time.monotonic() < deadline, "the compiler outlives the process"
        time.sleep(0.1)
