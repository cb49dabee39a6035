"""The runtime's functions that are ours, beside objects that call libcudart's."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from file_kit import write
from wrapper_workshop import INCLUDE, include_flags

from tvmffi_cubin.host.toolchain import find_host_compiler
from tvmffi_cubin.kernels.elf import Elf, Symbol

OURS = "tvmffi_cubin_"
BOUND = "-DTVMFFI_CUBIN_BOUND_PARAMS"
DECLARED = """\
#define TVMFFI_CUBIN_COLD_COMPILED
#include <cuda_runtime.h>
#include <cuda_profiler_api.h>
"""
RENAMED = re.compile(rf"#pragma redefine_extname (\w+) {OURS}\1$", re.MULTILINE)


def run(*words: str, cwd: Path) -> str:
    command = [*find_host_compiler().command, "-std=c++17", "-fPIC", *include_flags(), *words]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=True).stdout


def symbols(path: Path) -> list[Symbol]:
    return list(Elf(path.read_bytes()).symbols(having="cuda"))


@pytest.mark.parametrize("flags", [[], [BOUND]], ids=["unbound", "bound"])
def test_each_of_them_has_a_symbol_of_its_own_and_no_other_function_has(flags, tmp_path):
    kept = str(INCLUDE / "tvmffi_cubin" / "cold.cc")
    run("-w", "-O0", *flags, "-c", kept, "-o", "cold.o", cwd=tmp_path)
    defined = {x.name for x in symbols(tmp_path / "cold.o") if x.is_placed}
    write(tmp_path / "declared.cc", DECLARED)
    told = run("-E", *flags, "declared.cc", cwd=tmp_path)
    renamed = {name for name in RENAMED.findall(told) if re.search(rf"\b{name} *\([^)]", told)}
    assert {name for name in defined if re.match(rf"({OURS})?cuda[A-Z]", name)} == {
        f"{OURS}{name}" for name in renamed
    }


def test_what_binds_parameters_may_be_called_where_it_is_only_declared(tmp_path):
    # Links of modules with bound parameters refuse calls of libcudart's.
    text = "auto run() { return cudaLaunchKernelExC(nullptr, nullptr, nullptr); }\n"
    write(tmp_path / "unit.cc", DECLARED + text)
    run(BOUND, "-c", "unit.cc", "-o", "unit.o", cwd=tmp_path)
    undefined = [x.name for x in symbols(tmp_path / "unit.o") if x.is_undefined]
    assert undefined == [f"{OURS}cudaLaunchKernelExC"]


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_a_header_of_cudas_may_have_declared_them_before(compiler, tmp_path, monkeypatch):
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    monkeypatch.setenv("CXX", compiler)
    text = "#include <channel_descriptor.h>\n#include <cuda_runtime.h>\n"
    write(tmp_path / "late.cc", text + "auto run() { return cudaGetLastError(); }\n")
    run("-c", "late.cc", "-o", "late.o", cwd=tmp_path)
    found = symbols(tmp_path / "late.o")
    assert any(x.is_placed and x.name.endswith("cudaGetLastError") for x in found)
