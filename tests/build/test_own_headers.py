"""This package's own headers: what is built from them is never given to those who have others."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
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
    ignored = shutil.ignore_patterns("__pycache__")
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
    script.write_text(
        f'#!/bin/sh\ncase " $* " in *" -c "*) {change};; esac\nexec /usr/bin/env -u CXX c++ "$@"\n'
    )
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


def test_a_cache_is_hit_by_the_same_environment_in_another_place(package, tmp_path):
    folder, header, source = package
    run(package, "moved=1")
    ((_, path, outcome),) = run(package, "moved")
    assert outcome == "built"
    moved = folder.rename(tmp_path / "elsewhere")
    elsewhere = moved, moved / header.relative_to(folder), source
    assert run(elsewhere, "moved") == [(1, path, "hit")]
