"""Precompiled headers of wrappers: never needed, and made once by all who want them."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import wrapper_sources
from host_pch_builder import ANSWER, VALUE, Builder, uses
from processes import in_fork

import tvmffi_cubin as tc
from tvmffi_cubin import host_pch, pch_maker
from tvmffi_cubin.cache.store import Cache
from tvmffi_cubin.inline.tools import find_tools

pytestmark = pytest.mark.usefixtures("own_headers")


@pytest.fixture(autouse=True)
def _log(caplog):
    caplog.set_level(logging.DEBUG, "tvmffi_cubin")


@pytest.fixture
def build(tmp_path) -> Builder:
    return Builder(Cache(tmp_path / "cache"), tmp_path)


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


@pytest.mark.parametrize(
    "error", [PermissionError(13, "Permission denied"), RuntimeError("thread")]
)
def test_a_failure_to_look_for_them_or_to_begin_is_no_error(error, build, monkeypatch):
    def refuse(*_, **__):
        raise error

    monkeypatch.setattr(host_pch._begun, "begin", refuse)
    assert build() == 42


def test_coverage_rules_them_out(build):
    assert build.settled(flags=("-ftest-coverage",)) == 42
    assert not build.kept


def test_an_object_that_is_yet_to_be_linked_has_all_in_it(tmp_path, monkeypatch, caplog):
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
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
    assert build.settled(ANSWER.replace("42", "44")) == 44
    assert uses(caplog) == []
    assert build() == 42
    assert uses(caplog) == ["used"]


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
from host_pch_builder import Builder
from tvmffi_cubin.cache.store import Cache
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
