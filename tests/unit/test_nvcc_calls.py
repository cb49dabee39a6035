"""nvcc: where it is found, what it is, its flags, what does not go with it; with none installed."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tvmffi_cubin.cache import files
from tvmffi_cubin.cuda import libraries, nvcc
from tvmffi_cubin.errors import ToolchainError
from tvmffi_cubin.host.tools import HostCompiler


def fake(folder: Path) -> Path:
    path = folder / "bin" / "nvcc"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch) -> Path:
    """The current folder, with some files; no nvcc anywhere."""
    for name in ("TVMFFI_CUBIN_NVCC", "CUDA_HOME", "CUDA_PATH", "TVMFFI_CUBIN_ARCH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", "/bin:/usr/bin")
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(libraries, "TOOLKIT", str(tmp_path / "usr_local_cuda"))
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "inc").mkdir()
    (tmp_path / "here.h").touch()
    files._answers.clear()
    yield tmp_path
    files._answers.clear()


# Finding


def test_the_variable_comes_first_then_homes_path_wheels_and_the_usual_folder(here, monkeypatch):
    places = {name: fake(here / name) for name in ("named", "home", "path", "path_dir")}
    wheel, usual = fake(here / "site" / "nvidia" / "cu13"), fake(here / "usr_local_cuda")
    assert nvcc.locate() == usual
    monkeypatch.setattr(sys, "path", ["", str(here / "site")])
    assert nvcc.locate() == wheel
    monkeypatch.setenv("PATH", f"{places['path'].parent}:/bin")
    assert nvcc.locate() == places["path"]
    monkeypatch.setenv("CUDA_PATH", str(here / "path_dir"))
    assert nvcc.locate() == places["path_dir"]
    monkeypatch.setenv("CUDA_HOME", str(here / "home"))
    assert nvcc.locate() == places["home"]
    monkeypatch.setenv("TVMFFI_CUBIN_NVCC", str(places["named"]))
    assert nvcc.locate() == places["named"]


def test_where_there_is_none_the_error_says_what_to_do(monkeypatch):
    with pytest.raises(ToolchainError, match=r"CUDA_HOME.*on PATH.*tvmffi-cubin\[nvcc\]"):
        nvcc.locate()
    monkeypatch.setenv("TVMFFI_CUBIN_NVCC", "/no/nvcc")
    with pytest.raises(ToolchainError, match="nvcc not found in TVMFFI_CUBIN_NVCC='/no/nvcc'"):
        nvcc.locate()
    monkeypatch.setenv("TVMFFI_CUBIN_NVCC", "/bin/false")
    with pytest.raises(
        ToolchainError, match=r"(?s)'/bin/false --version' failed .*; set TVMFFI_CUBIN"
    ):
        nvcc.find_nvcc()


# Flags


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["-Xcompiler -O3", "-lineinfo"], ["-Xcompiler", "-O3", "-lineinfo"]),
        (["-I", "inc", "-Iinc"], ["-I", "{}/inc"] * 2),
        (["--system-include", "inc", "-isystem=inc"], ["-isystem", "{}/inc"] * 2),
        (["-dc", "-arch=native", "-arch native"], ["-rdc=true"]),
        (["-include", "here.h", "-DX=a b"], ["-include", "{}/here.h", "-DX=a b"]),
    ],
)
def test_flags_are_words_with_absolute_paths(given, words, here):
    assert nvcc.caller_flags(given) == tuple(word.format(here) for word in words)


def words(*flags: str, archs: tuple[str, ...]) -> tuple[str, ...]:
    """Return what is between the host compiler and the headers."""
    tools = SimpleNamespace(
        compiler=HostCompiler(("/usr/bin/c++",)),
        host=SimpleNamespace(compiler="gcc version 12.2.0"),
        nvcc=SimpleNamespace(path="/opt/nvcc", host=""),
        include="/own",
        tvm_ffi=SimpleNamespace(include="/ffi"),
    )
    made = nvcc.command(tools, flags, archs)
    return made[made.index("-Xcompiler=-fPIC") + 1 : made.index("/own") - 1]


def test_architectures_are_those_of_the_flags_or_of_the_variable(monkeypatch):
    monkeypatch.setenv("TVMFFI_CUBIN_ARCH", "sm_80")
    assert words(archs=())[-1] == "-gencode=arch=compute_80,code=sm_80"
    assert words("--gpu-architecture", "sm_90", archs=())[-2:] == ("--gpu-architecture", "sm_90")
    assert words("-arch=sm_90", archs=()) == ("-std=c++17", "-O2", "-arch=sm_90")
    assert words("-std=c++20", "-O3", archs=("sm_90a", "compute_80")) == (
        "-gencode=arch=compute_90a,code=sm_90a",
        "-gencode=arch=compute_80,code=compute_80",
        *("-std=c++20", "-O3"),
    )
    assert words("-dlto", "-rdc=true", archs=("sm_90", "compute_80")) == (
        *("-std=c++17", "-O2", "-gencode=arch=compute_90,code=lto_90"),
        *("-gencode=arch=compute_80,code=compute_80", "-rdc=true"),
    )
