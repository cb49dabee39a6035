"""This package's own headers: what is built from them is never given to those who have others."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
import tvm_ffi
from processes import in_new_process

import tvmffi_cubin
from tvmffi_cubin.host import tools

CODE = """
import ctypes, sys
sys.path.insert(0, sys.argv.pop(1))
import tvmffi_cubin as tc
header, source, *steps = sys.argv[1:]
for step in steps:
    name, _, answer = step.partition("=")
    if answer:
        with open(header, "w") as file:
            file.write(f"#define ANSWER {answer}")
        continue
    path = tc.build(name, sources=source)
    print(ctypes.CDLL(path).answer(), path, tc.cache_info().events[-1].outcome)
"""
SOURCE = "#include <tvmffi_cubin/answer.h>\nint answer(void) { return ANSWER; }\n"


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A copy of this package whose files may be edited."""
    folder = tmp_path / "copy"
    # With the launcher's object, and without what comes and goes.
    ignored = shutil.ignore_patterns("*.pyc*", "*.tmp")
    shutil.copytree(Path(tvmffi_cubin.__file__).parent, folder / "tvmffi_cubin", ignore=ignored)
    inside = folder / "tvmffi_cubin" / "include"
    if not inside.exists():
        shutil.copytree(tools.include_dir(), folder / "include")
        inside = folder / "include"
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(tmp_path / "cache"))
    source = tmp_path / "answer.c"
    source.write_text(SOURCE)
    return folder, inside / "tvmffi_cubin" / "answer.h", source


def run(package, *steps: str) -> list[tuple[int, str, str]]:
    """Return answer, path and outcome of each module that a new process loads."""
    rows = in_new_process(CODE, *map(str, package), *steps).splitlines()
    return [(int(answer), path, what) for answer, path, what in map(str.split, rows)]


def test_what_was_built_while_a_header_changed_is_not_found_again(package, tmp_path, monkeypatch):
    _, header, _ = package
    script = tmp_path / "cc"
    change = f"[ -e {tmp_path}/done ] || cp {tmp_path}/next.h {header}; touch {tmp_path}/done"
    script.write_text(f'#!/bin/sh\ncase " $* " in *" -c "*) {change};; esac\nexec c++ "$@"\n')
    script.chmod(0o755)
    (tmp_path / "next.h").write_text("#define ANSWER 2")
    run(package, "two=1")
    monkeypatch.setenv("CXX", str(script))
    (built,) = run(package, "two")
    assert built[::2] == (2, "built")
    run(package, "two=1")
    (again,) = run(package, "two")
    assert again[::2] == (1, "built")
    assert again[1] != built[1]


MOVED = """
import sys
sys.path.insert(0, sys.argv[1])
import tvmffi_cubin as tc
from tvmffi_cubin.host import precompiled

HALF = "#include <cuda_fp16.h>\\n__global__ void k(__half* x) { x[0] = __half(%s); }\\n"
WRAPPER = "void f(tvm::ffi::TensorView x) { k<<<1, 1>>>((__half*)x.data_ptr()); }\\n"
for name, host, functions in (("kernel", "", None), ("wrapper", WRAPPER, "f")):
    source = HALF % sys.argv[2] + host
    path = tc.build_inline(name, source, functions=functions, arch="sm_90")
    print(path, tc.cache_info().events[-1].outcome)
precompiled.settle()
"""


def test_a_cache_is_hit_by_the_same_environment_in_another_place(package, tmp_path):
    folder = package[0]

    def place(source: str, target: str) -> None:
        # A hard link would be a change of the file to the builds of tests beside this one.
        (shutil.copy2 if os.path.getsize(source) < 1 << 20 else os.symlink)(source, target)

    for module in (tvm_ffi, pytest.importorskip("nvidia")):
        found = Path(next(iter(module.__path__)))
        shutil.copytree(found, folder / found.name, copy_function=place)

    def build(folder: Path, value: str) -> list[list[str]]:
        return [x.split() for x in in_new_process(MOVED, str(folder), value).splitlines()]

    built = build(folder, "1")
    assert [what for _, what in built] == ["built", "built"]
    moved = folder.rename(tmp_path / "elsewhere")
    assert build(moved, "1") == [[path, "hit"] for path, _ in built]
    # What their builds share is found by others, too; the macros of each side are its own.
    assert [what for _, what in build(moved, "2")] == ["built", "built"]
    kept = [x.name for x in tmp_path.glob("cache/entries/*/*/*")]
    shared = ("macros.h", "tvmffi_cubin.runtime.o", "tvmffi_cubin_precompiled.h.gch")
    assert [kept.count(name) for name in shared] == [2, 1, 1]
