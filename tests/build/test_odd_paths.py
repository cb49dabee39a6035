"""Folders with odd names: the cache, its layers, TMPDIR, sources, headers and copies."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from stub.cuda_array import cuda_array

import tvmffi_cubin as tc

ALL = "a b'\"ü$HOME:%s{#}~;&=@,*?[x]"

SOURCE = """
#include "odd.h"
extern "C" __global__ void k(float* x, int n) { x[0] = ODD * n; }
"""


@pytest.fixture
def odd(tmp_path, monkeypatch) -> Path:
    """Return a folder with an odd name, in which the cache and temporary files are."""
    folder = tmp_path / "-x" / ALL
    for name in ("tmp", "include"):
        (folder / name).mkdir(parents=True)
    (folder / "include" / "odd.h").write_text("#define ODD 3\n")
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(folder / "cache"))
    monkeypatch.setenv("TMPDIR", str(folder / "tmp"))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.chdir(folder)
    return folder


def loaded(folder: Path, **options) -> tc.Module:
    options |= {"arch": "sm_90", "extra_include_paths": [folder / "include"]}
    return tc.load_inline("odd", SOURCE, functions={"k": tc.Launch(grid="n", block=1)}, **options)


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


def test_a_wrapper_is_compiled_from_files_with_such_names(odd):
    (odd / f"{ALL}.cc").write_text(WRAPPER)
    (odd / "part.c").write_text("int part(void) { return 1; }\n")
    options = {
        "sources": [odd / f"{ALL}.cc", odd / "part.c"],
        "extra_cflags": [f"-I{odd}/include", f"-DTEXT={ALL!r}"],
        "functions": "answer",
        "use_pch": False,
    }
    assert tc.load("odd", **options).answer() == 42
    (odd / "include" / "odd.h").write_text("#define ODD 4\n")
    assert tc.load("odd", **options).answer() == 56
