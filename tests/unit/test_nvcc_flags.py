"""The flags of nvcc: the caller's and those of its own variables, and what they say."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from tvmffi_cubin import nvcc_unit
from tvmffi_cubin.cuda import nvcc
from tvmffi_cubin.cuda.nvcc import resolve, told
from tvmffi_cubin.environment import build_environment
from tvmffi_cubin.request import make_request
from tvmffi_cubin.toolchain import HostCompiler


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch):
    for name in ("NVCC_CCBIN", "NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "TVMFFI_CUBIN_ARCH"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["-Xcompiler -O3", "-lineinfo"], ["-Xcompiler", "-O3", "-lineinfo"]),
        (["-gencode arch=compute_80,code=sm_80"], ["-gencode", "arch=compute_80,code=sm_80"]),
        (["-I", "inc", "-Isub", "-I=sub"], ["-I", "{}/inc", "-I{}/sub", "-I={}/sub"]),
        (["-isystem", "inc", "--include-path=a"], ["-isystem", "{}/inc", "--include-path={}/a"]),
        (
            ["-include", "here.h", "-include", "not.h"],
            ["-include", "{}/here.h", "-include", "not.h"],
        ),
        (["-dc"], ["-rdc=true"]),
        (["-arch=native", "-arch native", "-G"], ["-G"]),
        (["-ccbin", "bin/g++", "-ccbin=g++"], ["-ccbin", "{}/bin/g++", "-ccbin=g++"]),
        (["-optf", "options", "-G"], ["-DY=1", "-I{}/from file", "-rdc=true", "-G"]),
        (["--options-file=options"], ["-DY=1", "-I{}/from file", "-rdc=true"]),
        (["-Xcompiler", "-Iinc", "-DX"], ["-Xcompiler", "-Iinc", "-DX"]),
        (["-DX=a b", "-I/some dir"], ["-DX=a b", "-I/some dir"]),
    ],
)
def test_flags_are_words_with_absolute_paths(given, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here.h").touch()
    (tmp_path / "options").write_text("-DY=1 '-Ifrom file'\n-dc # separate\n")
    assert nvcc.caller_flags(given) == tuple(word.format(tmp_path) for word in words)


def test_what_the_caller_sets_is_not_set_twice():
    made = nvcc.compile_flags(("-std=c++20", "-O3"), ("sm_90",))
    assert made == ("-Xcompiler=-fPIC", "-gencode=arch=compute_90,code=sm_90", "-std=c++20", "-O3")
    assert nvcc.compile_flags((), ()) == ("-Xcompiler=-fPIC", "-std=c++17", "-O2")


def test_architectures_are_code_and_ptx():
    made = nvcc.compile_flags((), ("sm_90a", "sm_100f", "compute_80"))
    assert made[-3:] == (
        "-gencode=arch=compute_90a,code=sm_90a",
        "-gencode=arch=compute_100f,code=sm_100f",
        "-gencode=arch=compute_80,code=compute_80",
    )


def test_what_is_optimised_at_the_link_is_compiled_for_it():
    flags, archs = ("-dlto", "-lineinfo"), ("sm_90a", "compute_90")
    made = nvcc.compile_flags(flags, archs)
    assert made[-4:] == (
        "-rdc=true",
        "-gencode=arch=compute_90a,code=lto_90a",
        "-gencode=arch=compute_90,code=compute_90",
        "-lineinfo",
    )
    linked = nvcc.link_flags(flags, archs)
    assert linked[-4] == "-gencode=arch=compute_90a,code=sm_90a"
    assert linked[-2:] == ("-lineinfo", "-dlto")
    assert nvcc.is_separate(flags)


def test_code_that_flags_name_for_the_linker_becomes_an_image():
    flags = ("-rdc=true", "-gencode", "arch=compute_80,code=lto_80", "-code=lto_90,compute_90")
    made, linked = nvcc.compile_flags(flags, ()), nvcc.link_flags(flags, ())
    assert made[-4:] == flags
    assert linked[-4:] == (
        "-gencode",
        "arch=compute_80,code=sm_80",
        "-code=sm_90,compute_90",
        "-dlto",
    )
    assert told(flags, ()) == ("sm_80", "sm_90", "compute_90")


def test_an_architecture_alone_is_nvccs_own_to_optimise_for():
    made = nvcc.compile_flags(("-dlto", "-arch=sm_80"), ())
    assert made[-3:] == ("-rdc=true", "-dlto", "-arch=sm_80")


@pytest.mark.parametrize(
    ("flags", "archs"),
    [
        (("-arch=sm_90",), ["sm_90"]),
        (("-arch", "compute_80", "-code", "sm_80,sm_86"), ["sm_80", "sm_86"]),
        (("-gencode=arch=compute_80,code=[sm_80,compute_80]",), ["sm_80", "compute_80"]),
        (("-gencode", "arch=compute_90a,code=sm_90a", "-G"), ["sm_90a"]),
        (("-arch=all-major",), ["all-major"]),
        (("-G",), []),
    ],
)
def test_what_code_is_made_for_is_told(flags, archs):
    assert list(told(flags, ())) == archs
    assert told(flags, ("sm_75",)) == ("sm_75",)


@pytest.mark.parametrize("given", [["-dc"], ["--device-c"], ["-rdc=true"], ["-rdc true"]])
def test_device_code_that_is_yet_to_be_linked_is_seen(given):
    assert nvcc.is_separate(nvcc.caller_flags(given))
    assert not nvcc.is_separate(("-rdc=false",))


def test_flags_of_nvccs_variables_are_read_like_the_callers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NVCC_PREPEND_FLAGS", '-Iinc -I "some dir" -DS="a b"')
    monkeypatch.setenv("NVCC_APPEND_FLAGS", " -dc -arch=native -gencode arch=compute_90,code=sm_90")
    monkeypatch.setenv("NVCC_CCBIN", "bin/g++")
    request = make_request(name="k", cuda_sources="int f();", functions="f", compiler="nvcc")
    assert request.cuda_cflags == (
        *("-ccbin", f"{tmp_path}/bin/g++", f"-I{tmp_path}/inc", "-I", f"{tmp_path}/some dir"),
        *("-DS=a b", "-rdc=true", "-gencode", "arch=compute_90,code=sm_90"),
    )
    assert resolve(request.cuda_cflags, None, None) == ()
    assert not {"NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS"} & {*build_environment()}
    monkeypatch.setenv("NVCC_CCBIN", "g++-12")
    assert nvcc.caller_flags(["-G"])[0] == f"-I{tmp_path}/inc"


def test_flags_that_name_architectures_stand_for_themselves(monkeypatch):
    monkeypatch.setenv("TVMFFI_CUBIN_ARCH", "sm_80")
    flags = ("-arch=sm_90",)
    assert resolve(flags, None, None) == ()
    assert resolve((), None, None) == ("sm_80",)
    assert resolve((), "sm_75", None) == ("sm_75",)
    with pytest.raises(ValueError, match="the architecture is given twice: arch='sm_75'"):
        resolve(flags, "sm_75", None)


def test_a_host_compiler_is_named_by_flags_or_variables(monkeypatch):
    assert nvcc.host_compiler(()) is None
    monkeypatch.setenv("NVCC_CCBIN", "g++-12")
    assert nvcc.host_compiler(()) == "g++-12"
    assert nvcc.host_compiler(("-ccbin", "g++-11")) == "g++-11"
    assert nvcc.host_compiler(("--compiler-bindir=/opt/gcc",)) == "/opt/gcc"


_STATICS = "-Xcompiler=-fno-gnu-unique"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), ("-ccbin", "/usr/bin/c++", _STATICS)),
        (
            ("-m64", "-B,x"),
            ("-ccbin", "/usr/bin/c++", _STATICS, "-Xcompiler=-m64", r"-Xcompiler=-B\,x"),
        ),
        (("g++-12",), ("-ccbin", "g++-12", _STATICS)),
    ],
)
def test_the_host_compiler_is_the_builds_own_with_its_options(arguments, words):
    tools = SimpleNamespace(
        compiler=HostCompiler(Path("/usr/bin/c++"), arguments),
        host=SimpleNamespace(compiler="gcc version 12.2.0"),
        nvcc=SimpleNamespace(path="/opt/nvcc", host="clang version 17.0.6"),
        include="/own",
        tvm_ffi=SimpleNamespace(include="/ffi"),
    )
    options = {"archs": ("sm_90",), "include_paths": ["/mine"]}
    unit = nvcc_unit.text_unit("a.cu", tools, flags=(), **options)
    assert unit.command == ("/opt/nvcc",)
    assert unit.flags[2 : 2 + len(words)] == words
    assert unit.flags[-4:] == ("-I", "/own", "-isystem", "/ffi")
    named = nvcc_unit.text_unit("a.cu", tools, flags=("-ccbin", "clang++"), **options)
    assert named.flags.count("-ccbin") == 1
    assert _STATICS not in named.flags
