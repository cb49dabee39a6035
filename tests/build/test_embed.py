"""`tvmffi-cubin embed`: images in object files, and modules of images alone."""

import ctypes
import json
from pathlib import Path

import pytest
import tvm_ffi
import wrapper_sources
from file_kit import linked
from inline_source import SAXPY
from processes import run
from stub.cuda_array import cuda_array
from stub.driver_stub import DriverStub
from wrapper_workshop import include_flags

import tvmffi_cubin as tc
from tvmffi_cubin.__main__ import main

SOURCE = f"""{SAXPY}
extern "C" __global__ void fill(float* x, int n) {{ if (threadIdx.x < n) x[threadIdx.x] = 1; }}
"""
LAUNCH = {
    "params": "float a, const float* x, float* y, int n",
    "grid": ["ceil_div(n, 256)", 2],
    "block": 256,
    "args": {"n": "x.numel"},
}
# What the macros declare; both the table and the bytes themselves are read.
USER = """
#define EMBED(name) \\
  extern const char __tvm_ffi__cubin_##name[] __attribute__((visibility("hidden"))); \\
  extern const char __tvm_ffi__cubin_##name##_end[] __attribute__((visibility("hidden"))); \\
  extern const void* const __tvmffi_cubin_image_##name[4] \\
      __attribute__((visibility("hidden"))); \\
  const void* table_##name(int i) { return __tvmffi_cubin_image_##name[i]; } \\
  const void* first_##name(void) { return __tvm_ffi__cubin_##name; } \\
  unsigned long size_##name(void) { \\
    return __tvm_ffi__cubin_##name##_end - __tvm_ffi__cubin_##name; }
"""


@pytest.fixture(scope="module")
def cubin(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return tc.nvrtc.compile(SOURCE, arch="sm_90").image


@pytest.fixture(autouse=True)
def _cubin(here: Path, cubin: bytes) -> None:
    Path("k.cubin").write_bytes(cubin)


def compiled(*names: str) -> None:
    Path("a.c").write_text(USER + "".join(f"EMBED({name})\n" for name in names))
    run("gcc", "-fPIC", "-g", "-ffunction-sections", "-fdata-sections", "-c", "a.c", "-o", "a.o")


def embed(name: str, *, image: str = "k.cubin", source: str = "a.o", output: str = "b.o") -> int:
    arguments = ["--input-obj", source, "--output-obj", output, "--cubin", image, "-v"]
    return main(["embed", *arguments, "--name", name])


def image_of(library: object, name: str) -> bytes:
    """Read an image back by way of the code that declares it, and check its table."""
    loaded = ctypes.CDLL(str(library))
    first, size, table = (loaded[f"{what}_{name}"] for what in ("first", "size", "table"))
    first.restype = table.restype = ctypes.c_void_p
    size.restype = ctypes.c_ulong
    assert table(0) == first()
    assert table(1) - table(0) == size()
    assert ctypes.string_at(table(2)) == b"sm_90"
    assert first() % 64 == 0
    return ctypes.string_at(first(), size())


def test_images_are_read_back_by_the_code_that_declares_them(cubin: bytes):
    compiled("one", "two")
    assert embed("one") == 0
    assert embed("two", source="b.o", output="b.o") == 0
    library = linked("b.o")
    assert image_of(library, "one") == image_of(library, "two") == cubin
    for file in ("b.o", library):
        found = {(image.name, image.arch) for image in tc.inspect(file).images}
        assert found == {("one", "sm_90"), ("two", "sm_90")}


def test_an_image_that_is_there_already_is_not_hidden_behind_another(capsys):
    compiled("k")
    assert embed("k") == 0
    assert embed("k", source="b.o", output="c.o") == 1
    assert "b.o: it already has an image 'k'" in capsys.readouterr().err
    assert not Path("c.o").exists()


def test_an_object_of_an_image_alone_is_for_all_that_it_is_linked_with(cubin: bytes):
    compiled("k")
    arguments = ["--output-obj", "made/image.o", "--cubin", "k.cubin", "--name", "k"]
    assert main(["embed", *arguments]) == 0
    library = linked("a.o", "made/image.o")
    assert image_of(library, "k") == cubin
    assert "cubin" not in run("nm", "-D", library)


def test_the_macros_code_launches_what_was_embedded(driver_stub: DriverStub):
    Path("w.cc").write_text(wrapper_sources.DRIVER)
    run("g++", "-std=c++17", "-O0", "-fPIC", "-c", "w.cc", *include_flags())
    Path("add.cubin").write_bytes(tc.nvrtc.compile(wrapper_sources.KERNELS, arch="sm_90").image)
    assert embed("kernels", image="add.cubin", source="w.o", output="w.o") == 0
    mod = tvm_ffi.load_module(linked("w.o"))
    mod.add_one(cuda_array(driver_stub, 8), cuda_array(driver_stub, 8))
    assert [launch.kernel for launch in driver_stub.launches()] == ["add_one"]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            "embed --cubin k.cubin --output-obj b.o --input-obj none.o --name k",
            "No such file or directory: 'none.o'",
        ),
        ("embed --cubin k.cubin --output-obj b.o --name 2k", "--name: '2k' is not a valid C"),
        ("embed --cubin k.cubin --output-obj k.cubin --name k", "k.cubin is the image itself"),
        ("embed none.cubin -o libk.so", "No such file"),
        ("embed k.cubin k.cubin -o libk.so", "are both named 'k': pass other=k.cubin"),
        ("embed k.cubin -o libk.so --functions bad.json", "bad.json: Expecting property name"),
        ("embed k.cubin -o libk.so --functions odd.json", "functions.saxpy: Launch: block: inva"),
        ("describe bad.json", "bad.json: "),
    ],
)
def test_what_cannot_be_is_one_line(arguments: str, text: str, capsys):
    Path("bad.json").write_text("{")
    Path("odd.json").write_text('{"saxpy": {"block": ""}}')
    before = {*Path().iterdir()}
    assert main(arguments.split()) == 1
    error = capsys.readouterr().err
    assert error.startswith("tvmffi-cubin: error: ")
    assert text in error
    assert {*Path().iterdir()} == before


def test_what_describe_writes_is_edited_and_built_again(driver_stub: DriverStub, capsys):
    functions = json.dumps({"saxpy": LAUNCH})
    assert main(["embed", "k.cubin", "-o", "libk.so", "--functions", functions]) == 0
    assert "saxpy(float a, const float* x, float* y)" in capsys.readouterr().out
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
    mod = tc.load_module(Path("again.so").absolute())
    x, y = cuda_array(driver_stub, 8), cuda_array(driver_stub, 8)
    mod.saxpy(2.0, x, y)
    (launch,) = driver_stub.launches()
    assert (launch.grid, launch.block) == ((24, 2, 1), (256, 1, 1))
    assert launch.values("fPPi") == (2.0, x.data_ptr, y.data_ptr, 8)
    assert (mod.manifest["name"], [*mod.cubins]) == ("libk", ["k"])
    assert main(["embed", "k.cubin", "-o", "every.so"]) == 0
    assert {*tc.inspect("every.so").functions} == {"saxpy", "fill"}
