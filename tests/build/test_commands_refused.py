"""The command line with arguments that cannot be: one line that says which, and what to do."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tvmffi_cubin.__main__ import main

SOURCE = 'extern "C" __global__ void k(int* x) { x[0] = 1; }\n'


@pytest.fixture(autouse=True)
def _files(here: Path) -> None:
    Path("k.cu").write_text(SOURCE)
    Path("latin.cu").write_bytes(b"// caf\xe9\n" + SOURCE.encode())
    Path("nul.cu").write_text("\n\0")
    Path("empty.cu").write_text("\n")
    Path("mark.cu").write_bytes(b"\xef\xbb\xbf")
    Path("mixed.cu").write_text("__global__ void m() {}\nvoid f() { m<<<1, 1>>>(); }\n")
    Path("folder").mkdir()
    Path("short.cubin").write_bytes(b"\x7fELF")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("none.cu", "none.cu: No such file or directory"),
        ("folder", "folder: Is a directory"),
        ("latin.cu", "latin.cu is no UTF-8 text: line 1 holds the byte 0xe9; convert it, for "),
        ("nul.cu", "nul.cu holds a NUL character in line 2"),
        ("empty.cu", "empty.cu is empty; write CUDA C++ in it"),
        ("mark.cu", "mark.cu is empty; write CUDA C++ in it"),
        ("k.cu mixed.cu", "mixed.cu has host functions beside its kernels: load and build take it"),
        ("k.cu --arch sm_77", "sm_77 is no architecture that NVRTC"),
        ("k.cu --arch nonsense", 'is no architecture: write "sm_80"'),
        ("k.cu --arch ,", 'name at least one, such as "sm_90a"'),
        ("k.cu -o folder", "folder is a folder; name the file to write, such as folder/k.cubin"),
        ("k.cu -o none/k.cubin", "none/k.cubin: its folder does not exist; make it first"),
        ("k.cu -o k.cu", "k.cu is the source itself; name another file with -o"),
        ("k.cu --depfile k.cu", "k.cu is the source itself; name another file with --depfile"),
        ("k.cu -o k.o --depfile k.o", "-o and --depfile are both k.o; name two files"),
        ("k.cu --depfile none/k.d", "none/k.d: its folder does not exist; make it first"),
        ("k.cu -e k<", "k.cu does not compile for sm_90"),
        ("k.cu --option=-nonsense", "refuses an option"),
    ],
)
def test_compile_says_in_a_line_what_it_cannot_take(arguments, message, capsys):
    before = sorted(os.listdir())
    words = arguments.split()
    assert main(["compile", *words, *([] if "--arch" in words else ["--arch", "sm_90"])]) == 1
    error = capsys.readouterr().err
    assert error.startswith("tvmffi-cubin: error: ")
    assert message in error.splitlines()[0]
    assert sorted(os.listdir()) == before
    assert Path("k.cu").read_text() == SOURCE


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("none.cubin", "none.cubin: No such file or directory"),
        ("folder", "folder: Is a directory"),
        ("empty.cu", "empty.cu: it is no image"),
        ("k.cu", "k.cu: it is CUDA source: compile it first"),
        ("short.cubin", "short.cubin: corrupt ELF file: it is truncated"),
    ],
)
def test_inspect_says_in_a_line_what_it_cannot_read(file, message, capsys):
    assert main(["inspect", file]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"tvmffi-cubin: error: {message}")


def test_compile_writes_into_a_pipe_and_leaves_it_a_pipe(capsys):
    os.mkfifo("pipe")
    reader = os.open("pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert main(["compile", "k.cu", "--arch", "sm_90", "-o", "pipe"]) == 0
        assert os.read(reader, 4) == b"\x7fELF"
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(os.stat("pipe").st_mode)


def test_an_image_that_cannot_be_written_is_named_by_its_own_name(monkeypatch, capsys):
    def refuse(path: str, data: bytes) -> None:
        raise PermissionError(13, "Permission denied", "/somewhere/.123-temporary.tmp")

    monkeypatch.setattr("tvmffi_cubin.cache.files.write_atomically", refuse)
    assert main(["compile", "k.cu", "--arch", "sm_90"]) == 1
    assert capsys.readouterr().err == "tvmffi-cubin: error: k.cubin: Permission denied\n"


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        (
            "TVMFFI_CUBIN_ARCH",
            "sm_80,nonsense",
            "ARCH[1]='nonsense' is no architecture",
        ),
        (
            "TVMFFI_CUBIN_PCH",
            "nonsense",
            "TVMFFI_CUBIN_PCH='nonsense': wanted 'on' or 'off'",
        ),
        (
            "TVMFFI_CUBIN_CACHE_SIZE",
            "much",
            "TVMFFI_CUBIN_CACHE_SIZE='much': wanted a number of bytes",
        ),
        ("MAX_JOBS", "nonsense", "MAX_JOBS must be a positive whole number, got 'nonsense'"),
        ("CXX", "false", "it printed nothing; set CXX to a compiler"),
    ],
)
def test_doctor_says_which_variables_builds_would_refuse(
    variable, value, message, monkeypatch, capsys
):
    monkeypatch.setenv(variable, value)
    assert main(["doctor"]) == 1
    output = capsys.readouterr().out
    assert message in output
    assert "1 problem;" in output
