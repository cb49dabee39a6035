"""Paths in a caller's flags: completed from the current folder, and the files that they name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tvmffi_cubin.host.flags import absolute, find


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
        *([f"{option}{{}}/inner"] for option in ("-I", "-iquote", "-isystem", "-L", "-Wl,-L")),
        *([option, "{}/inner", "-w"] for option in ("-I", "-isysroot", "-idirafter", "-L")),
        ["--sysroot={}/inner", "--sysroot", "{}/inner", "-Wl,-L,{}/inner,-s"],
        ["-include", "{}/first.h", "-imacros{}/first.h"],
        ["{}/part.o", "{}/part.so.1", "-Wl,{}/part.o", "@{}/flags.rsp"],
        ["-Wl,--version-script={}/v.map"],
        ["-Wl,--version-script,{}/v.map"],
        ["-Wl,-s", "-Wl,--dynamic-list={}/v.map,-s"],
        ["-T", "{}/v.map", "-Wl,-T,{}/v.map"],
        ["-Xlinker", "-T", "-Xlinker", "{}/v.map"],
        ["-Xlinker", "--version-script={}/v.map"],
        ["-Wl,--whole-archive,{}/part.o,--no-whole-archive", "-Wl,-O3,{}/part.o"],
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
        ("-include-pch", "first.h"),
        ("-I-", "-I", "-O3"),
        ("-L=lib", "--sysroot=$HOME", "-iquote", "$x"),
        ("-include", "-x.o", "-include", "vector", "other.o"),
        ("-u", "part.o", "-l:part.o", "-l", "part.o"),
        ("-Wl,-soname,part.so.1", "-Wl,-soname=part.so.1", "-Wl,-soname", "-Wl,part.so.1"),
        ("-Xlinker", "-soname", "-Xlinker", "part.so.1"),
        ("-Wl,-rpath,lib", "-Wl,--defsym=a=part.o"),
        ("-Wl,--version-script=other.map", "-T", "other.map", "@other.rsp"),
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


# Found


def found(flags, here, **options):
    """The existing and the absent files, without the folder that they are in."""
    made = find([flag.replace("{}", here) for flag in flags], **options)
    return tuple(
        {str(Path(x).relative_to(here)) for x in group} for group in (made.files, made.absent)
    )


@pytest.mark.parametrize(
    ("flags", "file"),
    [
        (["{}/part.o"], "part.o"),
        (["-Wl,--gc-sections,{}/part.o"], "part.o"),
        (["-O2", "-Xlinker", "{}/part.o"], "part.o"),
        (["-Wl,--version-script={}/v.map"], "v.map"),
        (["-Wl,--version-script,{}/v.map"], "v.map"),
        (["-T{}/v.map"], "v.map"),
        (["-specs={}/v.map"], "v.map"),
        (["-fplugin={}/part.so.1"], "part.so.1"),
    ],
    ids=str,
)
def test_files_are_found_whatever_option_names_them(flags, file, here):
    assert found(flags, here) == ({file}, set())


def test_what_is_written_or_only_named_is_not(here):
    flags = ["-o", "{}/part.o", "-Wl,-Map={}/v.map", "-Wl,-Map,{}/v.map", "-DPART={}/part.o"]
    flags += ["-Wl,-rpath,{}/lib", "-I{}/lib", "{}/other.o"]
    assert found(flags, here) == (set(), set())


@pytest.mark.parametrize(
    "flags",
    [
        ["-L{}/early", "-L{}/lib", "-lpart"],
        ["-lpart", "-L", "{}/early", "-L", "{}/lib"],
        ["-l", "part", "-Wl,-L{}/early,-L,{}/lib"],
        ["-Wl,--library-path={}/early", "-Wl,--library-path,{}/lib", "-Wl,--library=part"],
        ["-Xlinker", "-L{}/early", "-Xlinker", "-L", "-Xlinker", "{}/lib", "-Wl,-lpart"],
    ],
    ids=" ".join,
)
def test_a_library_is_found_and_what_may_come_before_it_is_awaited(flags, here):
    awaited = {"early/libpart.so", "early/libpart.a", "lib/libpart.so"}
    assert found(flags, here) == ({"lib/libpart.a"}, awaited)


def test_a_library_may_be_called_by_its_file(here):
    flags = ["-L{}/early", "-L{}/lib", "-l:odd.name"]
    assert found(flags, here) == ({"lib/odd.name"}, {"early/odd.name"})


def test_a_missing_folder_stands_for_all_in_it(here):
    assert found(["-L{}/gone/far", "-lpart", "-lm"], here) == (set(), {"gone/far"})


def test_further_folders_come_after_those_of_the_flags_and_the_system_s_are_not_watched(here):
    options = {"folders": ["", f"{here}/early"], "system_folders": lambda: [f"{here}/lib"]}
    awaited = {"early/libpart.so", "early/libpart.a"}
    assert found(["-lpart"], here, **options) == ({"lib/libpart.a"}, awaited)


def test_files_of_flags_are_read(here):
    inner = Path(here, "inner.rsp")
    inner.write_text(f"@{here}/inner.rsp -Wl,--version-script={here}/v.map")
    outer = Path(here, "outer.rsp")
    outer.write_text(f"'-L{here}/lib'\n-l\npart @{here}/inner.rsp @{here}/gone.rsp")
    assert found(["@{}/outer.rsp"], here) == (
        {"outer.rsp", "inner.rsp", "v.map", "lib/libpart.a"},
        {"lib/libpart.so"},
    )
