"""`tvmffi-cubin embed k.cubin -o libk.so`: a module of typed functions from images alone."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest
from stub.cuda_array import cuda_array
from stub.driver_stub import DriverStub

import tvmffi_cubin as tc
from tvmffi_cubin.__main__ import main

SOURCE = """
extern "C" __global__ void saxpy(float a, const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
extern "C" __global__ void fill(float* x, int n) { if (threadIdx.x < n) x[threadIdx.x] = 1; }
"""
SAXPY = [
    *("--function", "saxpy", "--params", "float a, const float* x, float* y, int n"),
    *("--grid", "ceil_div(n, 256), 2", "--block", "256", "--arg", "n=x.numel"),
]
FUNCTIONS = {
    "saxpy": {
        "params": "float a, const float* x, float* y, int n",
        "grid": "ceil_div(n, 256)",
        "block": 256,
        "args": {"n": "x.numel"},
    }
}


@pytest.fixture(autouse=True)
def _cubin(here: Path) -> None:
    Path("k.cubin").write_bytes(tc.nvrtc.compile(SOURCE, arch="sm_90").image)


def load(path: str) -> tc.Module:
    return tc.load_module(Path(path).absolute())


def test_a_function_with_its_launch_becomes_a_module(driver_stub: DriverStub, capsys):
    assert main(["embed", "k.cubin", "-o", "libk.so", *SAXPY]) == 0
    assert "saxpy(float a, const float* x, float* y)" in capsys.readouterr().out
    mod = load("libk.so")
    x, y = cuda_array(driver_stub, 1000), cuda_array(driver_stub, 1000)
    mod.saxpy(2.0, x, y)
    (launch,) = driver_stub.launches()
    assert (launch.grid, launch.block) == ((4, 2, 1), (256, 1, 1))
    assert launch.values("fPPi") == (2.0, x.data_ptr, y.data_ptr, 1000)
    assert mod.manifest["name"] == "libk"
    assert list(mod.cubins) == ["k"]


def test_several_functions_each_have_the_options_that_follow_them(driver_stub: DriverStub):
    fill = ["--function", "ones", "--kernel", "fill", "--params", "float* x, int n"]
    assert main(["embed", "k.cubin", "-o", "libk.so", *SAXPY, *fill]) == 0
    mod = load("libk.so")
    assert mod.functions == ("saxpy", "ones")
    mod.ones[3, 32](cuda_array(driver_stub, 8), 8)
    (launch,) = driver_stub.launches()
    assert (launch.kernel, launch.grid) == ("fill", (3, 1, 1))


def test_a_file_that_can_be_read_once_will_do(here: Path):
    os.mkfifo("fifo")
    writer = threading.Thread(target=Path("fifo").write_text, args=(json.dumps(FUNCTIONS),))
    writer.start()
    assert main(["embed", "k.cubin", "-o", "libk.so", "--functions", "fifo"]) == 0
    writer.join()
    assert load("libk.so").functions == ("saxpy",)


FULL = {
    "schema": "2.0",
    "name": "ops",
    "images": {"k": {"path": "k.cubin"}},
    "functions": {
        "saxpy": {
            "doc": "Adds.",
            "launches": [
                {
                    "kernel": "fill",
                    "params": "float* y, int m",
                    "grid": 1,
                    "block": 32,
                    "args": {"m": 7},
                },
                {
                    "params": "float a, const float* x, float* y, int n",
                    "grid": 1,
                    "block": 32,
                    "args": {"a": {"Float": "inf"}, "n": "x.numel"},
                },
            ],
        }
    },
}


def test_a_file_in_full_names_its_images(driver_stub: DriverStub, here: Path):
    Path("elsewhere").mkdir()
    Path("k.cubin").rename("elsewhere/k.cubin")
    Path("elsewhere/ops.json").write_text(json.dumps(FULL))
    assert main(["embed", "-o", "libk.so", "--functions", "elsewhere/ops.json"]) == 0
    mod = load("libk.so")
    x, y = cuda_array(driver_stub, 8), cuda_array(driver_stub, 8)
    mod.saxpy(y, x)
    fill, saxpy = driver_stub.launches()
    assert fill.values("Pi") == (y.data_ptr, 7)
    assert saxpy.values("fPPi") == (float("inf"), x.data_ptr, y.data_ptr, 8)
    assert mod.manifest["name"] == "ops"
    assert "Adds." in tc.inspect("libk.so").text()


def test_what_describe_writes_is_edited_and_built_again(driver_stub: DriverStub, capsys):
    assert main(["embed", "k.cubin", "-o", "libk.so", *SAXPY]) == 0
    capsys.readouterr()
    assert main(["describe", "libk.so"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert main(["describe", "libk.so", "-o", "d.json"]) == 0
    assert capsys.readouterr().out.split() == ["d.json", "d.k.cubin"]
    written = json.loads(Path("d.json").read_text())
    assert written["functions"] == printed["functions"]
    assert written["images"] == {"k": {"path": "d.k.cubin"}}
    assert Path("d.k.cubin").read_bytes() == Path("k.cubin").read_bytes()
    Path("d.json").write_text(Path("d.json").read_text().replace("ceil_div(n, 256)", "n * 3"))
    assert main(["embed", "-o", "again.so", "--functions", "d.json"]) == 0
    load("again.so").saxpy(2.0, cuda_array(driver_stub, 8), cuda_array(driver_stub, 8))
    assert driver_stub.launches()[-1].grid == (24, 2, 1)
    assert main(["describe", "k.cubin"]) == 1
    assert "error: k.cubin: " in capsys.readouterr().err


def test_what_describe_is_not_to_write_is_told_and_nothing_is_written(here: Path, capsys):
    assert main(["embed", "k.cubin", "-o", "libk.so", *SAXPY]) == 0
    content, files = Path("libk.so").read_bytes(), sorted(here.iterdir())
    for output, text in (
        ("libk.so", "libk.so: this is the module itself: name another file"),
        (".", "error: "),
    ):
        assert main(["describe", "libk.so", "-o", output]) == 1
        assert text in capsys.readouterr().err
    assert Path("libk.so").read_bytes() == content
    assert sorted(here.iterdir()) == files


def test_several_images_are_told_apart_by_name(driver_stub: DriverStub):
    Path("k2.cubin").write_bytes(tc.nvrtc.compile(SOURCE, arch="sm_80").image)
    images = ["k.cubin", "older=k2.cubin"]
    assert main(["embed", *images, "-o", "libk.so", *SAXPY, "--image", "older"]) == 0
    assert tc.inspect("libk.so").functions[0].launches[0]["image"] == "older"
    assert {x.name: x.arch for x in tc.inspect("libk.so").images} == {
        "k": "sm_90",
        "older": "sm_80",
    }


def test_an_image_has_a_name_that_c_can_have_whatever_its_file_is_called():
    Path("k $x'é.cubin").write_bytes(Path("k.cubin").read_bytes())
    assert main(["embed", "k $x'é.cubin", "-o", "libk.so"]) == 0
    assert [image.name for image in tc.inspect("libk.so").images] == ["k__x__"]


def test_without_functions_every_kernel_is_one_by_the_sizes_of_its_parameters(
    driver_stub: DriverStub,
):
    assert main(["embed", "k.cubin", "-o", "libk.so"]) == 0
    mod = load("libk.so")
    assert set(mod.functions) == {"saxpy", "fill"}
    x = cuda_array(driver_stub, 8)
    mod.fill[2, 32](x, 8)
    (launch,) = driver_stub.launches()
    assert (launch.grid, launch.values("Pi")) == ((2, 1, 1), (x.data_ptr, 8))


@pytest.mark.parametrize(
    ("options", "kinds"),
    [
        (["--arch", "sm_90"], {"sm_90": "cubin"}),
        (["--arch", "sm_80,sm_90"], {"sm_80, sm_90": "fatbin"}),
        (["--ptx", "keep"], {"compute_80": "ptx"}),
    ],
)
def test_ptx_is_assembled_or_kept(options: list[str], kinds: dict[str, str]):
    Path("k.ptx").write_bytes(tc.nvrtc.compile(SOURCE, arch="compute_80").image)
    assert main(["embed", "k.ptx", "-o", "libk.so", *options]) == 0
    assert {x.arch: x.kind for x in tc.inspect("libk.so").images} == kinds


def test_an_object_is_made_as_well():
    assert main(["embed", "k.cubin", "-o", "k.o", *SAXPY]) == 0
    assert tc.inspect("k.o").kind == "object"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ("none.cubin -o libk.so", "No such file"),
        ("k.cubin -o none/libk.so", "none: output's folder is missing; make it first"),
        ("k.cubin -o libk.exe", "output 'libk.exe': a shared object ends in .so"),
        ("k.cubin k.cubin -o libk.so", "are both 'k': write other=k.cubin"),
        ("k.cubin -o libk.so --function f --grid 1", "--function f: Launch: a grid goes together"),
        ("k.cubin -o libk.so --function f --arg n", "--function f: --arg 'n': wanted NAME="),
        ("k.cubin -o libk.so --function f --grid 1 --grid 2", "--grid is given twice"),
        ("k.cubin -o libk.so --function f --grid 1( --block 1", "--function f: Launch: grid"),
        ("k.cubin -o libk.so --function nope", "function 'nope'"),
        ("k.cubin -o libk.so --functions bad.json", "bad.json: "),
        (
            "k.cubin -o libk.so --functions odd.json",
            "odd.json: functions.saxpy: Launch: block[0]",
        ),
        ("k.cubin -o libk.so --functions slip.json", "unexpected keyword argument 'parms'"),
        ("k.cubin -o libk.so --functions new.json", "this version of tvmffi_cubin reads 2.x"),
        ("-o libk.so --functions bare.json", "images.k: the description does not say where"),
        ("-o libk.so --functions two.json", "two.json names no image: give one beside it"),
        ("k.cubin -o libk.so --functions two.json --function k", "is a function of that name alr"),
    ],
)
def test_what_cannot_be_is_one_line(arguments: str, text: str, capsys):
    Path("bad.json").write_text("{")
    Path("new.json").write_text('{"schema": "3.0"}')
    Path("bare.json").write_text('{"images": {"k": {}}}')
    Path("two.json").write_text('{"k": {}}')
    Path("slip.json").write_text('{"saxpy": {"parms": "int n", "grid": "n", "block": 32}}')
    Path("odd.json").write_text('{"saxpy": {"block": ""}}')
    assert main(["embed", *arguments.split()]) == 1
    error = capsys.readouterr().err
    assert error.startswith("tvmffi-cubin: error: ")
    assert text in error
    assert not Path("libk.so").exists()


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ("", "give an image and -o, or --cubin, --output-obj and --name"),
        ("k.cubin", "give an image and -o"),
        ("k.cubin -o libk.so --grid 1", "--grid belongs to a function"),
        ("k.cubin -o k.so --functions a.json --functions b.json", "--functions is given twice"),
        ("--cubin k.cubin --output-obj k.o", "an object needs --output-obj, --cubin and --name"),
        ("--cubin k.cubin --output-obj k.o --name k --function f", "an object takes no functions"),
        ("--cubin k.cubin --output-obj k.o --name k --ptx keep", "--ptx are for a module"),
    ],
)
def test_what_is_missing_is_told_with_the_usage(arguments: str, text: str, capsys):
    with pytest.raises(SystemExit) as caught:
        main(["embed", *arguments.split()])
    assert caught.value.code == 2
    assert text in capsys.readouterr().err
