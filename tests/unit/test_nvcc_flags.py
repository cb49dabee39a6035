"""The flags of nvcc: the caller's and those of its own variables, and what is made of them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from tvmffi_cubin.cuda import nvcc
from tvmffi_cubin.host.environment import build_environment
from tvmffi_cubin.host.plan import Cxx
from tvmffi_cubin.host.toolchain import HostCompiler
from tvmffi_cubin.inline.request import make_request


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch) -> Path:
    for name in ("NVCC_CCBIN", "NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "TVMFFI_CUBIN_ARCH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    for name in ("inc", "some dir", "bin"):
        (tmp_path / name).mkdir()
    for name in ("here.h", "options", "bin/g++"):
        (tmp_path / name).touch()
    return tmp_path


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["-Xcompiler -O3", "-lineinfo"], ["-Xcompiler", "-O3", "-lineinfo"]),
        (["-gencode arch=compute_80,code=sm_80"], ["-gencode", "arch=compute_80,code=sm_80"]),
        (["-I", "inc", "-Iinc", "-I=inc"], ["-I", "{}/inc", "-I{}/inc", "-I={}/inc"]),
        (
            ["--include-path=inc", "-include", "not.h"],
            ["--include-path={}/inc", "-include", "not.h"],
        ),
        (["-dc", "-arch=native", "-arch native"], ["-rdc=true"]),
        (["-ccbin", "bin/g++", "-ccbin=g++"], ["-ccbin", "{}/bin/g++", "-ccbin=g++"]),
        (["-optf", "options", "-DX=a b"], ["-optf", "{}/options", "-DX=a b"]),
    ],
)
def test_flags_are_words_with_absolute_paths(given, words, here):
    assert nvcc.caller_flags(given) == tuple(word.format(here) for word in words)


def test_flags_of_nvccs_variables_are_read_like_the_callers(here, monkeypatch):
    monkeypatch.setenv("NVCC_PREPEND_FLAGS", '-Iinc -I "some dir" -DS="a b"')
    monkeypatch.setenv("NVCC_APPEND_FLAGS", " -dc -arch=native -gencode arch=compute_90,code=sm_90")
    monkeypatch.setenv("NVCC_CCBIN", "bin/g++")
    request = make_request(name="k", cuda_sources="int f();", functions="f", compiler="nvcc")
    assert request.cuda_cflags == (
        *("-ccbin", f"{here}/bin/g++", f"-I{here}/inc", "-I", f"{here}/some dir"),
        *("-DS=a b", "-rdc=true", "-gencode", "arch=compute_90,code=sm_90"),
    )
    assert not {"NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS"} & {*build_environment()}


def test_architectures_are_those_of_the_flags_or_of_the_variable(monkeypatch):
    monkeypatch.setenv("TVMFFI_CUBIN_ARCH", "sm_80")
    assert words(archs=())[-1] == "-gencode=arch=compute_80,code=sm_80"
    assert words("--gpu-architecture", "sm_90", archs=())[-2:] == ("--gpu-architecture", "sm_90")
    assert not any("sm_80" in word for word in words("-arch=sm_90", archs=()))


def tools(*arguments: str) -> SimpleNamespace:
    return SimpleNamespace(
        compiler=HostCompiler(Path("/usr/bin/c++"), arguments),
        host=SimpleNamespace(compiler="gcc version 12.2.0"),
        nvcc=SimpleNamespace(path="/opt/nvcc", host="clang version 17.0.6"),
        include="/own",
        tvm_ffi=SimpleNamespace(include="/ffi"),
    )


def unit(*flags: str, archs=("sm_90",), by: SimpleNamespace | None = None) -> Cxx:
    options = {"archs": archs, "include_paths": ["/mine"], "folders": ["/a,b"]}
    return nvcc.unit("a.cu", by or tools(), flags=flags, **options)


def words(*flags: str, **options) -> tuple[str, ...]:
    """Return what is between the host compiler and the headers."""
    made = unit(*flags, **options).flags
    return made[made.index("-Xcompiler=-fPIC") + 1 : made.index("/own") - 1]


_STATICS = "-Xcompiler=-fno-gnu-unique"


@pytest.mark.parametrize(
    ("arguments", "host"),
    [
        ((), ("-ccbin", "/usr/bin/c++", _STATICS)),
        (
            ("-m64", "-B,x"),
            ("-ccbin", "/usr/bin/c++", _STATICS, "-Xcompiler=-m64", r"-Xcompiler=-B\,x"),
        ),
        (("g++-12",), ("-ccbin", "g++-12", _STATICS)),
    ],
)
def test_the_host_compiler_is_the_builds_own_with_its_options(arguments, host):
    made = unit(by=tools(*arguments))
    assert made.command == ("/opt/nvcc",)
    assert made.flags[: 2 + len(host)] == ("-x", "cu", *host)
    own = ("-I", "/own", "-isystem", "/ffi", r"-Xcompiler=-iquote,/a\,b")
    assert made.flags[-5:] == own
    named = unit("-ccbin", "clang++").flags
    assert named.count("-ccbin") == 1
    assert _STATICS not in named


def test_what_the_caller_sets_is_not_set_twice():
    made = words("-std=c++20", "-O3", archs=("sm_90a", "compute_80"))
    assert made == (
        "-gencode=arch=compute_90a,code=sm_90a",
        "-gencode=arch=compute_80,code=compute_80",
        *("-std=c++20", "-O3"),
    )
    assert words("-arch=sm_80", archs=()) == ("-std=c++17", "-O2", "-arch=sm_80")


@pytest.mark.parametrize("given", [["-dc"], ["--device-c"], ["-rdc=true"], ["-rdc true"]])
def test_device_code_that_is_yet_to_be_linked_is_seen(given):
    flags = nvcc.caller_flags(given)
    made = nvcc.device_link(["a.o"], tools(), archs=("sm_90",), flags=flags)
    assert "-gencode=arch=compute_90,code=sm_90" in made.flags
    assert nvcc.device_link(["a.o"], tools(), archs=("sm_90",), flags=("-rdc=false",)) is None


def test_what_is_optimised_at_the_link_is_compiled_for_it():
    flags, archs = ("-rdc=true", "-dlto", "-lineinfo"), ("sm_90a", "compute_90")
    assert words(*flags, archs=archs)[2:] == (
        "-gencode=arch=compute_90a,code=lto_90a",
        "-gencode=arch=compute_90,code=compute_90",
        "-rdc=true",
        "-lineinfo",
    )
    made = nvcc.device_link(["a.o"], tools(), archs=archs, flags=flags)
    assert "-gencode=arch=compute_90a,code=sm_90a" in made.flags
    assert made.flags[-2:] == ("-dlto", "-lineinfo")
