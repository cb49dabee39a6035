"""What is made to be taken elsewhere: modules, objects and programs, launched on a real device."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import tvm_ffi
import wrapper_sources

import tvmffi_cubin as tc
from tvmffi_cubin.__main__ import main
from tvmffi_cubin.cuda import libraries
from tvmffi_cubin.host import tools

from .kernels import SAXPY

torch = pytest.importorskip("torch", reason="the GPU tests compare with torch, which is missing")

ROOT = Path(__file__).resolve().parents[2]
LAUNCH = {"grid": "ceil_div(n, 256)", "block": 256, "args": {"n": "x.numel"}}
# A process that can import neither this package nor Triton.
LOADER = """
import sys
for name in ("tvmffi_cubin", "triton"):
    sys.modules[name] = None
import torch, tvm_ffi
mod = tvm_ffi.load_module(sys.argv[1])
x = torch.rand(100_001, device="cuda")
y = torch.rand_like(x)
expected = 2.0 * x + y
mod.saxpy(2.0, x, y)
torch.testing.assert_close(y, expected)
try:
    mod.saxpy(2.0, x, y.cpu())
except ValueError as error:
    print("refused:", error)
stream = torch.cuda.Stream()
with torch.cuda.stream(stream):
    mod.saxpy(-2.0, x, y)
stream.synchronize()
torch.testing.assert_close(y, expected - 2.0 * x)
for name in ("tvmffi_cubin", "triton"):
    try:
        __import__(name)
    except ImportError:
        continue
    raise SystemExit(f"{name} can be imported")
print("launched")
"""


def run(*command: str | Path, **options) -> str:
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False, **options
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def launched_elsewhere(path: Path) -> None:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("TVMFFI_CUBIN_")}
    output = run(sys.executable, "-c", LOADER, path, env=environment, cwd=path.parent)
    assert output.splitlines()[-1] == "launched"
    assert "refused: " in output


def test_a_module_is_launched_by_tvm_ffi_alone_in_another_process(tmp_path: Path):
    path = tmp_path / "libsaxpy.so"
    tc.build_inline("saxpy", SAXPY, functions={"saxpy": tc.Launch(**LAUNCH)}, output=path)
    run("strip", path)
    launched_elsewhere(path)
    own = tc.nvrtc.resolve_arch()
    assert [image.arch for image in tc.inspect(path).images] == [own]
    assert tc.load_module(path).cubins["kernels"].arch == own


def test_a_module_of_an_image_alone_is_launched_by_tvm_ffi_alone(tmp_path: Path):
    image = tmp_path / "saxpy.cubin"
    image.write_bytes(tc.nvrtc.compile(SAXPY).image)
    path = tmp_path / "libsaxpy.so"
    launch = {**LAUNCH, "params": "float a, const float* x, float* y, int64_t n"}
    functions = json.dumps({"saxpy": launch})
    assert main(["embed", str(image), "-o", str(path), "--functions", functions]) == 0
    launched_elsewhere(path)


def test_an_image_in_an_object_file_is_linked_and_launched(tmp_path: Path):
    source, made, image = tmp_path / "w.cc", tmp_path / "w.o", tmp_path / "kernels.image"
    source.write_text(wrapper_sources.DRIVER)
    paths, include = tools.tvm_ffi_paths(), tools.include_dir()
    folders = [include / "tvmffi_cubin" / "compat", include, paths.include]
    system = [word for x in libraries.find_cuda().include_dirs for word in ("-isystem", x)]
    flags = ["-std=c++17", "-O1", "-fPIC", *(f"-I{folder}" for folder in folders), *system]
    run("g++", "-c", *flags, source, "-o", made)
    image.write_bytes(tc.nvrtc.compile(wrapper_sources.KERNELS).image)
    arguments = ["--input-obj", str(made), "--output-obj", str(made)]
    assert main(["embed", *arguments, "--cubin", str(image), "--name", "kernels"]) == 0
    library = tmp_path / "w.so"
    run("g++", "-shared", "-o", library, made, paths.library)
    mod = tvm_ffi.load_module(str(library))
    x = torch.arange(1000, dtype=torch.float32, device="cuda")
    y = torch.full_like(x, float("nan"))
    mod.add_one(x, y)
    torch.testing.assert_close(y, x + 1)


@pytest.mark.skipif(shutil.which("cmake") is None, reason="cmake is not installed")
def test_the_cmake_example_computes_what_it_should(tmp_path: Path):
    build = tmp_path / "build"
    own = f"-Dtvmffi_cubin_DIR={ROOT / 'tvmffi_cubin' / 'cmake'}"
    python = f"-Dtvmffi_cubin_PYTHON={sys.executable}"
    ninja = f"-DCMAKE_MAKE_PROGRAM={tools.find_ninja()}"
    source = ROOT / "examples" / "cmake"
    run("cmake", "-S", source, "-B", build, "-G", "Ninja", own, python, ninja)
    run("cmake", "--build", build)
    assert run(build / "saxpy") == "saxpy gave 3 for each of 1048576 elements\n"
