"""Modules that one machine builds and another takes: no compiler runs there."""

import subprocess
from pathlib import Path

import pytest
from stub.cuda_array import cuda_array

import tvmffi_cubin as tc
from tvmffi_cubin.cache import remote
from tvmffi_cubin.inline import assemble

PREFIX = "TVMFFI_CUBIN_CACHE_REMOTE"
HEADER = "#define FACTOR 3\n"
SOURCE = """
#include <cuda_fp16.h>
#include "factor.h"
extern "C" __global__ void k(float* x, int n) { x[0] = FACTOR * n; }
"""

pytest.importorskip("fsspec", reason="the remote cache needs the extra 'remote'")


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Become another machine, or a new process of one that was there before."""
    monkeypatch.setenv(PREFIX, str(tmp_path / "remote"))
    (tmp_path / "key").write_text("a secret of 16+ bytes")
    (tmp_path / "key").chmod(0o600)
    monkeypatch.setenv(f"{PREFIX}_KEY_FILE", str(tmp_path / "key"))
    monkeypatch.setenv(f"{PREFIX}_BUDGET", "60")

    def become(name):
        finish_uploads()
        remote._known.clear()
        monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(tmp_path / name))

    yield become
    finish_uploads()


def finish_uploads():
    for each in remote._known.values():
        assert each.finish(60)


def refuse(*args, **kwargs):
    raise AssertionError("something is built")


def test_a_module_is_taken_and_called(machine, tmp_path, monkeypatch, driver_stub):
    (tmp_path / "factor.h").write_text(HEADER)
    options = {
        "functions": {"k": tc.Launch(grid="x.numel", block=1)},
        "arch": "sm_90",
        "extra_include_paths": [tmp_path],
    }
    machine("first")
    built = tc.build_inline("shared", SOURCE, **options)
    machine("second")
    monkeypatch.setattr(assemble, "make", refuse)
    monkeypatch.setattr(subprocess, "Popen", refuse)
    mod = tc.load_inline("shared", SOURCE, **options)
    assert Path(mod.path).read_bytes() == Path(built).read_bytes()
    assert mod.path != built
    mod.k(cuda_array(driver_stub, 3), 1)
    assert driver_stub.launches()[0].grid == (3, 1, 1)


def test_a_lazy_modules_images_are_taken(machine, driver_stub):
    def generate():
        calls.append(1)
        return tc.nvrtc.compile('extern "C" __global__ void k(float* x) {}', arch="sm_90")

    calls = []
    functions = {"k": tc.Launch(grid=1, block=1, params="float* x")}
    for name in ("first", "second"):
        machine(name)
        mod = tc.lazy("lazy", generate=generate, key="shared", functions=functions)
        mod.k(cuda_array(driver_stub, 3))
    assert len(calls) == 1
