"""Folders with odd names: the cache, its layers, TMPDIR, sources, headers and copies."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from stub.cuda_array import cuda_array

import tvmffi_cubin as tc

ALL = "a b'\"ü$HOME:%s{#}~;&|=@,*?[x]"
NAMES = {"dash": "-x", "all": ALL}

SOURCE = """
#include "odd.h"
extern "C" __global__ void k(float* x, int n) { x[0] = ODD * n; }
"""
LAUNCH = {"k": tc.Launch(grid="n", block=1)}


@pytest.fixture(params=NAMES)
def odd(request, tmp_path, monkeypatch) -> Path:
    """Return a folder with an odd name, in which the cache and temporary files are."""
    folder = tmp_path / NAMES[request.param] / NAMES[request.param]
    for name in ("tmp", "include"):
        (folder / name).mkdir(parents=True)
    (folder / "include" / "odd.h").write_text("#define ODD 3\n")
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(folder / "cache"))
    monkeypatch.setenv("TMPDIR", str(folder / "tmp"))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.chdir(folder)
    return folder


def loaded(folder: Path, **options) -> tc.Module:
    return tc.load_inline(
        "odd",
        SOURCE,
        functions=LAUNCH,
        arch="sm_90",
        extra_include_paths=[folder / "include"],
        **options,
    )


def test_a_module_is_built_found_and_launched(odd, driver_stub, monkeypatch):
    mod = loaded(odd, build_directory=odd / "out")
    mod.k(cuda_array(driver_stub, 4), 5)
    assert [launch.grid for launch in driver_stub.launches()] == [(5, 1, 1)]
    assert mod.path.startswith(str(odd / "cache"))
    assert (odd / "out" / "odd.so").read_bytes() == Path(mod.path).read_bytes()
    assert loaded(odd).path == mod.path
    (odd / "include" / "odd.h").write_text("#define ODD 4\n")
    changed = loaded(odd)
    assert changed.path != mod.path
    # What was a cache becomes a layer.
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_PATH", "none:cache")
    (odd / "file").write_text("")
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(odd / "file"))
    assert loaded(odd).path == changed.path
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE", "off")
    assert loaded(odd).path.startswith(str(odd / "tmp"))
    loaded(odd).k(cuda_array(driver_stub, 4), 6)
    assert driver_stub.launches()[-1].grid == (6, 1, 1)


WRAPPER = """
#include <tvm/ffi/function.h>
#include "odd.h"
int answer() { return ODD * 14; }
TVM_FFI_DLL_EXPORT_TYPED_FUNC(answer, answer);
"""


def test_a_wrapper_is_compiled_from_files_with_such_names(tmp_path, monkeypatch):
    worst = tmp_path / ALL
    (worst / "include").mkdir(parents=True)
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(worst / "cache"))
    (worst / "include" / "odd.h").write_text("#define ODD 3\n")
    (worst / f"{ALL}.cc").write_text(WRAPPER)
    (worst / "part.c").write_text("int part(void) { return 1; }\n")
    options = {
        "extra_include_paths": [worst / "include"],
        "extra_cflags": [f"-I{worst}/include", f"-DTEXT={ALL!r}"],
        "functions": "answer",
        "use_pch": False,
    }
    mod = tc.load("odd", sources=[worst / f"{ALL}.cc", worst / "part.c"], **options)
    assert mod.answer() == 42
    (worst / "include" / "odd.h").write_text("#define ODD 4\n")
    again = tc.load("odd", sources=[worst / f"{ALL}.cc", worst / "part.c"], **options)
    assert again.answer() == 56
    assert os.path.dirname(again.path) != os.path.dirname(mod.path)
