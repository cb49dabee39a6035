"""The command line, run as a user runs it; launches go to the driver stand-in."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from file_kit import write
from processes import in_new_process, run
from stub.driver_stub import DriverStub

import tvmffi_cubin as tc
from tvmffi_cubin.__main__ import main
from tvmffi_cubin.cuda import libraries

SOURCE = r"""
extern "C" __global__ void __launch_bounds__(64) add(float* x, int n) {
  __shared__ float tile[64];
  tile[threadIdx.x] = n;
  x[0] = tile[63 - threadIdx.x];
}
template <class T> __global__ void fill(T* x, T value) { x[threadIdx.x] = value; }
"""


@pytest.fixture
def source(here: Path) -> Path:
    path = here / "add.cu"
    path.write_text(SOURCE)
    return path


def test_usage_names_the_commands_and_the_version_at_once():
    code = "import sys; from tvmffi_cubin.__main__ import main\ntry: main()\n"
    code += "finally: print(sum(x.startswith(('tvm_ffi', 'tvmffi')) for x in sys.modules))"
    assert in_new_process(code, "--version") == f"tvmffi-cubin {tc.__version__}\n2"
    output = in_new_process(code, "--help")
    for command in ("demo", "doctor", "compile", "embed", "inspect", "describe", "warm", "cache"):
        assert f"    {command} " in output
    assert output.endswith("\n2")  # the package and its __main__
    without = subprocess.run(
        [sys.executable, "-m", "tvmffi_cubin"], stderr=subprocess.PIPE, check=False
    )
    assert (without.returncode, without.stderr[:19]) == (2, b"usage: tvmffi-cubin")


def test_demo_says_why_it_did_not_launch_or_checks_the_numbers(
    driver_stub: DriverStub, monkeypatch, capsys
):
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", "")  # which the command sets, is set back
    assert main(["demo"]) == 1
    assert "its results are wrong" in capsys.readouterr().out
    monkeypatch.setenv("TVMFFI_CUBIN_DRIVER", "/nonexistent/libcuda.so.1")
    monkeypatch.setenv("TVMFFI_CUBIN_ARCH", "sm_75")
    assert main(["demo"]) == 0
    output = capsys.readouterr().out
    assert "kernels: cubin for sm_75, " in output
    assert "Not launched: the CUDA driver found no GPU" in output


def test_compile_writes_an_image_and_says_what_is_in_it(source: Path, capsys):
    assert main(["compile", "add.cu", "--arch", "sm_90a", "-e", "fill<float>"]) == 0
    output = capsys.readouterr().out
    cubin = source.with_suffix(".cubin")
    assert output.startswith(f"add.cubin: cubin for sm_90a, {cubin.stat().st_size} bytes\n")
    assert main(["inspect", "add.cubin"]) == 0
    assert capsys.readouterr().out == output
    rows = {line.split()[0]: line.split() for line in output.splitlines()[2:]}
    assert rows["add"][2:] == ["256", "B", "0", "B", "64", "8,", "4", "bytes"]
    assert rows["fill<float>"][-2:] == ["float*,", "float"]


@pytest.mark.parametrize("words", ["add.cu -o -", "- < add.cu", "./-dash.cu -o -"])
def test_compile_and_inspect_are_parts_of_pipes(words: str, source: Path):
    (source.parent / "value.h").write_text("#define VALUE 1\n")
    for name in ("add.cu", "-dash.cu"):
        Path(name).write_text(f'#include "value.h"\n{SOURCE}')
    command = f'"$0" -m tvmffi_cubin compile {words} --arch sm_90 | "$0" -m tvmffi_cubin inspect -'
    assert "\nadd  " in run("sh", "-c", command, sys.executable)
    assert sorted(os.listdir()) == ["-dash.cu", "add.cu", "value.h"]


@pytest.mark.parametrize("kind", ["ptx", "fatbin", "ltoir"])
def test_compile_makes_what_the_suffix_says(kind, source: Path, capsys):
    assert main(["compile", "add.cu", "--arch", "sm_90", "-o", f"x.{kind}"]) == 0
    assert capsys.readouterr().out.startswith(f"x.{kind}: {kind}")
    assert tc.inspect(f"x.{kind}").kind == kind


def test_several_architectures_give_a_fatbin(source: Path, capsys):
    assert main(["compile", "add.cu", "--arch=sm_90a,compute_80", "--arch=sm_80"]) == 0
    title, *members = capsys.readouterr().out.split("\n\n")
    assert title.startswith("add.fatbin: fatbin for sm_80, sm_90a, compute_80, ")
    starts = ["cubin for sm_80, ", "cubin for sm_90a, ", "ptx "]
    for member, start in zip(members, starts, strict=True):
        assert member.startswith(f"add.fatbin: {start}")


def test_compile_passes_options_and_include_folders(here: Path, capsys):
    write("inc/size.h", "#define NAME WANTED\n")
    write("k.cu", '#include "size.h"\nextern "C" __global__ void NAME(int* x) {}')
    arguments = ["-I", "inc", "--option=-DWANTED=named", "--arch=sm_80", "--depfile", "k.d"]
    assert main(["compile", "k.cu", *arguments]) == 0
    assert "\nnamed  " in capsys.readouterr().out
    assert Path("k.d").read_text().replace(" \\\n ", "").split()[:2] == ["k.cubin:", "k.cu"]
    assert "inc/size.h" in Path("k.d").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("none.cu", "No such file or directory: '"),
        ("latin.cu", "latin.cu:1: 'utf-8' codec can't decode byte 0xe9"),
        ("add.cu --arch nonsense", 'is not an architecture: use "sm_80"'),
        ("add.cu -o add.cu", "add.cu is the source itself; pass another file"),
        ("bad.cu", "bad.cu does not compile for sm_90"),
        ("add.cu add.cu", "device code does not link for sm_90"),
    ],
)
def test_compile_says_in_a_line_what_it_cannot_take(arguments, message, source, capsys):
    Path("latin.cu").write_bytes(b"// caf\xe9\n" + SOURCE.encode())
    Path("bad.cu").write_text("__global__ void k(float* x) { x[0] = y; }\n")
    before = sorted(os.listdir())
    words = arguments.split()
    assert main(["compile", *words, *([] if "--arch" in words else ["--arch", "sm_90"])]) == 1
    error = capsys.readouterr().err
    assert error.startswith("tvmffi-cubin: error: ")
    assert message in error.splitlines()[0]
    assert sorted(os.listdir()) == before
    assert source.read_text() == SOURCE


def doctor(capsys, *, status: int = 0) -> str:
    assert main(["doctor"]) == status
    return capsys.readouterr().out


def test_doctor_without_a_gpu_finds_all_that_builds_need(monkeypatch, capsys):
    monkeypatch.setenv("TVMFFI_CUBIN_DRIVER", "/nonexistent/libcuda.so.1")
    output = doctor(capsys)
    assert "Everything needed to build was found." in output
    for what in ("tvm-ffi", "ninja", "C++ compiler", "linker", "NVRTC", "nvJitLink", "cache"):
        assert f"ok       {what} " in output
    assert "note     driver " in output
    cuda = libraries.find_cuda()
    without = {"nvfatbin", "nvjitlink"}
    bare = cuda._replace(parts={x: path for x, path in cuda.parts.items() if x not in without})
    monkeypatch.setattr(libraries, "find_cuda", lambda: bare)
    output = doctor(capsys)
    for part in without:
        assert f"run: pip install nvidia-{part}" in output


def test_doctor_lists_devices_and_what_is_too_old(driver_stub: DriverStub, capsys):
    driver_stub.set_devices(90, 80)
    output = doctor(capsys)
    assert "device 1" in output
    assert "a GPU to launch on" in output
    driver_stub.set_driver_version(11080)
    assert "CUDA 11.8 is too old to launch with" in doctor(capsys, status=1)


def test_doctor_looks_at_the_cache_folder(monkeypatch, tmp_path: Path, capsys):
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(tmp_path))
    tmp_path.chmod(0o777)
    assert f"cache folder {tmp_path} is unsafe" in doctor(capsys, status=1)
    (tmp_path / "file").touch()
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(tmp_path / "file" / "cache"))
    assert "set TVMFFI_CUBIN_CACHE_DIR to another folder" in doctor(capsys, status=1)
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE", "read")
    assert "/cache, read\n" in doctor(capsys)
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE", "require")
    assert "/cache, require\n" in doctor(capsys)


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("TVMFFI_CUBIN_ARCH", "sm_80,nonsense", "ARCH: 'nonsense' is not an architecture"),
        ("CXX", "false", "no output; set CXX to a compiler"),
        ("TVMFFI_CUBIN_CACHE_REMOTE", "nosuch://me:hush@host/x", "CACHE_REMOTE=nosuch://host/x"),
    ],
)
def test_doctor_says_which_variables_builds_would_refuse(
    variable, value, message, monkeypatch, capsys
):
    monkeypatch.setenv(variable, value)
    output = doctor(capsys, status=1)
    assert message in output
    assert "1 problem;" in output
    assert "hush" not in output
