"""Real builds of tiny units, and the launcher's body."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from processes import run
from stub.cuda_array import cuda_array

import tvmffi_cubin
from tvmffi_cubin import Launch
from tvmffi_cubin.cache.store import Cache
from tvmffi_cubin.errors import BuildError, ToolchainError
from tvmffi_cubin.host import build, launcher
from tvmffi_cubin.host.steps import assembly, bare_link, compilation, link
from tvmffi_cubin.host.tools import HostCompiler
from tvmffi_cubin.inline.tools import find_tools

GXX = shutil.which("c++") or shutil.which("g++")
LD = shutil.which("ld")

FLAGS = ("-O0", "-fPIC", "-fvisibility=hidden")
EXPORT = 'extern "C" __attribute__((visibility("default"))) '

pytestmark = pytest.mark.skipif(GXX is None or LD is None, reason="needs a C++ compiler and ld")


def steps(*units, is_bare=None):
    units = units or (compilation("a.cc", (GXX, *FLAGS)),)
    made = [unit.made for unit in units]
    if is_bare is None:
        return [*units, bare_link("vec.so", made, LD)]
    return [*units, link("vec.so", made, command=(GXX,), flags=(), is_bare=is_bare)]


def answer(so, function="answer"):
    return getattr(ctypes.CDLL(os.fspath(so)), function)()


def symbols(so):
    return {line.split()[-1] for line in run("nm", "-D", "--defined-only", so).splitlines()}


IMAGE_UNIT = """
.section .rodata
.global image
.hidden image
.balign 16
image: .incbin "{image}"
.section .note.GNU-stack,"",@progbits
"""


# What comes out


@pytest.mark.parametrize("is_bare", [False, True, None])
def test_code_and_an_image_become_one_shared_object(tmp_path, is_bare):
    units = (compilation("a.cc", (GXX, *FLAGS)), assembly("image.s", "as"))
    files = {
        "a.cc": f'extern "C" char image[]; {EXPORT}int answer() {{ return image[1]; }}',
        "image.s": IMAGE_UNIT.format(image="image.bin"),
        "image.bin": b"\x01\x2a",
    }
    so = build.run(steps(*units, is_bare=is_bare), tmp_path, files)
    assert so == tmp_path / "vec.so"
    assert answer(so) == 42
    assert "NOW" in run("readelf", "-dW", so)
    assert symbols(so) == {"answer"}


def test_what_is_no_compiler_is_told(tmp_path):
    unit = compilation("a.cc", ("/bin/true",))
    with pytest.raises(BuildError, match=r"none made a\.cc\.o: set CXX to a compiler"):
        build.run([unit], tmp_path, {"a.cc": ""})


def test_driver_symbols_and_images_stay_inside(tmp_path):
    code = "".join(
        f"{EXPORT}int {name}() {{ return 1; }}\n"
        for name in (
            "cuLaunchKernel",
            "cudaMalloc",
            "__tvm_ffi__cubin_k",
            "__tvmffi_cubin_k",
            "__tvm_ffi_saxpy",
            "custom",
        )
    )
    so = build.run(steps(is_bare=False), tmp_path, {"a.cc": code})
    assert symbols(so) == {"__tvm_ffi_saxpy", "custom"}


# Names and flags


ECHO = "import os, sys; open(sys.argv[1], 'wb').write(os.fsencode('\\n'.join(sys.argv[2:])))"

words = st.text(
    st.characters(exclude_characters="\n\r\0", exclude_categories=["Cs"]), min_size=1, max_size=12
)


@settings(
    max_examples=10,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.lists(words, min_size=1, max_size=30))
def test_any_flag_reaches_the_command_unchanged(tmp_path, flags):
    seen = tmp_path / "seen"
    command = (sys.executable, "-S", "-E", "-c", ECHO, str(seen))
    unit = compilation("a.cc", (*command, *flags))
    # The stand-in for a compiler makes no object.
    with pytest.raises(BuildError):
        build.run([unit], tmp_path, {"a.cc": os.urandom(8)})
    wanted = [*flags, "-c", "-MD", "-MF", "a.cc.d", "-o", "a.cc.o", "a.cc"]
    assert seen.read_text().split("\n") == wanted


def test_a_linker_that_does_not_wait_for_the_assembler_is_asked_again(tmp_path):
    script = 'case "$*" in *stdin*) exit 1; esac; exec ld "$@"'
    unit = assembly("a.s", "as")
    last = bare_link("a.so", [unit.made], "")._replace(
        command=("sh", "-c", script, "ld", "-shared")
    )
    with build.Assembling([unit, last], tmp_path) as assembling:
        assembling.assemble({"a.s": ".globl answer\nanswer: .quad 42\n"})
        assembling.finish()
    assert ctypes.c_int64.in_dll(ctypes.CDLL(os.fspath(tmp_path / "a.so")), "answer").value == 42


# What goes wrong


def test_a_symbol_that_nothing_defines_is_named(tmp_path):
    code = f'extern "C" int missing_one(); {EXPORT}int answer() {{ return missing_one(); }}'
    with pytest.raises(BuildError, match=r"undefined reference to .missing_one"):
        build.run(steps(is_bare=False), tmp_path, {"a.cc": code})


def test_an_assembler_that_complains_of_every_line_is_heard_and_shortened(tmp_path):
    unit = assembly("a.s", "as")._replace(command=("sh", "-c", "cat >&2; exit 1"))
    text = "complaint\n" * 100_000
    made = [unit, bare_link("a.so", [unit.made], LD)]
    with build.Assembling(made, tmp_path) as assembling:
        assembling.assemble({"a.s": text})
        with pytest.raises(BuildError) as caught:
            assembling.finish()
    assert caught.value.output.startswith(text)
    assert "characters left out" in str(caught.value)
    assert len(str(caught.value)) < 20_000


# Surroundings


def test_a_failed_build_says_why_and_is_repeated_by_hand_as_its_error_says(tmp_path):
    with pytest.raises(BuildError) as caught:
        build.run(steps(is_bare=False), tmp_path, {"a.cc": "int f() { return unknown_thing; }"})
    error = caught.value
    assert "unknown_thing" in error.output
    assert "a.cc:1" in str(error)
    assert error.command.split()[0] == GXX
    assert re.search(f"(?s)unknown_thing.*{re.escape(error.command)}", str(error))
    assert error.directory == str(tmp_path)
    command = str(error).splitlines()[-1].removeprefix("again, by hand: ")
    again = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert again.returncode != 0
    assert "unknown_thing" in again.stdout


# The launcher's body: compiled once, kept beside the package; what a compiler may say


@pytest.fixture
def tools():
    return find_tools(needs_cuda=True)


def compiler(tools, folder: Path, script: str):
    """The tools with a shell script as the compiler."""
    path = folder / "compiler"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return tools._replace(compiler=HostCompiler(path))


def test_it_is_made_once_an_installation_whatever_the_cache_folder(tools, tmp_path, monkeypatch):
    tools = compiler(tools, tmp_path, "echo > launcher.o")
    monkeypatch.setattr(launcher, "SHIPPED", (tmp_path / "package",))
    launcher.obtain(Cache(tmp_path / "one"), tools)
    path = launcher.obtain(Cache(tmp_path / "two"), tools)
    assert tmp_path / "package" in Path(path).parents
    assert not (tmp_path / "two").exists()


def test_a_damaged_copy_beside_the_package_is_made_anew(tools, tmp_path, monkeypatch):
    tools = compiler(tools, tmp_path, "echo whole > launcher.o")
    monkeypatch.setattr(launcher, "SHIPPED", (tmp_path / "package",))
    launcher.obtain(Cache(tmp_path / "one"), tools)
    (copy,) = (tmp_path / "package").glob("*.o")
    times = copy.stat()
    copy.write_text("wh\0le\n")
    os.utime(copy, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert Path(launcher.obtain(Cache(tmp_path / "one"), tools)).read_text() == "whole\n"
    assert copy.read_text() == "whole\n"


def test_a_compiler_that_fails_is_quoted(tools, tmp_path, monkeypatch):
    monkeypatch.setattr(launcher, "SHIPPED", (tmp_path,))
    tools = compiler(tools, tmp_path, 'echo "launcher.cc:3:10: error: no such thing"\nexit 1')
    with pytest.raises(BuildError, match=r"C\+\+17 compiler .exit status 1.:\nlauncher.cc:3:10: e"):
        launcher.obtain(Cache(tmp_path / "cache"), tools)


@pytest.fixture
def no_compiler(tools, tmp_path, monkeypatch):
    """A machine with as and ld alone, and a package that brings the object, as wheels do."""
    made = launcher.obtain(Cache(tmp_path / "cache"), tools)
    folder = tmp_path / "launcher"
    folder.mkdir()
    copy = Path(shutil.copy(made, folder / f"{os.uname().machine}.o"))
    copy.with_suffix(".txt").write_text(launcher.headers_digest(tools.include, copy))
    monkeypatch.setattr(launcher, "SHIPPED", (folder,))
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("as", "ld", "sh"):
        (programs / name).symlink_to(shutil.which(name))
    monkeypatch.setenv("PATH", os.fspath(programs))
    monkeypatch.delenv("CXX", raising=False)


@pytest.mark.usefixtures("no_compiler")
def test_without_a_compiler_kernels_are_built_with_the_object_that_wheels_bring(driver_stub):
    source = 'extern "C" __global__ void k(float* x, int n) { x[0] = n; }'
    launch = Launch(grid="ceil_div(n, 32)", block=32)
    mod = tvmffi_cubin.load_inline("plain", source, functions={"k": launch}, arch="sm_90")
    mod.k(cuda_array(driver_stub, 4), 100)
    assert driver_stub.launches()[-1].grid == (4, 1, 1)
    with pytest.raises(ToolchainError, match=r"no C\+\+ compiler; run: apt install g\+\+"):
        tvmffi_cubin.load_inline("host", cpp_sources="int f() { return 1; }", functions="f")
