"""compiler="nvcc": with a stand-in, what is compiled, linked and kept; with nvcc, that it works."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from file_kit import EXPORT, write
from nvcc_kit import FakeNvcc

import tvmffi_cubin as tc
from tvmffi_cubin.cache import files
from tvmffi_cubin.cuda import nvcc

SOURCES = (
    "int two() { return 2; }",
    "int four() { return two() + two(); }" + EXPORT.format("four"),
)
ARCH = "sm_90"


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch):
    for name in ("NVCC_CCBIN", "NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "CXX"):
        monkeypatch.delenv(name, raising=False)


# With a stand-in


@pytest.fixture(scope="module")
def toolkit(tmp_path_factory, _own_environment) -> FakeNvcc:
    return FakeNvcc(tmp_path_factory.mktemp("toolkit") / "cuda")


@pytest.fixture
def fake(toolkit, monkeypatch, here) -> FakeNvcc:
    """The stand-in, as the nvcc to use; the current folder is empty."""
    monkeypatch.setenv("TVMFFI_CUBIN_NVCC", str(toolkit.path))
    toolkit.commands()
    return toolkit


def built(**options) -> str:
    """Build a file that exports one(): that is compiled in a moment."""
    path = Path("one.cu")
    if not path.exists():
        write(path, "int one() { return __NVCC__; }\n" + EXPORT.format("one"))
    given = {"sources": path, "compiler": "nvcc", "arch": ARCH} | options
    return tc.build("one", **given)


def test_a_module_of_kernels_alone_is_told_to_launch_them(fake):
    with pytest.raises(ValueError, match=r"ops: nothing .* C\+\+ functions that launch"):
        tc.load_inline(
            "ops", "#define __global__\n__global__ void k() {}", compiler="nvcc", arch=ARCH
        )


def test_texts_are_one_unit_in_order_and_a_hit_asks_nobody(fake, monkeypatch):
    functions = {"four": "Twice two.", "runtime": ""}
    sources = [SOURCES[0], "int four() { return two() + two(); }"]
    sources += ["int f() { return cudaOfTheFake(); }", "int runtime() { return f(); }"]
    options = {"functions": functions, "compiler": "nvcc", "arch": [ARCH, "compute_90"]}
    flags = {"extra_cuda_cflags": ["-DMINE=1"], "extra_include_paths": ["inc"]}
    mod = tc.load_inline("texts", sources, **options, **flags)
    assert (mod.four(), mod.runtime(), mod.four.__doc__) == (4, 7, "Twice two.")
    (command,) = fake.commands()
    words = command.split()
    assert "-x cu" in command
    assert words[words.index("-ccbin") + 1] == shutil.which("c++")
    assert [x for x in words if x.startswith("-gencode")] == [
        "-gencode=arch=compute_90,code=sm_90",
        "-gencode=arch=compute_90,code=compute_90",
    ]
    assert {"-Xcompiler=-fPIC", "-std=c++17", "-O2", "-DMINE=1", os.path.abspath("inc")} <= {*words}

    def refuse(*args, **kwargs):
        raise AssertionError(f"a process is spawned: {args}")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    again = tc.load_inline("texts", sources, **options, **flags)
    assert again.path == mod.path


def test_another_nvcc_builds_anew_and_the_same_in_another_place_does_not(
    fake, tmp_path, monkeypatch
):
    path = built()
    monkeypatch.setenv("TVMFFI_CUBIN_NVCC", str(FakeNvcc(tmp_path / "newer", build="2").path))
    assert built() != path
    # The folder of the stand-in is in its script, and so in what it is.
    monkeypatch.setenv("TVMFFI_CUBIN_NVCC", os.path.relpath(fake.path))
    assert built() == path


def test_its_host_compiler_and_variables_count(fake, monkeypatch, tmp_path):
    path = built()
    other = write(tmp_path / "bin" / "g++-0", '#!/bin/sh\n# another\nexec g++ "$@"\n')
    other.chmod(0o755)
    fake.commands()
    by_flag = built(extra_cuda_cflags=["-ccbin", str(other)])
    (command,) = fake.commands()
    assert command.count("-ccbin") == 1
    monkeypatch.setenv("NVCC_CCBIN", str(other))
    by_variable = built()
    monkeypatch.delenv("NVCC_CCBIN")
    # nvcc runs in a folder of the build.
    Path("inc").mkdir()
    monkeypatch.setenv("NVCC_APPEND_FLAGS", "-DMINE -Iinc")
    assert by_variable == by_flag
    assert len({path, by_flag, built()}) == 3
    (command,) = fake.commands()
    assert f" -DMINE -I {os.path.abspath('inc')} " in command
    # Which compiler it is counts, and not only what it is called.
    monkeypatch.delenv("NVCC_APPEND_FLAGS")
    other.write_text('#!/bin/sh\n# changed\nexec g++ "$@"\n')
    files._answers.clear()
    assert built(extra_cuda_cflags=["-ccbin", str(other)]) != by_flag


def test_a_header_that_changes_is_read_again(fake):
    write("one.cu", '#include "value.h"\nint one() { return VALUE; }\n' + EXPORT.format("one"))
    for value in (1, 2):
        write("value.h", f"#define VALUE {value}\n")
        assert tc.load_module(built()).one() == value


def test_separate_device_code_is_linked_before_host_code(fake):
    write("two.cc", SOURCES[0])
    subprocess.run(["c++", "-fPIC", "-c", "-o", "two.o", "two.cc"], check=True)
    write("four.cu", "int two();\n" + SOURCES[1])
    options = {"sources": ["four.cu", "two.o"], "compiler": "nvcc", "arch": ARCH}
    mod = tc.load("four", extra_cuda_cflags=["-dc"], **options)
    assert mod.four() == 4
    compiled, linked = fake.commands()
    assert "-rdc=true" in compiled
    assert "-dc" not in compiled.split()
    assert linked.endswith(f"-dlink -o device_link.o file_0.o {os.path.abspath('two.o')}")
    tc.load("four", **options)
    assert len(fake.commands()) == 1


def test_a_mistake_is_a_build_error_at_the_users_own_line(fake):
    with pytest.raises(tc.BuildError, match=r"cuda_sources\.cu:3:") as failed:
        tc.load_inline(
            "bad", "\n\nint f() { return nothing; }", functions="f", compiler="nvcc", arch=ARCH
        )
    assert failed.value.command.startswith(str(fake.path))


# With nvcc itself


@pytest.fixture(scope="module")
def genuine(_own_environment) -> nvcc.Nvcc:
    try:
        return nvcc.find_nvcc()
    except tc.ToolchainError as error:
        pytest.skip(str(error))


KERNELS = 'extern "C" __global__ void one(float* x) { x[0] = 1; }'
MIXED = r"""
#include <cuda_fp16.h>
#include <tvmffi_cubin/tvmffi_cubin.h>
EMBED_CUBIN(image);

__device__ float table[4];
template <typename T, int n> __global__ void add(const T* x, T* y) {
  __shared__ T tile[n];
  tile[threadIdx.x] = x[threadIdx.x];
  y[threadIdx.x] = tile[n - 1 - threadIdx.x] + T(table[0]);
}

int run() {
  add<__half, 32><<<1, 32>>>(nullptr, nullptr);
  return cudaGetLastError() != cudaSuccess;
}
int runtime() {
  int version = 0;
  return cudaRuntimeGetVersion(&version), version;
}
"""


def test_kernels_and_host_functions_in_one_text_are_a_module_that_is_inspected(genuine):
    image = tc.nvrtc.compile(KERNELS, arch=ARCH)
    mixed = tc.load_inline(
        "mixed",
        MIXED,
        functions={"run": "Runs.", "runtime": "", "one": tc.Launch(grid=1, block=1)},
        embed_cubin={"image": image},
        arch=[ARCH, "compute_80"],
        compiler="nvcc",
        extra_cuda_cflags=["-Xcompiler -Wall", "-use_fast_math"],
    )
    assert mixed.runtime() // 1000 == int(genuine.version.partition(".")[0])
    assert mixed.functions == ("one",)
    found = tc.inspect(mixed.path)
    assert [image.name for image in found.images] == ["image", ".nv_fatbin"]
    code, ptx = found.images[1].members
    assert (code.kind, code.arch, ptx.kind, ptx.arch) == ("cubin", ARCH, "ptx", "compute_80")
    (kernel,) = code.kernels
    assert kernel.static_smem_bytes == 64
    assert "add<__half, 32>" in found.text()
    assert found.manifest["versions"]["nvcc"] == genuine.version
    assert list(mixed.cubins) == ["image"]


def test_device_code_of_several_files_and_objects_is_linked(genuine, here):
    write("twice.cu", "__device__ float twice(float x) { return 2 * x; }\n")
    flags = ["-rdc=true", "-Xcompiler", "-fPIC", f"-arch={ARCH}", "-c", "-o", "twice.o"]
    subprocess.run([genuine.path, *flags, "twice.cu"], check=True)
    write("child.cu", "__global__ void child(float* x) { x[1] = 2; }\n")
    text = """extern __device__ float twice(float);
    __global__ void child(float* x);
    __global__ void k(float* x) { x[0] = twice(x[0]); child<<<1, 1>>>(x); }
    int run() { k<<<1, 1>>>(nullptr); return cudaGetLastError() != cudaSuccess; }
    """
    write("run.cu", text + EXPORT.format("run"))
    options = {"extra_cuda_cflags": ["-rdc=true"], "compiler": "nvcc", "arch": ARCH}
    mod = tc.load("separate", sources=["run.cu", "child.cu", "twice.o"], **options)
    assert b"_Z5childPf" in Path(mod.path).read_bytes()
    assert mod.run() in (0, 1)
