"""The launcher's body: compiled once, kept beside the package; what a compiler may say."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from stub.cuda_array import cuda_array

import tvmffi_cubin
from tvmffi_cubin import Launch
from tvmffi_cubin.cache.store import Cache
from tvmffi_cubin.errors import BuildError, ToolchainError
from tvmffi_cubin.host import launcher
from tvmffi_cubin.host.tools import HostCompiler
from tvmffi_cubin.inline.tools import find_tools


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
    monkeypatch.setattr(launcher, "_shipped", {})
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
