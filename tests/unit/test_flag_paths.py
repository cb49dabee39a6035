"""Relative paths in a caller's flags are those of the current folder."""

from __future__ import annotations

import pytest

from tvmffi_cubin.flag_paths import absolute


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch) -> str:
    monkeypatch.chdir(tmp_path)
    for name in ("first.h", "part.o", "macro"):
        (tmp_path / name).touch()
    return str(tmp_path)


@pytest.mark.parametrize("option", ["-I", "-iquote", "-isystem", "-idirafter", "-L"])
def test_folders_are_of_here_in_either_spelling(option, here):
    assert absolute([f"{option}inner"]) == (f"{option}{here}/inner",)
    assert absolute([f"{option} inner"]) == (f"{option}{here}/inner",)
    assert absolute([option, "../inner", "-w"]) == (
        option,
        f"{here.rpartition('/')[0]}/inner",
        "-w",
    )
    assert absolute([f"{option}/there"]) == (f"{option}/there",)


def test_files_that_exist_are_of_here(here):
    assert absolute(["-include", "first.h", "-imacrosfirst.h"]) == (
        "-include",
        f"{here}/first.h",
        f"-imacros{here}/first.h",
    )
    assert absolute(["part.o", "./part.o"]) == (f"{here}/part.o", f"{here}/part.o")
    assert absolute(["-include", "vector", "other.o"]) == ("-include", "vector", "other.o")


def test_what_is_no_path_stays(here):
    flags = ("-D", "macro", "-DI=1", "-O2", "-isystem", "=/inner", "-I$SYSROOT/x", "-lm", "-L")
    assert absolute(flags) == flags
