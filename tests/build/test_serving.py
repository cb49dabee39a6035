"""Stand-ins of SGLang and FlashInfer, and both themselves where they are installed, build here."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from nvcc_kit import FakeNvcc
from stub.cuda_array import cuda_array

import tvmffi_cubin as tc

STAND_INS = Path(__file__).parent / "serving"
SOURCE = r"""
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/function.h>
#include "value.h"
__global__ void fill(float* x, int n) {
  if (threadIdx.x < n) x[threadIdx.x] = VALUE;
}
int run(tvm::ffi::TensorView x) {
  fill<<<1, 32>>>(static_cast<float*>(x.data_ptr()), static_cast<int>(x.numel()));
  return VALUE;
}
TVM_FFI_DLL_EXPORT_TYPED_FUNC(run, (run));
"""
# The stand-in for nvcc alone declares that.
OF_NVCC = r"""
#include <tvm/ffi/function.h>
int run() { return cudaOfTheFake(); }
TVM_FFI_DLL_EXPORT_TYPED_FUNC(run, run);
"""


@pytest.fixture
def sources(tmp_path) -> Path:
    """A folder with the source, and that of its header."""
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "value.h").write_text("#define VALUE (ONE + 1)\n")
    (tmp_path / "ops.cu").write_text(SOURCE)
    return tmp_path


@pytest.fixture
def fake(tmp_path, monkeypatch) -> FakeNvcc:
    """The stand-in for nvcc, as the one to use."""
    for name in ("NVCC_CCBIN", "NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "CXX"):
        monkeypatch.delenv(name, raising=False)
    found = FakeNvcc(tmp_path / "cuda")
    monkeypatch.setenv("TVMFFI_CUBIN_NVCC", str(found.path))
    return found


@pytest.fixture
def stand_in(monkeypatch) -> Any:
    """Import a module anew, with the stand-ins in the place of the true packages."""
    # An integration may set it.
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE", "on")
    monkeypatch.delenv("TVMFFI_CUBIN_CACHE")
    monkeypatch.syspath_prepend(STAND_INS)

    def import_anew(module: str) -> Any:
        for name in [*sys.modules]:
            if name.startswith(("sglang", "flashinfer", "tvmffi_cubin.integrations.")):
                monkeypatch.delitem(sys.modules, name)
        return importlib.import_module(module)

    return import_anew


SGLANG, FLASHINFER = "sglang.kernels.jit.utils.compile.loader", "flashinfer.jit.core"


@pytest.fixture
def sglang(stand_in) -> Any:
    loader = stand_in(SGLANG)
    importlib.import_module("tvmffi_cubin.integrations.sglang")
    return loader


@pytest.fixture
def flashinfer(stand_in) -> Any:
    core = stand_in(FLASHINFER)
    importlib.import_module("tvmffi_cubin.integrations.flashinfer")
    return core


def load_sglang(loader: Any, sources: Path, unit: Any = None, **options: Any) -> Any:
    flags = {"cuda_cflags": ("-DONE=1",), "include_paths": (str(sources / "include"),)}
    unit = unit or loader.Unit("cuda.cu", True, SOURCE)
    return loader.load_jit("ops", unit, **{**flags, **options})


def flashinfer_spec(core: Any, sources: Path, **options: Any) -> Any:
    flags = {"extra_cuda_cflags": ["-DONE=COMMON"], "extra_include_dirs": [sources / "include"]}
    return core.JitSpecNvcc("ops", [sources / "ops.cu"], **{**flags, **options})


def refuse(*args: Any, **_: Any) -> None:
    raise AssertionError(f"a process is spawned: {args}")


def test_sglang_builds_here_and_finds_it_again_without_a_process(
    sglang, sources, driver_stub, monkeypatch
):
    assert load_sglang(sglang, sources).run(cuda_array(driver_stub, 4)) == 2
    unit = sglang.Unit(str(sources / "ops.cu"), True)
    files = load_sglang(sglang, sources, unit, cuda_cflags=("-DONE=2",))
    assert files.run(cuda_array(driver_stub, 4)) == 3
    monkeypatch.setattr(subprocess, "Popen", refuse)
    assert load_sglang(sglang, sources).run(cuda_array(driver_stub, 4)) == 2


def test_what_only_nvcc_builds_is_built_by_nvcc_with_one_line(sglang, fake, caplog):
    assert sglang.load_jit("ops", sglang.Unit("cuda.cu", True, OF_NVCC)).run() == 7
    (said,) = caplog.messages
    assert said.startswith("ops is built by nvcc, because of: ")
    assert len(fake.commands()) == 1


@pytest.mark.parametrize(
    ("flag", "mode"),
    [("SGLANG_CRASH_ON_JIT_COMPILE", "require"), ("SGLANG_JIT_FORCE_RECOMPILE", "off")],
)
def test_sglangs_own_flags_say_what_the_cache_is_for(flag, mode, stand_in, monkeypatch):
    monkeypatch.setenv(flag, "1")
    stand_in("tvmffi_cubin.integrations.sglang")
    assert tc.cache_info().mode == mode


def test_flashinfer_builds_here_and_finds_it_again_without_a_process(
    flashinfer, sources, driver_stub, monkeypatch
):
    spec = flashinfer_spec(flashinfer, sources)
    assert not spec.is_compiled
    assert spec.build_and_load().run(cuda_array(driver_stub, 4)) == 2
    assert spec.is_compiled
    assert spec.get_library_path().name == "ops.so"
    monkeypatch.setattr(subprocess, "Popen", refuse)
    monkeypatch.setenv("FLASHINFER_DISABLE_JIT", "1")
    assert flashinfer_spec(flashinfer, sources).build_and_load() is not None
    assert flashinfer.BUILT == []
    # What FlashInfer ships built comes first.
    monkeypatch.setitem(flashinfer.SHIPPED, "ops", "shipped")
    assert flashinfer_spec(flashinfer, sources).build_and_load() == "shipped"


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("needs_device_linking", True),
        ("extra_cuda_cflags_by_source", {Path("ops.cu"): ["-O1"]}),
        ("embedded_cubin_factory", dict),
    ],
)
def test_flashinfer_builds_itself_what_one_build_here_does_not(
    option, value, flashinfer, sources, caplog
):
    assert flashinfer_spec(flashinfer, sources, **{option: value}).build_and_load() == "theirs"
    assert caplog.messages == [f"ops is built by nvcc, because of: {option}"]
    assert flashinfer.BUILT == ["ops"]


def test_flashinfer_says_itself_that_nothing_may_be_built(stand_in, sources, monkeypatch):
    monkeypatch.setenv("FLASHINFER_DISABLE_JIT", "1")
    core = stand_in(FLASHINFER)
    importlib.import_module("tvmffi_cubin.integrations.flashinfer")
    with pytest.raises(core.MissingJITCacheError, match="ops"):
        flashinfer_spec(core, sources).build_and_load()


@pytest.mark.parametrize(
    ("module", "lacking", "tried"),
    [(SGLANG, "_find_prebuilt", "SGLang 0.5.23"), (FLASHINFER, "JitSpecNvcc", "FlashInfer 0.7.2")],
)
def test_another_version_is_one_error_that_says_which_is_known(
    module, lacking, tried, stand_in, monkeypatch
):
    monkeypatch.delattr(stand_in(module), lacking)
    with pytest.raises(ImportError, match=rf"no {lacking} in {module}.* written for {tried}"):
        importlib.import_module(f"tvmffi_cubin.integrations.{module.partition('.')[0]}")


def test_the_benchmark_records_what_a_site_asks_for(tmp_path):
    script = Path(__file__).parents[2] / "benchmarks" / "serving.py"
    command = [sys.executable, script, "--record", tmp_path, "--packages", STAND_INS]
    subprocess.run(command, check=True, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
    (found,) = json.loads((tmp_path / "sglang fill.fill_module/compile_commands.json").read_text())
    assert Path(found["file"]).read_text() == "// fill\n"
    assert found["arguments"][-3:] == ["-DHEAD=128", "-DFAST=0", "-DDEPTH=1"]
