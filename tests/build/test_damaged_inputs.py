"""Damaged device code is an error of ours, whatever nvJitLink does when it reads it."""

from __future__ import annotations

import contextlib
import random
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import tvmffi_cubin as tc
from tests.fatbin_builder import SPECIFIC, Row, fatbin
from tvmffi_cubin import Cubin, link_process, nvjitlink, nvrtc
from tvmffi_cubin.errors import CompileError

LIBRARY = """
__device__ int counter;
__constant__ float table[8] = {1, 2};
__device__ float add_one(float x) { return x + table[counter]; }
"""
USER = """
__device__ float add_one(float x);
extern "C" __global__ void use(float* x) { x[0] = add_one(x[0]); }
"""
SEEDS = range(10)


def unit(source: str, kind: str = "relocatable", **more) -> Cubin:
    return nvrtc.compile(source, arch="sm_90a", target_type=kind, **more)


def library(kind: str) -> bytes:
    """Return `LIBRARY` as bytes; compiled here, but as nothing that was compiled here."""
    if kind == "ptx":
        made = nvrtc.compile(LIBRARY, arch="sm_90", target_type="ptx", options=["-rdc=true"])
        return made.image + b"\n"
    image = unit(LIBRARY, "relocatable" if kind == "fatbin" else kind).image
    return fatbin(Row(90, image, flags=SPECIFIC)) if kind == "fatbin" else image + bytes(8)


def damaged(image: bytes, seed: int) -> bytes:
    """Return an image with some bytes changed, none of them in the header that tells its kind."""
    chance = random.Random(seed)
    changed = bytearray(image)
    for _ in range(chance.choice((1, 4, 16, 64))):
        changed[chance.randrange(64, len(changed))] = chance.randrange(256)
    return bytes(changed)


@pytest.fixture
def python(tmp_path: Path, monkeypatch) -> Callable[[str, str], None]:
    """Put a shell script in Python's place."""

    def replace(script: str, name: str = "python3") -> None:
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(path))

    return replace


@pytest.mark.parametrize("kind", ["relocatable", "ltoir", "ptx", "fatbin"])
def test_damage_gives_an_image_or_a_typed_error(kind: str, monkeypatch):
    for limit in ("_TO_LINK", "_TO_COMPILE"):
        monkeypatch.setattr(link_process, limit, 20)
    whole, user = library(kind), unit(USER, "ltoir" if kind == "ltoir" else "relocatable")
    assert [kernel.name for kernel in nvjitlink.link([whole, user], arch="sm_90a").kernels]
    for seed in SEEDS:
        with contextlib.suppress(CompileError, ValueError):
            assert nvjitlink.link([damaged(whole, seed), user], arch="sm_90a").image


CRASH = "cat > /dev/null; printf 'ready\\n'; echo 'free(): invalid size' >&2; kill -SEGV $$"


def test_a_crash_of_nvjitlink_names_what_was_given(python, tmp_path: Path):
    path = tmp_path / "library.cubin"
    path.write_bytes(library("relocatable"))
    python(CRASH)
    with pytest.raises(CompileError) as caught:
        nvjitlink.link([path, unit(USER)])
    assert "crashed (SIGSEGV) when it linked for sm_90a" in str(caught.value)
    assert f"{path} may be damaged" in str(caught.value)
    assert "inputs[1]" not in str(caught.value)
    assert caught.value.log == "free(): invalid size"
    with pytest.raises(CompileError, match=r"one of .*library\.cubin, inputs\[1\] may be damaged"):
        nvjitlink.link([path, unit(USER).image + bytes(8)], arch="sm_90a")


def test_a_crash_of_nvjitlink_is_an_error_of_a_build(python):
    python(CRASH)
    with pytest.raises(CompileError, match=r"crashed .* device_libraries\[0\] may be damaged"):
        tc.build_inline("crash", USER, arch="sm_90a", device_libraries=[library("relocatable")])


def test_a_link_without_an_end_is_ended(python):
    # SIGXCPU is what the system sends a process that has used up its time.
    python("cat > /dev/null; printf 'ready\\n'; kill -XCPU $$")
    with pytest.raises(CompileError, match=r"did not come to an end in \d+ s .*may be damaged"):
        nvjitlink.link([library("relocatable"), unit(USER)], arch="sm_90a")


@pytest.mark.parametrize("output", ["", "[]", '["", 0, 0, "", "", 9]', "ELF"])
def test_a_link_that_ends_before_its_answer_is_an_error(python, output: str):
    python(f"cat > /dev/null; printf 'ready\\n'; printf '%s\\n' '{output}'; exit 1")
    with pytest.raises(CompileError, match="ended its process with status 1"):
        nvjitlink.link([library("relocatable"), unit(USER)], arch="sm_90a")


@pytest.mark.parametrize(
    "script",
    ["exit 1", "echo usage: app; exit 0"],
    ids=["one that does not start", "one that is something else"],
)
def test_without_a_python_to_start_the_link_is_done_here(python, script: str):
    python(script)
    assert nvjitlink.link([library("relocatable"), unit(USER)], arch="sm_90a").kernels


def test_another_program_is_never_started(python, tmp_path: Path):
    python(f"touch {tmp_path}/started", "application")
    assert nvjitlink.link([library("relocatable"), unit(USER)], arch="sm_90a").kernels
    assert not (tmp_path / "started").exists()


@pytest.mark.parametrize("executable", ["", None, "python3-that-is-not-there"])
def test_a_python_that_is_not_there_is_done_without(executable: str | None, monkeypatch):
    monkeypatch.setattr(sys, "executable", executable)
    assert nvjitlink.link([library("relocatable"), unit(USER)], arch="sm_90a").kernels


def test_what_was_compiled_here_is_linked_here(python):
    python(CRASH)
    assert nvjitlink.link([unit(LIBRARY), unit(USER).image]).kernels


def test_what_two_fatbins_define_is_an_error(capfd):
    # nvJitLink tells of it on the error stream of its process, and links.
    with pytest.raises(CompileError, match=r"counter is defined twice, in inputs\[0\] and inputs"):
        nvjitlink.link([library("fatbin"), library("fatbin"), unit(USER)], arch="sm_90a")
    assert capfd.readouterr().err == ""


def test_the_environment_does_not_reach_the_link(tmp_path: Path, monkeypatch):
    expected = nvjitlink.link([unit(LIBRARY), unit(USER)]).image
    for name in ("json", "ctypes", "sitecustomize"):
        (tmp_path / f"{name}.py").write_text("import os; os.abort()")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("PYTHONSTARTUP", str(tmp_path / "json.py"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(link_process.NvJitLinkLibrary, "run", None)
    linked = nvjitlink.link([library("relocatable"), unit(USER)], arch="sm_90a")
    assert [kernel.name for kernel in linked.kernels] == ["use"]
    assert len(linked.image) == len(expected)


def test_damaged_ltoir_is_said_to_be_damaged():
    # All but its header is: nvJitLink reads over damage in some places, and where they are depends
    # on the current folder, whose path NVRTC writes into it.
    whole = library("ltoir")
    image = whole[:64] + bytes(len(whole) - 64)
    with pytest.raises(CompileError, match=r"inputs\[0\] may be damaged"):
        nvjitlink.link([image, unit(USER, "ltoir")], arch="sm_90a")
