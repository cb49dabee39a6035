"""Paths in a caller's flags: completed from the current folder, and the files that they name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tvmffi_cubin.host.inputs import absolute, find_for


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch) -> str:
    monkeypatch.chdir(tmp_path)
    for name in ("first.h", "part.o", "part.so.1", "v.map", "flags.rsp", "-x.o", "lib/libpart.a"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
    (tmp_path / "lib" / "odd.name").touch()
    (tmp_path / "early").mkdir()
    return str(tmp_path)


# Completed


@pytest.mark.parametrize(
    "flags",
    [
        *([f"{option}{{}}/inner"] for option in ("-I", "-iquote", "-isystem", "-L")),
        *([option, "{}/inner", "-w"] for option in ("-I", "-idirafter", "-L")),
        ["-include", "{}/first.h", "-include{}/first.h"],
        ["{}/part.o", "{}/part.so.1", "-Wl,--whole-archive", "{}/lib/libpart.a"],
    ],
    ids=" ".join,
)
def test_relative_paths_are_of_here(flags, here):
    complete = tuple(flag.replace("{}", here) for flag in flags)
    assert absolute(flag.replace("{}/", "") for flag in flags) == complete
    assert absolute(complete) == complete


@pytest.mark.parametrize(
    "flags",
    [
        ("-D", "part.o", "-DI=v.map", "-O2", "-isystem", "=/inner", "-I$SYSROOT/x", "-lm", "-L"),
        ("-Xclang", "-isystem", "-Xclang", "/abs/inc", "-isystem-after", "inner"),
        ("-L=lib", "-iquote", "$x"),
        ("-include", "-x.o", "-include", "vector", "other.o"),
        ("-u", "part.o", "-l:part.o", "-l", "part.o"),
        ("-Wl,-soname,part.so.1", "-Wl,part.o", "@flags.rsp"),
    ],
    ids=" ".join,
)
def test_what_may_be_no_path_stays(flags):
    assert absolute(flags) == flags


# Found


@pytest.fixture
def found(here, monkeypatch):
    """The existing and the absent files, without the folder that they are in."""
    monkeypatch.delenv("LIBRARY_PATH", raising=False)

    def call(*flags):
        made = find_for([flag.replace("{}", here) for flag in flags])
        return tuple({str(Path(x).relative_to(here)) for x in group} for group in made[:2])

    return call


def test_what_is_written_or_only_named_is_not(found):
    flags = ["-o", "{}/part.o", "-Wl,-Map={}/v.map", "-Wl,-Map,{}/v.map"]
    assert found(*flags, "-Wl,-rpath,{}/lib", "-I{}/lib", "{}/other.o") == (set(), set())


def test_a_library_is_looked_for_as_the_linker_does(found, here, monkeypatch):
    flags = ["-L{}/early", "-L{}/lib", "-l:odd.name"]
    assert found(*flags) == ({"lib/odd.name"}, {"early/odd.name"})
    # A missing folder stands for all in it.
    assert found("-L{}/gone/far", "-lpart") == (set(), {"gone/far"})
    monkeypatch.setenv("LIBRARY_PATH", f":{here}/early:{here}/lib")
    assert found("-lpart") == (
        {"lib/libpart.a"},
        {"early/libpart.so", "early/libpart.a", "lib/libpart.so"},
    )
