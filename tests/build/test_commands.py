"""The command line, run as a user runs it; launches go to the driver stand-in."""

from __future__ import annotations

import ctypes
import json
import os
import re
import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from fatbin_builder import LTOIR, LZ4, Row, fatbin
from stub.driver_stub import DriverStub
from stub.record import Launch

import tvmffi_cubin as tc
from tvmffi_cubin import nvjitlink
from tvmffi_cubin.__main__ import main
from tvmffi_cubin.cuda import libraries, nvcc

SOURCE = r"""
extern "C" __global__ void __launch_bounds__(64) add(float* x, int n) {
  __shared__ float tile[64];
  if (threadIdx.x < n) tile[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  if (threadIdx.x < n) x[threadIdx.x] = tile[63 - threadIdx.x];
}
template <class T> __global__ void fill(T* x, T value) { x[threadIdx.x] = value; }
"""
WRAPPER = """
#include <tvm/ffi/function.h>
int {name}() {{ return 1; }}
TVM_FFI_DLL_EXPORT_TYPED_FUNC({name}, {name});
"""


@pytest.fixture
def no_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TVMFFI_CUBIN_DRIVER", "/nonexistent/libcuda.so.1")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "add.cu"
    path.write_text(SOURCE)
    return path


def floats(address: bytes, count: int):
    return (ctypes.c_float * count).from_address(struct.unpack("<Q", address)[0])


def saxpy(launch: Launch) -> None:
    a, count = struct.unpack("<f", launch.params[0])[0], struct.unpack("<i", launch.params[3])[0]
    x, y = floats(launch.params[1], count), floats(launch.params[2], count)
    for i in range(count):
        y[i] += a * x[i]


def block_sum(launch: Launch) -> None:
    count = struct.unpack("<i", launch.params[2])[0]
    total = ctypes.c_double.from_address(struct.unpack("<Q", launch.params[1])[0])
    total.value += sum(floats(launch.params[0], count))


@pytest.mark.usefixtures("no_driver")
def test_demo_without_a_gpu_builds_and_says_why_it_did_not_launch(capsys):
    assert main(["demo"]) == 0
    output = capsys.readouterr().out
    assert "Kernels for sm_90a:" in output
    assert "float a, const float* x, float* y, int n" in output
    assert "Not launched: the CUDA driver shows no GPU here" in output


def test_demo_launches_checks_the_numbers_and_frees_its_memory(driver_stub: DriverStub, capsys):
    driver_stub.set_kernel("saxpy", saxpy)
    driver_stub.set_kernel("block_sum", block_sum)
    before = driver_stub.object_counts()
    assert main(["demo"]) == 0
    assert "all numbers are right" in capsys.readouterr().out
    assert [launch.kernel for launch in driver_stub.launches()] == ["saxpy", "block_sum"]
    after = driver_stub.object_counts()
    assert (after.allocations, after.pushed_contexts) == (
        before.allocations,
        before.pushed_contexts,
    )


def test_demo_reports_wrong_numbers_as_a_failure(driver_stub: DriverStub, capsys):
    driver_stub.set_kernel("block_sum", block_sum)
    assert main(["demo"]) == 1
    assert "saxpy ran, and its numbers are wrong" in capsys.readouterr().err


@pytest.mark.usefixtures("no_driver")
def test_demo_takes_several_architectures(monkeypatch, capsys):
    assert main(["demo", "--arch", "sm_80,sm_89"]) == 0
    assert "Kernels for sm_80, sm_89:" in capsys.readouterr().out
    monkeypatch.setenv("TVMFFI_CUBIN_ARCH", "sm_75")
    assert main(["demo"]) == 0
    assert "Kernels for sm_75:" in capsys.readouterr().out


@pytest.mark.usefixtures("no_driver")
def test_demo_leaves_the_cache_setting_as_it_was(monkeypatch, capsys):
    monkeypatch.delenv("TVMFFI_CUBIN_CACHE_DIR")
    assert main(["demo", "--arch", "sm_80"]) == 0
    assert "Kernels for sm_80:" in capsys.readouterr().out
    assert "TVMFFI_CUBIN_CACHE_DIR" not in os.environ


def test_compile_writes_an_image_that_inspect_reads(source: Path, capsys):
    assert main(["compile", str(source), "--arch", "sm_90a", "-e", "fill<float>"]) == 0
    compiled = capsys.readouterr().out
    cubin = source.with_suffix(".cubin")
    assert f"{cubin}: {cubin.stat().st_size} bytes for sm_90a" in compiled
    assert main(["inspect", str(cubin)]) == 0
    rows = {line.split()[0]: line.split() for line in capsys.readouterr().out.splitlines()[2:]}
    assert rows["add"][2:] == ["256", "B", "0", "B", "64", "8,", "4", "bytes"]
    assert rows["fill<float>"][-2:] == ["float*,", "float"]


def test_inspect_as_json(source: Path, tmp_path: Path, capsys):
    output = tmp_path / "out.cubin"
    assert main(["compile", str(source), "--arch", "sm_80", "-o", str(output)]) == 0
    capsys.readouterr()
    assert main(["inspect", "--json", str(output)]) == 0
    facts = json.loads(capsys.readouterr().out)
    (kernel,) = facts["kernels"]
    assert (facts["arch"], facts["bytes"]) == ("sm_80", output.stat().st_size)
    assert (kernel["name"], kernel["static_smem_bytes"], kernel["max_threads"]) == ("add", 256, 64)
    assert [param["size"] for param in kernel["params"]] == [8, 4]


@pytest.mark.parametrize("arches", [["sm_90a,compute_80", "sm_80"], ["sm_80,compute_80,sm_90a"]])
def test_several_architectures_give_a_fatbin_that_inspect_reads(source: Path, arches, capsys):
    options = [f"--arch={arch}" for arch in arches]
    assert main(["compile", str(source), "-e", "fill<float>", *options]) == 0
    image = source.with_suffix(".fatbin")
    assert (
        f"{image.stat().st_size} bytes for sm_80, sm_90a, compute_80\n" in capsys.readouterr().out
    )
    assert main(["inspect", str(image)]) == 0
    title, *members = capsys.readouterr().out.split("\n\n")
    assert title.endswith(f"{image.stat().st_size} bytes, a fatbin for sm_80, sm_90a, compute_80")
    starts = ["sm_80: cubin, ", "sm_90a: cubin, ", "compute_80: ptx, "]
    for member, start in zip(members, starts, strict=True):
        assert member.startswith(start)
        rows = {line.split()[0]: line.split() for line in member.splitlines()[2:]}
        assert rows["add"][-5:] == ["-" if "ptx" in start else "B", "64", "8,", "4", "bytes"]
        assert rows["fill<float>"][-2:] == ["float*,", "float"]


def test_inspect_of_a_fatbin_as_json(source: Path, capsys):
    assert main(["compile", str(source), "--arch=sm_80,compute_80"]) == 0
    capsys.readouterr()
    assert main(["inspect", "--json", str(source.with_suffix(".fatbin"))]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["kind"], facts["arch"]) == ("fatbin", "sm_80, compute_80")
    cubin, ptx = facts["members"]
    assert (cubin["kind"], cubin["arch"], cubin["compression"]) == ("cubin", "sm_80", "")
    assert cubin["bytes"] == cubin["stored_bytes"] > 1000
    assert (ptx["kind"], ptx["arch"]) == ("ptx", "compute_80")
    assert re.fullmatch(r"\d+\.\d+", ptx["ptx_version"])
    for member, smem in ((cubin, 256), (ptx, 0)):
        (kernel,) = member["kernels"]
        assert (kernel["name"], kernel["static_smem_bytes"]) == ("add", smem)


def test_inspect_shows_members_that_it_cannot_read_with_the_reason(tmp_path: Path, capsys):
    file = tmp_path / "packed.fatbin"
    file.write_bytes(fatbin(Row(90, b"12345678", LTOIR), Row(80, b"\x10x", flags=LZ4, full=7)))
    assert main(["inspect", str(file)]) == 0
    text = capsys.readouterr().out
    assert "lto_90: ltoir, 8 bytes\nthe member for lto_90 is ltoir, which is not read here" in text
    assert "sm_80: cubin, 7 bytes, 2 in lz4\nthe member for sm_80: damaged LZ4 data" in text
    assert main(["inspect", "--json", str(file)]) == 0
    members = json.loads(capsys.readouterr().out)["members"]
    assert all("problem" in member for member in members)


def test_ptx_is_compiled_to_text_that_inspect_reads(source: Path, capsys):
    assert main(["compile", str(source), "--arch", "compute_90"]) == 0
    text = source.with_suffix(".ptx")
    assert text.read_text().rstrip().endswith("}")
    capsys.readouterr()
    assert main(["inspect", str(text)]) == 0
    assert re.search(r" bytes of PTX \d\.\d for sm_90 and newer\n", capsys.readouterr().out)
    assert main(["inspect", "--json", str(text)]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["kind"], facts["arch"]) == ("ptx", "compute_90")
    assert [kernel["name"] for kernel in facts["kernels"]] == ["add"]


@pytest.mark.parametrize("arch", ["sm_90a", "sm_80,sm_90a,compute_80"])
def test_inspect_of_a_module_shows_its_images(arch: str, source: Path, tmp_path: Path, capsys):
    archs = arch.split(",")
    path = tc.build_inline("shown", source.read_text(), arch=archs)
    copy = shutil.copy(path, tmp_path / "elsewhere.so")
    assert main(["inspect", str(copy)]) == 0
    title, *images = capsys.readouterr().out.split("\n\n")
    lines = [line.strip() for line in title.splitlines()]
    assert lines[0].endswith(" bytes, 1 embedded")
    assert lines[1].startswith(f"made by tvmffi_cubin {tc.__version__}, tvm_ffi ")
    assert lines[2:] == [
        "add(float* x, int n)",
        "launches add in the shape that the caller gives",
    ]
    assert [image.split(":")[0] for image in images] == [f"image kernels, {x}" for x in archs]
    assert [" 256 B " in image for image in images] == ["compute" not in x for x in archs]
    assert main(["inspect", "--json", str(copy)]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["kind"] == "module"
    assert facts["functions"]["add"]["params"] == [["x", "float*"], ["n", "int"]]
    (image,) = facts["images"]
    assert image["name"] == "kernels"
    assert [x["arch"] for x in image.get("members", [image])] == archs


def test_inspect_of_a_wrapper_needs_nothing_beside_it(tmp_path: Path, capsys):
    wrapper = WRAPPER.format(name="shown")
    path = tc.build_inline("wrapper", [SOURCE, wrapper], arch="sm_90")
    copy = shutil.copy(path, tmp_path / "alone.so")
    assert main(["inspect", str(copy)]) == 0
    output = capsys.readouterr().out
    assert "image kernels, sm_90: cubin, " in output
    assert "\n  shown\n" in output


def test_inspect_of_another_library_does_not_load_it(tmp_path: Path, capsys):
    assert main(["inspect", tc.__file__.replace("__init__.py", "none.so")]) == 1
    capsys.readouterr()
    source = tmp_path / "loud.c"
    source.write_text("__attribute__((constructor)) void f(void) { __builtin_trap(); }\n")
    library = tmp_path / "loud.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    assert main(["inspect", str(library)]) == 1
    assert "it carries nothing of this package or of tvm-ffi" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("target_type", "suffix", "said"),
    [
        ("relocatable", ".cubin", "add "),
        ("ltoir", ".ltoir", "It is LTO-IR, yet to be linked."),
        ("ptx", ".ptx", "add "),
    ],
)
def test_compile_makes_what_is_to_be_linked_too(
    source: Path, target_type: str, suffix: str, said: str, capsys
):
    assert main(["compile", str(source), "--arch", "sm_90", "--target-type", target_type]) == 0
    assert said in capsys.readouterr().out
    data = source.with_suffix(suffix).read_bytes()
    if target_type == "ptx":
        assert b".target sm_90" in data
    else:
        assert nvjitlink.link([data], arch="sm_90").kind == "cubin"


def test_compile_passes_options_and_include_folders(tmp_path: Path, capsys):
    (tmp_path / "inc").mkdir()
    (tmp_path / "inc" / "size.h").write_text("#define SIZE WANTED\n")
    source = tmp_path / "k.cu"
    source.write_text("""
    #include "size.h"
    extern "C" __global__ void k(int* x) {
      __shared__ int s[SIZE];
      s[threadIdx.x] = x[threadIdx.x];
      __syncthreads();
      x[threadIdx.x] = s[SIZE - 1 - threadIdx.x];
    }""")
    arguments = ["-I", str(tmp_path / "inc"), "--option=-DWANTED=32", "--arch=sm_80"]
    assert main(["compile", str(source), *arguments]) == 0
    assert " 128 B " in capsys.readouterr().out


def test_a_source_that_does_not_compile_shows_its_line(tmp_path: Path, capsys):
    source = tmp_path / "bad.cu"
    source.write_text("__global__ void k(float* x) { x[0] = y; }\n")
    assert main(["compile", str(source), "--arch", "sm_90a"]) == 1
    error = capsys.readouterr().err
    assert 'identifier "y" is undefined' in error
    assert not source.with_suffix(".cubin").exists()


def test_compile_into_a_folder_that_does_not_exist_names_it(source: Path, tmp_path: Path, capsys):
    output = tmp_path / "missing" / "out.cubin"
    assert main(["compile", str(source), "--arch", "sm_90a", "-o", str(output)]) == 1
    assert f"{output}: its folder does not exist" in capsys.readouterr().err


def test_inspect_of_something_else_says_what_it_is(source: Path, capsys):
    assert main(["inspect", str(source)]) == 1
    assert f"{source}: it is CUDA source" in capsys.readouterr().err


def test_inspect_of_a_missing_file_names_it(capsys):
    assert main(["inspect", "/nonexistent/x.cubin"]) == 1
    assert "/nonexistent/x.cubin: No such file or directory" in capsys.readouterr().err


@pytest.mark.usefixtures("no_driver")
def test_doctor_without_a_gpu_finds_all_that_builds_need(capsys):
    assert main(["doctor"]) == 0
    output = capsys.readouterr().out
    assert "Everything needed to build is here." in output
    wanted = (
        "tvm-ffi",
        "ninja",
        "C++ compiler",
        "linker",
        "NVRTC",
        "nvFatbin",
        "nvJitLink",
        "cache",
    )
    for what in wanted:
        assert f"ok       {what} " in output
    assert "note     driver " in output


@pytest.mark.usefixtures("no_driver")
def test_doctor_names_the_wheels_of_libraries_that_only_some_builds_need(monkeypatch, capsys):
    cuda = libraries.find_cuda()
    without = {"nvfatbin", "nvjitlink"}
    bare = cuda._replace(parts={x: path for x, path in cuda.parts.items() if x not in without})
    monkeypatch.setattr(libraries, "find_cuda", lambda: bare)
    assert main(["doctor"]) == 0
    output = capsys.readouterr().out
    for part in ("nvfatbin", "nvjitlink"):
        assert f"pip install {cuda.wheels[part]} brings it" in output


def test_doctor_names_nvcc_and_a_driver_that_is_too_old_for_it(driver_stub, monkeypatch, capsys):
    made = nvcc.Nvcc("/opt/nvcc", "", "99.1", "", (), "")
    monkeypatch.setattr(nvcc, "find_nvcc", lambda: made)
    main(["doctor"])
    assert "note     nvcc           99.1, /opt/nvcc; " in (output := capsys.readouterr().out)
    assert "launches nothing that it builds" in output
    monkeypatch.setattr(nvcc, "find_nvcc", lambda: made._replace(version="12.0"))
    main(["doctor"])
    assert 'ok       nvcc           12.0, /opt/nvcc; for compiler="nvcc"' in capsys.readouterr().out


def test_doctor_lists_devices(driver_stub: DriverStub, capsys):
    driver_stub.set_devices(90, 80)
    assert main(["doctor"]) == 0
    output = capsys.readouterr().out
    assert "device 0" in output
    assert "device 1" in output
    assert "a GPU to launch on" in output


def test_doctor_names_a_driver_that_is_too_old(driver_stub: DriverStub, capsys):
    driver_stub.set_driver_version(11080)
    assert main(["doctor"]) == 1
    assert "CUDA 11.8 is too old to launch with" in capsys.readouterr().out


def test_doctor_names_the_package_of_what_is_missing(monkeypatch, tmp_path: Path, capsys):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    assert main(["doctor"]) == 1
    output = capsys.readouterr().out
    assert "apt install g++" in output
    assert "apt install binutils" in output
    assert "3 problems" in output


def test_doctor_names_a_cache_folder_that_cannot_be_written(monkeypatch, tmp_path: Path, capsys):
    (tmp_path / "file").touch()
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(tmp_path / "file" / "cache"))
    assert main(["doctor"]) == 1
    assert "set TVMFFI_CUBIN_CACHE_DIR to a folder that can be" in capsys.readouterr().out


def test_doctor_names_a_cache_folder_that_others_may_write(monkeypatch, tmp_path: Path, capsys):
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(tmp_path))
    tmp_path.chmod(0o777)
    assert main(["doctor"]) == 1
    assert f"chmod -R go-w {tmp_path}" in capsys.readouterr().out


def test_doctor_says_what_the_cache_is_used_for(monkeypatch, tmp_path: Path, capsys):
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE", "read")
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_PATH", str(tmp_path))
    assert main(["doctor"]) == 0
    output = capsys.readouterr().out
    assert f"after layer {tmp_path}" in output
    assert "TVMFFI_CUBIN_CACHE=read: what is built is not kept" in output


def test_doctor_shows_no_secret(monkeypatch, capsys):
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_REMOTE_KEY", "hush hush hush hush")
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_REMOTE", "nosuch://me:hush@host/x")
    assert main(["doctor"]) == 1
    output = capsys.readouterr().out
    assert "TVMFFI_CUBIN_CACHE_REMOTE_KEY=(not shown)" in output
    assert "TVMFFI_CUBIN_CACHE_REMOTE=nosuch://host/x" in output
    assert "problem  remote cache" in output
    assert "hush" not in output


def test_doctor_names_the_remote_and_a_key_that_everybody_can_read(monkeypatch, capsys, tmp_path):
    pytest.importorskip("fsspec", reason="the remote cache needs the extra 'remote'")
    key = tmp_path / "key"
    key.write_bytes(b"hush hush hush hush")
    key.chmod(0o644)
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_REMOTE_KEY_FILE", str(key))
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_REMOTE", f"file://{tmp_path}/remote")
    assert main(["doctor"]) == 0
    output = capsys.readouterr().out
    assert f"ok       remote cache   {tmp_path}/remote, read and written, 1 s" in output
    assert f"can read its key; chmod o-r {key}" in output
