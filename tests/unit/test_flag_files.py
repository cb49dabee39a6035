"""The files that flags name: a build reads them, and no compiler lists them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tvmffi_cubin.host.flag_files import find


@pytest.fixture
def here(tmp_path) -> str:
    for name in ("part.o", "v.map", "lib/libpart.a", "lib/part.ld", "lib/odd.name", "bin/ld"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
    (tmp_path / "early").mkdir()
    return str(tmp_path)


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
        (["-Wl,{}/part.o"], "part.o"),
        (["-Wl,--gc-sections,{}/part.o"], "part.o"),
        (["-O2", "-Xlinker", "{}/part.o"], "part.o"),
        (["-Wl,--version-script={}/v.map"], "v.map"),
        (["-Wl,--version-script,{}/v.map"], "v.map"),
        (["-Wl,--dynamic-list={}/v.map,-s"], "v.map"),
        (["-T", "{}/v.map"], "v.map"),
        (["-T{}/v.map"], "v.map"),
        (["-Wl,-T{}/v.map"], "v.map"),
        (["@{}/v.map"], "v.map"),
        (["-L{}/lib", "-Wl,-T,part.ld"], "lib/part.ld"),
        (["-specs={}/v.map"], "v.map"),
        (["-specs", "{}/v.map"], "v.map"),
        (["-B{}/bin"], "bin/ld"),
        (["-B", "{}/bin/"], "bin/ld"),
        (["-fuse-ld={}/bin/ld"], "bin/ld"),
        (["--ld-path={}/bin/ld"], "bin/ld"),
    ],
    ids=str,
)
def test_objects_scripts_and_files_of_flags_are_found(flags, file, here):
    assert found(flags, here) == ({file}, set())


@pytest.mark.parametrize(
    "flags",
    [
        ["-o", "{}/part.o"],
        ["-Wl,-Map={}/v.map", "-Wl,-Map,{}/part.o"],
        ["-Wl,-soname", "-Wl,{}/part.o"],
        ["-D", "{}/part.o", "-DPART={}/part.o"],
        ["-Wl,-rpath,{}/lib", "-I{}/lib", "{}/other.o"],
    ],
    ids=str,
)
def test_what_is_written_or_only_named_is_not(flags, here):
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


def test_further_folders_come_after_those_of_the_flags(here):
    assert found(["-lpart"], here, folders=[f"{here}/lib", "", "relative"]) == (
        {"lib/libpart.a"},
        {"lib/libpart.so"},
    )


def test_a_link_to_nothing_is_awaited(here):
    link = Path(here, "early", "libpart.so")
    link.symlink_to(Path(here, "later.so"))
    assert "early/libpart.so" in found(["-L{}/early", "-lpart"], here)[1]


@pytest.mark.parametrize(
    "script",
    [
        "/* GNU ld script */\nINPUT({}/part.o -lpart)",
        'GROUP ( "{}/part.o", AS_NEEDED ( libpart.a /lib/libc.so.6 ) )',
        "OUTPUT_FORMAT(elf64)\nINPUT(-lwhole)\nGROUP({}/part.o libpart.a)",
        "STARTUP({}/part.o) INPUT(-lpart)",
    ],
)
def test_what_a_script_in_place_of_a_library_names_is_found(script, here):
    path = Path(here, "lib", "libwhole.so")
    path.write_text(script.replace("{}", here))
    files, _ = found(["-L{}/lib", "-lwhole"], here)
    assert files == {"lib/libwhole.so", "part.o", "lib/libpart.a"}


def test_a_script_may_include_another(here):
    Path(here, "lib", "libwhole.so").write_text(f'INCLUDE inner.ld\nINCLUDE "{here}/v.map";')
    Path(here, "lib", "inner.ld").write_text("INPUT(-lpart)")
    files, _ = found(["-L{}/lib", "-lwhole"], here)
    assert files == {"lib/libwhole.so", "lib/inner.ld", "v.map", "lib/libpart.a"}


def test_what_a_script_names_is_awaited_in_earlier_folders(here):
    Path(here, "lib", "libwhole.so").write_text("INPUT(libpart.a)")
    assert found(["-L{}/early", "-L{}/lib", "-l:libwhole.so"], here) == (
        {"lib/libwhole.so", "lib/libpart.a"},
        {"early/libwhole.so", "early/libpart.a"},
    )


def test_the_members_of_a_thin_archive_are_found(here):
    members = ["part.o", "lib/a_name_that_is_too_long_for_a_head.o", "lib/b.o"]
    for name in members:
        Path(here, name).write_bytes(b"\0" * 3)
    command = ["ar", "rcDT", "libthin.a", *members]
    subprocess.run(command, check=True, cwd=here)
    assert found(["{}/libthin.a"], here) == ({"libthin.a", *members}, set())


def test_the_members_of_a_thin_archive_with_many_symbols_are_found(here):
    names = b"part.o/\n"
    parts = [(b"/", bytes(3 << 20)), (b"//", names), (b"/0", b"")]
    heads = [(b"%-48s%-10d`\n" % (name, len(data)), data) for name, data in parts]
    Path(here, "libthin.a").write_bytes(b"!<thin>\n" + b"".join(x for head in heads for x in head))
    assert found(["{}/libthin.a"], here) == ({"libthin.a", "part.o"}, set())


def test_an_archive_in_a_thin_archive_is_found(here):
    for command in (["rcD", "libwhole.a", "part.o"], ["rcDT", "libthin.a", "libwhole.a"]):
        subprocess.run(["ar", *command], check=True, cwd=here)
    assert found(["{}/libthin.a"], here) == ({"libthin.a", "libwhole.a"}, set())


@pytest.mark.parametrize(
    "content", [b"!<thin>\n", b"!<thin>\n//" + b" " * 58 + b"x", b"\xffINPUT(x"]
)
def test_a_damaged_archive_or_script_names_nothing(content, here):
    Path(here, "lib", "libodd.a").write_bytes(content)
    assert found(["{}/lib/libodd.a"], here) == ({"lib/libodd.a"}, set())


def test_files_of_flags_are_read(here):
    inner = Path(here, "inner.rsp")
    inner.write_text(f"@{here}/inner.rsp -Wl,--version-script={here}/v.map")
    outer = Path(here, "outer.rsp")
    outer.write_text(f"'-L{here}/lib'\n-l\npart @{here}/inner.rsp @{here}/gone.rsp")
    assert found(["@{}/outer.rsp"], here) == (
        {"outer.rsp", "inner.rsp", "v.map", "lib/libpart.a"},
        {"lib/libpart.so"},
    )


def test_a_file_of_flags_that_is_none_is_left_to_the_compiler(here):
    Path(here, "v.map").write_bytes(b"\xff'")
    assert found(["@{}/v.map"], here) == ({"v.map"}, set())
