"""The headers of mixed sources' host texts: what they promise, and what a mistake is told."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from wrapper_workshop import CPP, WARNINGS, include_flags, run

from tvmffi_cubin.host.toolchain import find_host_compiler

SYNTAX = ("-fsyntax-only", "-std=c++17", *WARNINGS)
MISTAKES = """
#include <tvmffi_cubin/mixed/qualifiers.h>
TVMFFI_CUBIN_MIXED_UNIT(own)
__global__ void k(float* x, int n)
    TVMFFI_CUBIN_STUB((static_cast<void (*)(decltype(x), decltype(n))>(&k)), x, n)
struct Text { const char* chars; };
void f(cudaStream_t stream, float* x, Text text) {
  (::tvmffi_cubin::KernelLaunch(text, 1), k(x, 1));
  (::tvmffi_cubin::KernelLaunch(1, 1, stream), k(x, 1));
  (::tvmffi_cubin::KernelLaunch(1, 1, 0, text), k(x, 1));
  (::tvmffi_cubin::KernelLaunch(1, 1, 0, 7), k(x, 1));
  (::tvmffi_cubin::KernelLaunch(1, 1), k(x));
  (::tvmffi_cubin::KernelLaunch(1, 1), k(1.5, x));
}
"""
CCCL = """
#include <tvmffi_cubin/mixed/qualifiers.h>
#include <cuda/std/array>
#include <cuda/std/complex>
#ifndef __CUDACC__
#error "the text is not told that it is CUDA's"
#endif
int f(cuda::std::array<int, 3> numbers, cuda::std::complex<float> number) {
  return numbers[0] + static_cast<int>(number.real());
}
"""


def refused(text: str, folder: Path, *flags: str) -> str:
    (folder / "text.cc").write_text(text)
    command = [*find_host_compiler().command, *SYNTAX, *flags, *include_flags(), "text.cc"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    return done.stderr


def test_what_host_texts_rely_on() -> None:
    compiler = find_host_compiler().command
    run(*compiler, *SYNTAX, *include_flags(), CPP / "mixed_static_asserts.cc")


def test_a_wrong_operand_or_argument_is_told_in_the_launch_s_own_words(tmp_path: Path) -> None:
    told = refused(MISTAKES, tmp_path)
    assert "the grid and the block of <<<grid, block>>> are numbers, dim3, or what" in told
    assert "the third operand of <<<grid, block, bytes, stream>>> is a number" in told
    assert "the fourth operand of <<<grid, block, bytes, stream>>> is a stream" in told
    for line in (10, 11, 12):
        assert f"text.cc:{line}:" in told


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        ("-DTVMFFI_CUBIN_WITH_CUDART", "libcudart knows no kernel of a mixed source"),
        (
            "-DCUDA_API_PER_THREAD_DEFAULT_STREAM",
            "per-thread default streams",
        ),
    ],
)
def test_builds_that_leave_the_runtime_s_calls_to_libcudart_are_refused(
    flag: str, message: str, tmp_path: Path
) -> None:
    told = refused("#include <tvmffi_cubin/mixed/mixed.h>\n", tmp_path, flag)
    assert message in told


def test_cccl_s_headers_are_taken_as_by_a_host_compiler(tmp_path: Path) -> None:
    unit = tmp_path / "cccl.cc"
    unit.write_text(CCCL)
    run(*find_host_compiler().command, *SYNTAX, *include_flags(), unit)
