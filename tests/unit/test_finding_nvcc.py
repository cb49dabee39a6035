"""nvcc: where it is found, what it is, its flags, what does not go with it; with none installed."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tvmffi_cubin import identity, nvcc, nvcc_flags, nvcc_hints, nvcc_unit
from tvmffi_cubin.errors import ToolchainError
from tvmffi_cubin.launch import Launch
from tvmffi_cubin.nvcc_archs import resolve
from tvmffi_cubin.request import Request, make_request
from tvmffi_cubin.sources import sort_sources
from tvmffi_cubin.toolchain import HostCompiler

FAKE = """#!/bin/sh
echo "$1" >> {folder}/asked
case "$1" in
--version) echo "Cuda compilation tools, release {version}, V{version}.1"; echo "Build {build}" ;;
--dryrun) echo '#$ _HERE_={folder}/bin'; echo '#$ TOP={folder}/bin/..'
  echo '#$ INCLUDES="-I{folder}/bin/../include"'
  echo '#$ SYSTEM_INCLUDES="-isystem" "{folder}/bin/../include/cccl"'
  echo '#$ LIBRARIES= "-L{folder}/bin/../lib/stubs" "-L{folder}/bin/../lib"' ;;
--list-gpu-code) echo sm_80; echo sm_90; echo sm_100 ;;
esac
"""
SOURCE = "int one() { return 1; }"


def fake(folder: Path, *, version: str = "13.1", build: str = "1") -> Path:
    path = folder / "bin" / "nvcc"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(FAKE.format(folder=folder, version=version, build=build))
    path.chmod(0o755)
    (folder / "lib").mkdir(exist_ok=True)
    (folder / "lib" / "libcudart_static.a").write_bytes(b"!<arch>\n")
    return path


@pytest.fixture(autouse=True)
def nowhere(tmp_path, monkeypatch):
    """No nvcc anywhere."""
    for name in ("TVMFFI_CUBIN_NVCC", "CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(name, raising=False)
    for name in ("NVCC_CCBIN", "NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "TVMFFI_CUBIN_ARCH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", "/bin:/usr/bin")
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(nvcc, "_DEFAULT", str(tmp_path / "usr_local_cuda"))
    monkeypatch.setattr(sys, "path", [])
    identity.forget()
    yield
    identity.forget()


# Finding


def test_the_variable_comes_first_then_homes_path_wheels_and_the_usual_folder(
    tmp_path, monkeypatch
):
    site = tmp_path / "site"
    places = {name: fake(tmp_path / name) for name in ("named", "home", "path", "path_dir")}
    wheel, usual = fake(site / "nvidia" / "cu13"), fake(tmp_path / "usr_local_cuda")
    assert nvcc.locate() == usual
    monkeypatch.setattr(sys, "path", ["", str(site)])
    assert nvcc.locate() == wheel
    monkeypatch.setenv("PATH", f"{places['path'].parent}:/bin")
    assert nvcc.locate() == places["path"]
    monkeypatch.setenv("CUDA_PATH", str(tmp_path / "path_dir"))
    assert nvcc.locate() == places["path_dir"]
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "home"))
    assert nvcc.locate() == places["home"]
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "nothing here"))
    assert nvcc.locate() == places["path_dir"]
    monkeypatch.setenv("TVMFFI_CUBIN_NVCC", str(places["named"]))
    assert nvcc.locate() == places["named"]


def test_where_there_is_none_the_error_names_the_places_and_the_wheels():
    with pytest.raises(ToolchainError, match=r"CUDA_HOME.*on PATH.*pip install nvidia-cuda-nvcc"):
        nvcc.locate()


def test_a_named_one_that_is_not_there_is_an_error_and_no_other_is_taken(tmp_path, monkeypatch):
    fake(tmp_path / "usr_local_cuda")
    monkeypatch.setenv("TVMFFI_CUBIN_NVCC", "/no/nvcc")
    with pytest.raises(ToolchainError, match="TVMFFI_CUBIN_NVCC='/no/nvcc': there is no such"):
        nvcc.locate()


def test_it_says_where_its_headers_and_its_runtime_are(tmp_path):
    found = nvcc.describe(fake(tmp_path / "cuda"))
    folder = tmp_path / "cuda"
    assert (found.version, found.major, found.archs) == ("13.1", 13, (80, 90, 100))
    assert found.includes == (f"{folder}/include", f"{folder}/include/cccl")
    assert found.runtime == f"{folder}/lib/libcudart_static.a"
    assert found.root == str(folder)


def test_what_it_says_is_remembered_until_it_changes(tmp_path):
    path = fake(tmp_path / "cuda")
    first = nvcc.describe(path)
    asked = tmp_path / "cuda" / "asked"
    identity.forget()
    before = os.stat(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns - 10**11))
    nvcc.describe(path)
    asked.unlink()
    assert nvcc.describe(path) == first
    assert not asked.exists()
    fake(tmp_path / "cuda", build="2")
    assert nvcc.describe(path).identity != first.identity


def test_its_runtime_is_part_of_what_it_is_and_its_place_is_not(tmp_path):
    one = nvcc.describe(fake(tmp_path / "one"))
    # The script of the test has its own place in it, as nvcc itself has not.
    path = fake(tmp_path / "other")
    path.write_text(FAKE.format(folder=tmp_path / "one", version="13.1", build="1"))
    assert nvcc.describe(path).identity == one.identity
    (tmp_path / "one" / "lib" / "libcudart_static.a").write_bytes(b"!<arch>\nnew")
    assert nvcc.describe(tmp_path / "one" / "bin" / "nvcc").identity != one.identity


def test_what_is_no_nvcc_is_refused(tmp_path):
    path = fake(tmp_path / "cuda")
    path.write_text("#!/bin/sh\necho gcc 12\n")
    with pytest.raises(ToolchainError, match="says no CUDA release, so it is no nvcc: 'gcc 12'"):
        nvcc.describe(path)
    path.write_text("#!/bin/sh\necho broken; exit 3\n")
    with pytest.raises(ToolchainError, match="failed with status 3: broken"):
        nvcc.describe(path)


# Flags


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
    assert nvcc_flags.read(given) == tuple(word.format(tmp_path) for word in words)


def test_what_the_caller_sets_is_not_set_twice():
    made = nvcc_flags.compile_flags(("-std=c++20", "-O3"), ("sm_90",))
    assert made == ("-Xcompiler=-fPIC", "-gencode=arch=compute_90,code=sm_90", "-std=c++20", "-O3")
    assert nvcc_flags.compile_flags((), ()) == ("-Xcompiler=-fPIC", "-std=c++17", "-O2")


def test_architectures_are_code_and_ptx():
    made = nvcc_flags.compile_flags((), ("sm_90a", "sm_100f", "compute_80"))
    assert made[-3:] == (
        "-gencode=arch=compute_90a,code=sm_90a",
        "-gencode=arch=compute_100f,code=sm_100f",
        "-gencode=arch=compute_80,code=compute_80",
    )


def test_what_is_optimised_at_the_link_is_compiled_for_it():
    flags, archs = ("-dlto", "-lineinfo"), ("sm_90a", "compute_90")
    made = nvcc_flags.compile_flags(flags, archs)
    assert made[-4:] == (
        "-rdc=true",
        "-gencode=arch=compute_90a,code=lto_90a",
        "-gencode=arch=compute_90,code=compute_90",
        "-lineinfo",
    )
    linked = nvcc_flags.link_flags(flags, archs)
    assert linked[-4] == "-gencode=arch=compute_90a,code=sm_90a"
    assert linked[-2:] == flags
    assert nvcc_flags.is_separate(flags)


@pytest.mark.parametrize("given", [["-dc"], ["--device-c"], ["-rdc=true"], ["-rdc true"]])
def test_device_code_that_is_yet_to_be_linked_is_seen(given, monkeypatch):
    assert nvcc_flags.is_separate(nvcc_flags.read(given))
    assert not nvcc_flags.is_separate(("-rdc=false",))
    monkeypatch.setenv("NVCC_APPEND_FLAGS", "-rdc=true")
    assert nvcc_flags.is_separate(())


def test_flags_that_name_architectures_stand_for_themselves(monkeypatch):
    monkeypatch.setenv("TVMFFI_CUBIN_ARCH", "sm_80")
    flags = ("-arch=sm_90",)
    assert resolve(flags, None, None) == ()
    assert resolve((), None, None) == ("sm_80",)
    assert resolve((), "sm_75", None) == ("sm_75",)
    with pytest.raises(ValueError, match="the architecture is given twice: arch='sm_75'"):
        resolve(flags, "sm_75", None)
    monkeypatch.setenv("NVCC_APPEND_FLAGS", "-gencode arch=compute_90,code=sm_90")
    assert resolve((), None, None) == ()


def test_a_host_compiler_is_named_by_flags_or_variables(monkeypatch):
    assert nvcc_flags.host_compiler(()) is None
    monkeypatch.setenv("NVCC_CCBIN", "g++-12")
    assert nvcc_flags.host_compiler(()) == "g++-12"
    assert nvcc_flags.host_compiler(("-ccbin", "g++-11")) == "g++-11"
    assert nvcc_flags.host_compiler(("--compiler-bindir=/opt/gcc",)) == "/opt/gcc"


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


# Requests


def request(source: str = SOURCE, **options: object) -> Request:
    options.setdefault("functions", ["one"])
    return make_request("m", cuda_sources=source, compiler="nvcc", **options)


def test_other_compilers_are_refused_by_name():
    with pytest.raises(ValueError, match="compiler is 'nvrtc' or 'nvcc', got 'clang'"):
        make_request("m", cuda_sources=SOURCE, compiler="clang")
    assert make_request("m", cuda_sources=SOURCE).compiler == "nvrtc"
    assert make_request("m", cuda_sources=SOURCE, compiler="nvrtc").compiler == "nvrtc"


@pytest.mark.parametrize(
    ("options", "remedy"),
    [
        (
            {"kernel_sources": "__global__ void k() {}"},
            "kernel_sources .*give them as cuda_sources",
        ),
        ({"name_expressions": "k<int>"}, "name_expressions .*leave them out"),
        ({"lto": True}, "lto .*-rdc=true', '-dlto'"),
        ({"bound_params": "int* p"}, "bound_params .*CUDA's runtime launches"),
        ({"functions": {"k": Launch(grid=1, block=1)}}, "is a Launch, and kernels that nvcc"),
    ],
)
def test_what_does_not_go_with_nvcc_is_refused_with_the_remedy(options, remedy):
    with pytest.raises(ValueError, match=remedy):
        request(**options)


def test_device_libraries_are_for_load(tmp_path):
    library = tmp_path / "lib.cubin"
    library.write_bytes(b"\x7fELF")
    with pytest.raises(ValueError, match=r"device_libraries .*load\(sources="):
        request(device_libraries=[library])


@pytest.mark.parametrize(
    "source",
    [
        "__global__ void one(int n) {}",
        'extern "C" __global__ void __launch_bounds__(256, 2) one(int n) {}',
    ],
)
def test_a_kernel_is_no_function_of_the_module(source):
    with pytest.raises(ValueError, match="functions names 'one', which is a kernel"):
        request(source)
    request(source + "void two() { one<<<1, 1>>>(1); }", functions=["two"])


def test_a_module_that_would_export_nothing_is_refused():
    with pytest.raises(ValueError, match="nothing would be exported"):
        request(functions=None)
    request('#include "exports.h"\n', functions=None)
    request("TVM_FFI_DLL_EXPORT_TYPED_FUNC(f, f)", functions=None)


def test_all_sources_are_one_unit_of_host_code():
    sources = sort_sources(request("__global__ void k() {}\n" + SOURCE, cpp_sources="int g();"))
    assert sources.device == ()
    assert [host.file for host in sources.cuda_host] == ["cuda_sources_0.cu"]
    assert [host.file for host in sources.cpp] == ["cpp_sources_0.cpp"]


def test_the_wheels_of_nvrtc_are_needed_only_to_assemble():
    assert not request().needs_cuda
    assert request().may_have_kernels
    assert not request().may_be_compiled
    assert not request().may_link


# Errors


@pytest.mark.parametrize(
    ("said", "hint"),
    [
        (
            "host_config.h:139:2: error: #error -- unsupported GNU version! gcc versions later "
            "than 15 are not supported!",
            "-allow-unsupported-compiler",
        ),
        ("nvcc fatal   : Unsupported gpu architecture 'compute_50'", "nvcc --list-gpu-code"),
        ("sh: 1: cicc: not found", "pip install nvidia-nvvm"),
        ("a.cu:1:10: fatal error: cub/cub.cuh: No such file or directory", "nvidia-cuda-cccl"),
        ("error: kernel launch from __device__ requires separate compilation mode", "-rdc=true"),
    ],
)
def test_what_nvcc_says_is_explained(said: str, hint: str):
    (found,) = nvcc_hints.hints(said)
    assert hint in found


def test_other_messages_are_left_alone():
    assert nvcc_hints.hints('a.cu(3): error: identifier "x" is undefined') == []
