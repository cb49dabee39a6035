"""The CMake package: the example, rebuilding, and what is refused."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import tvm_ffi
import wrapper_sources
from file_kit import write
from processes import run
from stub.cuda_array import cuda_array
from stub.driver_stub import DriverStub

import tvmffi_cubin as tc
from tvmffi_cubin.__main__ import main

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "tvmffi_cubin" / "cmake"
CMAKE = shutil.which("cmake")


def is_missing() -> bool:
    said = run(CMAKE, "--version") if CMAKE else ""
    found = re.search(r"(\d+)\.(\d+)", said)
    return found is None or (int(found[1]), int(found[2])) < (3, 20)


pytestmark = pytest.mark.skipif(is_missing(), reason="no cmake 3.20: pip install cmake")


def cmake(*arguments: str | Path, fails: bool = False) -> str:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    command = [str(CMAKE), *map(str, arguments)]
    done = subprocess.run(command, check=False, env={**os.environ, "PATH": path}, **options)
    assert (done.returncode != 0) is fails, done.stdout
    return done.stdout


def configure(source: Path, build: Path, *, fails: bool = False) -> str:
    own = [f"-Dtvmffi_cubin_DIR={PACKAGE}", f"-Dtvmffi_cubin_PYTHON={sys.executable}"]
    return cmake("-S", source, "-B", build, "-G", "Ninja", *own, fails=fails)


def project(folder: Path, text: str, *, language: str = "CXX") -> Path:
    head = f"cmake_minimum_required(VERSION 3.20)\nproject(p LANGUAGES {language})\n"
    return write(folder / "CMakeLists.txt", head + text).parent


def test_the_example_builds_runs_and_is_built_again_when_a_header_changes(tmp_path, driver_stub):
    source, build = tmp_path / "the source", tmp_path / "the build"
    shutil.copytree(ROOT / "examples" / "cmake", source)
    configure(source, build)
    cmake("--build", build)
    program, image = build / "saxpy", build / "saxpy.fatbin"
    assert tc.inspect(image).images[0].arch == "sm_80, sm_90, compute_90"

    # The stand-in launches it, and computes nothing.
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "saxpy gave 1, not 3\n"), done.stderr

    before = image.stat().st_mtime_ns, program.stat().st_mtime_ns
    cmake("--build", build)
    assert (image.stat().st_mtime_ns, program.stat().st_mtime_ns) == before
    header = source / "elements.cuh"
    header.write_text(header.read_text().replace("return ", "return 1 * "))
    cmake("--build", build)
    assert image.stat().st_mtime_ns > before[0]
    assert program.stat().st_mtime_ns > before[1]
    assert image.read_bytes() in program.read_bytes()


def test_a_library_of_the_guide_s_wrapper_has_its_kernels(tmp_path: Path, driver_stub: DriverStub):
    source = project(
        tmp_path / "s",
        "find_package(tvmffi_cubin 0.1 CONFIG REQUIRED COMPONENTS tvm_ffi_names)\n"
        "add_tvm_ffi_fatbin(image CUDA k.cu ARCH sm_80 sm_90)\n"
        'add_library(w MODULE w.cc)\nset_target_properties(w PROPERTIES PREFIX "")\n'
        "target_link_libraries(w tvmffi_cubin::compat)\n"
        "tvm_ffi_embed_bin_into(w SYMBOL kernels BIN $<TARGET_OBJECTS:image>)\n",
    )
    (source / "k.cu").write_text(wrapper_sources.KERNELS)
    (source / "w.cc").write_text(wrapper_sources.DRIVER)
    configure(source, tmp_path / "b")
    cmake("--build", tmp_path / "b")
    mod = tvm_ffi.load_module(str(tmp_path / "b" / "w.so"))
    mod.add_one(cuda_array(driver_stub, 8), cuda_array(driver_stub, 8))
    assert [launch.kernel for launch in driver_stub.launches()] == ["add_one"]
    assert [image.arch for image in tc.inspect(tmp_path / "b" / "w.so").images] == ["sm_80, sm_90"]


def test_every_kind_of_image_is_compiled_with_its_options(tmp_path: Path):
    source = project(
        tmp_path / "s",
        "find_package(tvmffi_cubin CONFIG REQUIRED)\n"
        "tvmffi_cubin_compile(one.cubin SOURCES k.cu two.cu ARCH sm_90\n"
        '  OPTIONS "-DVALUE=1 + 1" INCLUDE_DIRECTORIES "an include")\n'
        "tvmffi_cubin_compile(sub/k.ptx SOURCES k.cu ARCH compute_90 OPTIONS -DVALUE=3\n"
        '  INCLUDE_DIRECTORIES "an include" NAME_EXPRESSIONS "fill<float, 4>")\n'
        "add_custom_target(all_images ALL DEPENDS\n"
        "  ${CMAKE_CURRENT_BINARY_DIR}/one.cubin ${CMAKE_CURRENT_BINARY_DIR}/sub/k.ptx)\n",
        language="NONE",
    )
    write(source / "an include/value.cuh", "__device__ int given = VALUE;\n")
    text = "template <class T, int N> __global__ void fill(T* x) { x[N] = N; }\n"
    text += 'extern "C" __global__ void k(int* x) { *x = given; }\n'
    write(source / "k.cu", '#include "value.cuh"\n' + text)
    write(source / "two.cu", 'extern "C" __global__ void two(int* x) { *x = 2; }\n')
    build = tmp_path / "b"
    configure(source, build)
    cmake("--build", build)
    assert {kernel.name for kernel in tc.inspect(build / "one.cubin").kernels} == {"k", "two"}
    assert "fill<float, 4>" in tc.inspect(build / "sub" / "k.ptx").text()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tvmffi_cubin_compile(k.cubin SOURCES k.cu)", "ARCH is missing"),
        ("tvmffi_cubin_embed(none NAME k CUBIN k.cubin)", "there is no target none"),
        ("add_library(o OBJECT k.cc)\ntvmffi_cubin_embed(o NAME k CUBIN c)", "OBJECT_LIBRARY"),
    ],
)
def test_what_cannot_be_is_told_when_the_project_is_configured(text, message, tmp_path):
    source = project(tmp_path / "s", f"find_package(tvmffi_cubin CONFIG REQUIRED)\n{text}\n")
    (source / "k.cc").write_text("")
    output = configure(source, tmp_path / "b", fails=True)
    assert message in " ".join(output.split())


def test_the_command_line_tells_where_the_package_is(capsys):
    assert main(["--cmake-dir"]) == 0
    assert capsys.readouterr().out == f"{PACKAGE}\n"
