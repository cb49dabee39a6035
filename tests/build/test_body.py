"""The launcher's body: compiled once, kept beside the package; what a compiler may say."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import pytest
from stub.cuda_array import cuda_array

import tvmffi_cubin
from tvmffi_cubin import Launch, package_folder
from tvmffi_cubin.cache.store import Cache
from tvmffi_cubin.errors import BuildError, ToolchainError
from tvmffi_cubin.functions import body
from tvmffi_cubin.host.toolchain import HostCompiler
from tvmffi_cubin.inline.tools import find_tools

BESIDE = Path(tvmffi_cubin.__file__).parent / "__pycache__" / "launcher"


@pytest.fixture
def tools():
    return find_tools(needs_cuda=True)


def test_it_lies_beside_the_package_whatever_the_cache_folder(tools, tmp_path):
    first = body.obtain(Cache(tmp_path / "one"), tools)
    assert body.obtain(Cache(tmp_path / "two"), tools) == first
    assert BESIDE in Path(first).parents
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("obstacle", ["rights", "room"])
def test_it_lies_in_the_cache_where_the_package_takes_no_files(
    obstacle, tools, tmp_path, monkeypatch, caplog
):
    def fail(*_) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(package_folder, "path_beside", lambda name: tmp_path / "package" / name)
    if obstacle == "rights":
        monkeypatch.setattr(package_folder, "is_writable", lambda path: False)
    else:
        monkeypatch.setattr(package_folder, "check_room", fail)
    made = body.obtain(Cache(tmp_path / "cache"), tools)
    assert tmp_path / "cache" in Path(made).parents
    assert body.obtain(Cache(tmp_path / "cache"), tools) == made
    assert not caplog.records


def test_a_compiler_that_fails_is_quoted(tools, tmp_path, monkeypatch):
    monkeypatch.setattr(body, "cache_beside", lambda name, cache, tools: cache)
    compiler = tmp_path / "compiler"
    compiler.write_text('#!/bin/sh\necho "launcher.cc:3:10: error: no such thing"\nexit 1\n')
    compiler.chmod(0o755)
    with pytest.raises(BuildError, match=r"C\+\+17 compiler .exit status 1.:\nlauncher.cc:3:10: e"):
        body.obtain(Cache(tmp_path / "cache"), tools._replace(compiler=HostCompiler(compiler)))


@pytest.fixture
def no_compiler(tools, tmp_path, monkeypatch):
    """A machine with as and ld alone, and a package that brings the object, as wheels do."""
    made = body.obtain(Cache(tmp_path / "cache"), tools)
    folder = tmp_path / "launcher"
    folder.mkdir()
    shutil.copy(made, folder / f"{os.uname().machine}.o")
    (folder / f"{os.uname().machine}.txt").write_text(body.headers_digest(tools.include))
    monkeypatch.setattr(body, "SHIPPED", folder)
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
    with pytest.raises(ToolchainError, match=r"no C\+\+ compiler: .* run: apt install g\+\+"):
        tvmffi_cubin.load_inline("host", cpp_sources="int f() { return 1; }", functions="f")
