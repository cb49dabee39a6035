"""Modules that one machine builds and another takes, which may have no tools at all."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from file_kit import write
from stub.cuda_array import cuda_array

import tvmffi_cubin as tc
from tvmffi_cubin.cache import files, remote
from tvmffi_cubin.cuda import libraries
from tvmffi_cubin.inline import build

SOURCE = '#include "size.h"\nextern "C" __global__ void k(float* x, int n) { x[0] = n + SIZE; }\n'
FUNCTIONS = {"k": tc.Launch(grid="x.numel", block=1)}


@pytest.fixture(scope="module")
def workplace(tmp_path_factory, _own_environment) -> Path:
    """A current folder with a header, and a cache folder in which the module was built."""
    place = tmp_path_factory.mktemp("less")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        patch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(place / "stock"))
        patch.delenv("CXX", raising=False)
        write("include/size.h", "#define SIZE 1\n")
        built()
    return place


@pytest.fixture
def folder(workplace, monkeypatch) -> Iterator[Path]:
    """The cache folder, one of the test's own, and the current folder as it was."""
    monkeypatch.chdir(workplace)
    monkeypatch.delenv("CXX", raising=False)
    for name in ("cache", "other"):
        shutil.rmtree(name, ignore_errors=True)
    write("include/size.h", "#define SIZE 1\n")
    folder = workplace / "cache"
    shutil.copytree("stock", folder)
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(folder))
    return folder


@pytest.fixture
def remove_tools(monkeypatch) -> Iterator[Callable[[], None]]:
    """Takes all tools away, and what is remembered of them."""

    def remove() -> None:
        def refuse(*args, **kwargs):
            raise AssertionError(f"a process is spawned: {args}")

        monkeypatch.setattr(subprocess, "Popen", refuse)
        monkeypatch.setenv("PATH", "")
        monkeypatch.setattr(sys, "path", [x for x in sys.path if not os.path.isdir(f"{x}/nvidia")])
        for name in ("cuda.nvrtc", "device.compile", "sources.facts", "host.build"):
            monkeypatch.setitem(sys.modules, f"tvmffi_cubin.{name}", None)
        files._answers.clear()
        libraries._find.cache_clear()

    yield remove
    files._answers.clear()
    libraries._find.cache_clear()


def built(source: str = SOURCE, **options) -> str:
    options = {"functions": FUNCTIONS, "extra_include_paths": ["include"], **options}
    return tc.build_inline("less", source, **{"arch": "sm_90"} | options)


@pytest.mark.parametrize("way", ["same", "copy", "layer"])
def test_a_module_is_loaded_and_called(way, folder, remove_tools, driver_stub, monkeypatch):
    path = built()
    content = Path(path).read_bytes()
    if way != "same":  # elsewhere, with new inodes and times
        other = folder.with_name("other")
        shutil.copytree(folder, other, copy_function=shutil.copyfile)
        shutil.rmtree(folder)
        monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(other if way == "copy" else folder))
        monkeypatch.setenv("TVMFFI_CUBIN_CACHE_PATH", str(other) if way == "layer" else "")
    remove_tools()
    assert Path(built()).read_bytes() == content
    options = {"functions": FUNCTIONS, "extra_include_paths": ["include"], "arch": "sm_90"}
    mod = tc.load_inline("less", SOURCE, **options)
    mod.k(cuda_array(driver_stub, 3), 1)
    assert driver_stub.launches()[-1].grid == (3, 1, 1)
    assert tc.cache_info().events[-1].outcome == ("layer" if way == "layer" else "hit")


def test_with_require_the_tools_of_this_machine_do_not_matter(folder, monkeypatch):
    path, compiler = built(), write("compiler", '#!/bin/sh\nexec c++ "$@"\n').resolve()
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE", "require")
    assert built() == path


def test_what_does_not_fit_is_refused_with_what_differs(folder, remove_tools, monkeypatch):
    built()
    remove_tools()
    for options, what in (
        ({"source": SOURCE + "// more"}, "cuda_sources differs after"),
        ({"arch": "sm_80"}, r'archs is \["sm_80"\], was \["sm_90"\]'),
    ):
        with pytest.raises(tc.ToolchainError, match=what) as caught:
            built(**options)
        assert "host_compiler" not in str(caught.value)
    write("include/size.h", "#define SIZE 2\n")
    with pytest.raises(tc.ToolchainError, match=r"no CUDA is installed.*size\.h changed"):
        built()
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(folder.with_name("other")))
    remedy = r"(?s)run: pip install 'tvmffi-cubin\[cu12\]'.*nothing was built under this name"
    with pytest.raises(tc.ToolchainError, match=remedy):
        built()


# By a remote cache


PREFIX = "TVMFFI_CUBIN_CACHE_REMOTE"


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Becomes another machine."""
    pytest.importorskip("fsspec", reason="the remote cache needs the extra 'remote'")
    monkeypatch.setenv(PREFIX, str(tmp_path / "remote"))
    (tmp_path / "key").write_text("a secret of 16+ bytes")
    monkeypatch.setenv(f"{PREFIX}_KEY_FILE", str(tmp_path / "key"))
    monkeypatch.setenv(f"{PREFIX}_BUDGET", "60")

    def finish_uploads():
        if made := remote.sharing():
            made.finish(60)

    def become(name):
        finish_uploads()
        remote._sharing.cache_clear()
        monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(tmp_path / name))

    yield become
    finish_uploads()


def test_a_module_is_taken_and_called(machine, tmp_path, monkeypatch, driver_stub):
    write(tmp_path / "size.h", "#define SIZE 3\n")
    options = {"functions": FUNCTIONS, "arch": "sm_90", "extra_include_paths": [tmp_path]}
    machine("first")
    path = tc.build_inline("shared", SOURCE, **options)
    machine("second")
    monkeypatch.setattr(build, "make", None)
    monkeypatch.setattr(subprocess, "Popen", None)
    mod = tc.load_inline("shared", SOURCE, **options)
    assert Path(mod.path).read_bytes() == Path(path).read_bytes()
    assert mod.path != path
    mod.k(cuda_array(driver_stub, 3), 1)
    assert driver_stub.launches()[0].grid == (3, 1, 1)
