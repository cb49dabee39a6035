"""Relative paths in a caller's flags are those of the current folder; what is no path stays."""

from __future__ import annotations

import pytest

from tvmffi_cubin.host.flag_paths import absolute


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch) -> str:
    monkeypatch.chdir(tmp_path)
    for name in ("first.h", "part.o", "part.so.1", "macro", "part.map", "flags.rsp", "-x.o"):
        (tmp_path / name).touch()
    return str(tmp_path)


@pytest.mark.parametrize(
    "option", ["-I", "-iquote", "-isystem", "-isysroot", "-idirafter", "-L", "-Wl,-L"]
)
def test_folders_are_of_here_in_either_spelling(option, here):
    assert absolute([f"{option}inner"]) == (f"{option}{here}/inner",)
    assert absolute([f"{option}/there"]) == (f"{option}/there",)
    if option == "-Wl,-L":
        assert absolute([f"{option},inner,-s"]) == (f"{option},{here}/inner,-s",)
        return
    assert absolute([f"{option} inner"]) == (f"{option}{here}/inner",)
    assert absolute([option, "../inner", "-w"]) == (
        option,
        f"{here.rpartition('/')[0]}/inner",
        "-w",
    )


def test_a_system_root_is_of_here(here):
    assert absolute(["--sysroot=root", "--sysroot", "root"]) == (
        f"--sysroot={here}/root",
        "--sysroot",
        f"{here}/root",
    )


def test_files_that_exist_are_of_here(here):
    assert absolute(["-include", "first.h", "-imacrosfirst.h"]) == (
        "-include",
        f"{here}/first.h",
        f"-imacros{here}/first.h",
    )
    assert absolute(["part.o", "./part.o"]) == (f"{here}/part.o", f"{here}/part.o")
    assert absolute(["part.so.1"]) == (f"{here}/part.so.1",)
    assert absolute(["-include", "vector", "other.o"]) == ("-include", "vector", "other.o")


@pytest.mark.parametrize(
    "flags",
    [
        ["-Wl,--version-script={}/part.map"],
        ["-Wl,--version-script,{}/part.map"],
        ["-Wl,-s", "-Wl,--dynamic-list={}/part.map,-s"],
        ["-Wl,-T,{}/part.map"],
        ["-T", "{}/part.map"],
        ["-Xlinker", "-T", "-Xlinker", "{}/part.map"],
        ["-Xlinker", "--version-script={}/part.map"],
        ["@{}/flags.rsp"],
        ["-Wl,{}/part.o"],
        ["-Wl,--whole-archive,{}/part.o,--no-whole-archive"],
        ["-Wl,-O3,{}/part.o", "-Wl,--eh-frame-hdr,{}/part.o"],
        ["-Wl,--gc-sections", "-Wl,{}/part.o", "-Wl,--hash-style=gnu,{}/part.o"],
    ],
    ids=" ".join,
)
def test_scripts_and_objects_for_the_linker_are_of_here(flags, here):
    complete = tuple(flag.format(here) for flag in flags)
    assert absolute(flag.format(".") for flag in flags) == complete
    assert absolute(flag.replace("{}/", "") for flag in flags) == complete
    assert absolute(complete) == complete


@pytest.mark.parametrize(
    "flags",
    [
        ("-D", "macro", "-DI=1", "-O2", "-isystem", "=/inner", "-I$SYSROOT/x", "-lm", "-L"),
        ("-Xclang", "-isystem", "-Xclang", "/abs/inc"),
        ("-Xclang", "-I", "-Xclang", "inner"),
        ("-isystem-after", "/abs/inc"),
        ("-isystem-after", "inner"),
        ("-include-pch", "first.h"),
        ("-I-",),
        ("-I", "-O3"),
        ("-L=lib", "--sysroot=$HOME", "-iquote", "$x"),
        ("-include", "-x.o"),
        ("-D", "part.o"),
        ("-o", "part.o"),
        ("-u", "part.o"),
        ("-Wl,-soname,part.so.1", "-Wl,-soname=part.so.1"),
        ("-Wl,-soname", "-Wl,part.so.1"),
        ("-Xlinker", "-soname", "-Xlinker", "part.so.1"),
        ("-Wl,-Map=part.map", "-Wl,-Map,part.o"),
        ("-Wl,-rpath,lib", "-Wl,--defsym=a=part.o"),
        ("-Wl,--version-script=other.map", "-T", "other.map", "@other.rsp"),
        ("-l:part.o", "-l", "part.o"),
    ],
    ids=" ".join,
)
def test_what_may_be_no_path_stays(flags):
    assert absolute(flags) == flags


def test_a_path_with_a_comma_stays_out_of_a_list_for_the_linker(tmp_path, monkeypatch):
    folder = tmp_path / "a,b"
    folder.mkdir()
    (folder / "part.o").touch()
    monkeypatch.chdir(folder)
    assert absolute(["-Wl,part.o", "part.o"]) == ("-Wl,part.o", f"{folder}/part.o")
