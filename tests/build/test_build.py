"""Real builds of tiny units, and the launcher's body."""

import ctypes
import os
import shutil
import subprocess
from pathlib import Path

import pytest
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


def built(folder, code, *flags):
    unit = compilation("a.cc", (GXX, *FLAGS, *flags))
    steps = [unit, link("vec.so", [unit.made], command=(GXX,), flags=())]
    return build.run(steps, folder, {"a.cc": code})


def test_driver_symbols_and_images_stay_inside(tmp_path):
    inside = ["cuLaunchKernel", "cudaMalloc", "__tvm_ffi__cubin_k", "__tvmffi_cubin_k"]
    names = [*inside, "__tvm_ffi_saxpy", "custom"]
    so = built(tmp_path, "".join(f"{EXPORT}int {name}() {{ return 1; }}\n" for name in names))
    symbols = {line.split()[-1] for line in run("nm", "-D", "--defined-only", so).splitlines()}
    assert symbols == {"__tvm_ffi_saxpy", "custom"}


def test_any_flag_reaches_the_compiler_unchanged(tmp_path):
    text = "a b'$c $$ :|%&;# \u00e4"
    code = f"{EXPORT}const char* text() {{ return TEXT; }}"
    library = ctypes.CDLL(os.fspath(built(tmp_path, code, f'-DTEXT="{text}"')))
    library.text.restype = ctypes.c_char_p
    assert library.text().decode() == text


def test_a_linker_that_does_not_wait_for_the_assembler_is_asked_again(tmp_path):
    script = 'case "$*" in *stdin*) exit 1; esac; exec ld "$@"'
    unit = assembly("a.s")
    last = bare_link("a.so", [unit.made])._replace(command=("sh", "-c", script, "ld", "-shared"))
    with build.Assembling([unit, last], tmp_path) as assembling:
        assembling.assemble({"a.s": ".globl answer\nanswer: .quad 42\n"})
        assembling.finish()
    assert ctypes.c_int64.in_dll(ctypes.CDLL(os.fspath(tmp_path / "a.so")), "answer").value == 42


def test_a_failed_build_says_why_and_is_repeated_by_hand_as_its_error_says(tmp_path):
    with pytest.raises(BuildError) as caught:
        built(tmp_path, "int f() { return unknown_thing; }")
    error = caught.value
    assert "unknown_thing" in error.output
    assert "a.cc:1" in str(error)
    assert error.command.split()[0] == GXX
    assert error.directory == str(tmp_path)
    command = str(error).splitlines()[-1].removeprefix("to rerun: ")
    again = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert again.returncode != 0
    assert "unknown_thing" in again.stdout


@pytest.fixture
def tools():
    return find_tools(needs_cuda=True)


def test_the_launcher_is_made_once_an_installation_and_anew_where_it_is_damaged(
    tools, tmp_path, monkeypatch
):
    script = tmp_path / "compiler"
    script.write_text("#!/bin/sh\necho whole > launcher.o\n")
    script.chmod(0o755)
    tools = tools._replace(compiler=HostCompiler((str(script),)))
    monkeypatch.setattr(launcher, "SHIPPED", (tmp_path / "package",))
    launcher.obtain(Cache(tmp_path / "one"), tools)
    path = Path(launcher.obtain(Cache(tmp_path / "two"), tools))
    assert tmp_path / "package" in path.parents
    assert not (tmp_path / "two").exists()
    times = path.stat()
    path.write_text("wh\0le\n")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    launcher.obtain(Cache(tmp_path / "one"), tools)
    assert path.read_text() == "whole\n"


def test_without_a_compiler_kernels_are_built_with_the_object_that_wheels_bring(
    tools, tmp_path, monkeypatch, driver_stub
):
    made = Path(launcher.obtain(Cache(tmp_path / "cache"), tools))
    copy = tmp_path / f"{os.uname().machine}.o"
    copy.with_suffix(".txt").write_text(launcher.headers_digest(tools.include, made))
    shutil.copy(made, copy)
    monkeypatch.setattr(launcher, "SHIPPED", (tmp_path,))
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("as", "ld", "sh"):
        (programs / name).symlink_to(shutil.which(name))
    monkeypatch.setenv("PATH", os.fspath(programs))
    monkeypatch.delenv("CXX", raising=False)
    source = 'extern "C" __global__ void k(float* x, int n) { x[0] = n; }'
    launch = Launch(grid="ceil_div(n, 32)", block=32)
    mod = tvmffi_cubin.load_inline("plain", source, functions={"k": launch}, arch="sm_90")
    mod.k(cuda_array(driver_stub, 4), 100)
    assert driver_stub.launches()[-1].grid == (4, 1, 1)
    with pytest.raises(ToolchainError, match=r"no C\+\+ compiler is on PATH; run: .* g\+\+"):
        tvmffi_cubin.load_inline("host", cpp_sources="int f() { return 1; }", functions="f")
