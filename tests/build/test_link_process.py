"""nvJitLink in a process of its own: how long it may take, and what it and others print there."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tvmffi_cubin.link_process import LinkCrash, run_apart
from tvmffi_cubin.link_run import LinkRun
from tvmffi_cubin.nvjitlink_library import NvJitLinkLibrary

import tvmffi_cubin
from tests.fatbin_builder import Row, fatbin
from tvmffi_cubin import Cubin, link_process, nvjitlink, nvrtc
from tvmffi_cubin.cuda.libraries import find_cuda
from tvmffi_cubin.errors import CompileError

TWO = "__device__ int a[2]; __device__ int* get() { return a; }"
NOTHING = LinkRun((), False, (), ())


def unit(source: str, kind: str = "relocatable") -> Cubin:
    return nvrtc.compile(source, arch="sm_90", target_type=kind)


def in_fatbin(source: str) -> bytes:
    return fatbin(Row(90, unit(source).image))


def using(declaration: str, value: str) -> str:
    return f'{declaration}; extern "C" __global__ void use(int* x) {{ x[0] = {value}; }}'


# How long it may take


@pytest.fixture
def spinning(tmp_path: Path) -> Callable[[str], Path]:
    """Return what makes a library in nvJitLink's place that has no end once a link begins."""

    def make(before: str = "") -> Path:
        names = [name for name in NvJitLinkLibrary.prototypes if name != "nvJitLinkCreate"]
        lines = ["#include <signal.h>", *(f"int {name}(void) {{ return 0; }}" for name in names)]
        lines.append(
            f"int nvJitLinkCreate(void) {{ {before} for (volatile int i = 0;; ++i) {{}} }}"
        )
        source, library = tmp_path / "spin.c", tmp_path / "libspin.so"
        source.write_text("\n".join(lines))
        subprocess.run(["cc", "-shared", "-fPIC", source, "-o", library], check=True)
        return library

    return make


@pytest.fixture
def one_second(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_process, "_TO_LINK", 1)
    monkeypatch.setattr(link_process, "_GRACE", 1)


def end_of(library: Path) -> str:
    with pytest.raises(LinkCrash) as caught:
        run_apart(library, NOTHING)
    return caught.value.what


@pytest.mark.usefixtures("one_second")
def test_a_link_without_an_end_is_ended(spinning):
    assert end_of(spinning()) == "did not come to an end in 1 s"


@pytest.mark.usefixtures("one_second")
def test_it_is_ended_where_the_program_ignores_the_signal(spinning):
    before = signal.signal(signal.SIGXCPU, signal.SIG_IGN)
    try:
        assert end_of(spinning()) == "did not come to an end in 1 s"
    finally:
        signal.signal(signal.SIGXCPU, before)


@pytest.mark.usefixtures("one_second")
def test_it_is_ended_where_the_program_blocks_the_signal(spinning):
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGXCPU})
    try:
        assert end_of(spinning()) == "did not come to an end in 1 s"
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@pytest.mark.usefixtures("one_second")
def test_it_is_killed_where_it_does_not_take_the_signal(spinning):
    assert end_of(spinning("signal(SIGXCPU, SIG_IGN);")) == "did not come to an end in 1 s"


def test_the_programs_own_hard_limit_is_kept(spinning, monkeypatch):
    monkeypatch.setattr(resource, "getrlimit", lambda what: (1, 1))
    assert end_of(spinning()) == "did not come to an end in 1 s"


def test_what_somebody_else_kills_took_no_time(spinning):
    assert end_of(spinning("raise(SIGKILL);")) == "was killed (SIGKILL)"


@pytest.mark.parametrize(
    ("kind", "seconds"),
    [("relocatable", 120), ("ptx", 3600), ("fatbin", 3600), ("object", 3600), ("library", 3600)],
)
def test_what_may_have_to_be_compiled_has_an_hour(kind: str, seconds: int, tmp_path, monkeypatch):
    python = tmp_path / "python3"
    python.write_text(f'#!/bin/sh\ncat > /dev/null\necho "$@" > {tmp_path}/given\nexit 1\n')
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    run_apart(find_cuda().require("nvjitlink"), LinkRun(("-arch=sm_90",), False, (kind,), (b"",)))
    assert (tmp_path / "given").read_text().split()[-2:] == [str(seconds), str(seconds + 5)]


def test_no_bytecode_is_written_where_the_user_wants_none(tmp_path: Path):
    package = Path(tvmffi_cubin.__file__).parent
    copy = tmp_path / package.name
    shutil.copytree(package, copy, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "given.cubin").write_bytes(unit(using("", "1")).image)
    text = "from tvmffi_cubin import nvjitlink\nnvjitlink.link(['given.cubin'], arch='sm_90')"
    variables = {"PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", text]
    subprocess.run(command, cwd=tmp_path, env=os.environ | variables, check=True)
    assert not list(copy.rglob("__pycache__"))


# What is printed there


@pytest.mark.parametrize(
    ("first", "second", "what"),
    [
        (TWO, using("extern __device__ int a[64]", "a[63]"), "a is not the same .*: its size"),
        (TWO, using("extern __constant__ int a[2]", "a[1]"), "a is not .*: its memory space"),
        (
            "__device__ __managed__ int m;",
            using("extern __device__ int m", "m"),
            "m is not .*: its managed attribute",
        ),
        (
            'extern "C" __device__ int f(int x) { return x * clock(); }',
            using('extern "C" __device__ int f(float, float)', "f(1, 2)"),
            "f is not .*: its prototype",
        ),
    ],
    ids=["size", "memory", "managed", "prototype"],
)
def test_what_two_fatbins_disagree_about_is_an_error(first: str, second: str, what: str, capfd):
    # nvJitLink tells of it on the error stream of its process, and links.
    where = r" differs, in inputs\[0\] and inputs\[1\]"
    with pytest.raises(CompileError, match=what + where) as caught:
        nvjitlink.link([in_fatbin(first), in_fatbin(second)], arch="sm_90")
    assert "doesn't match for" in caught.value.log
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("mark", ["error   ", "error*  ", "fatal   "])
def test_whatever_nvjitlink_calls_an_error_is_one(mark: str, tmp_path: Path, monkeypatch):
    python = tmp_path / "python3"
    answer = 'ready\\n["", 0, 0, "", "", 1]\\n+'
    printed = f"{mark}: Something of input0 is too big"
    python.write_text(f"#!/bin/sh\ncat > /dev/null\nprintf '{answer}'\necho '{printed}' >&2\n")
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    with pytest.raises(CompileError, match=r"Something of inputs\[0\] is too big") as caught:
        nvjitlink.link([in_fatbin(TWO)], arch="sm_90")
    assert caught.value.log == f"{mark}: Something of inputs[0] is too big"


def test_what_the_loader_prints_is_neither_an_error_nor_in_the_log(monkeypatch, capfd):
    monkeypatch.setenv("LD_PRELOAD", "/nowhere/libnone.so")
    user = using("extern __device__ int a[2]", "a[1]")
    linked = nvjitlink.link([in_fatbin(TWO), in_fatbin(user)], arch="sm_90")
    assert (linked.log, [kernel.name for kernel in linked.kernels]) == ("", ["use"])
    other = using("extern __device__ int a[64]", "a[63]")
    with pytest.raises(CompileError, match="its size differs") as caught:
        nvjitlink.link([in_fatbin(TWO), in_fatbin(other)], arch="sm_90")
    assert "LD_PRELOAD" not in str(caught.value) + caught.value.log
