"""What is suggested behind the errors of NVIDIA's compilers."""

from __future__ import annotations

import pytest

from tvmffi_cubin.cuda import hints
from tvmffi_cubin.cuda.libraries import Cuda

MISSING = '{}(1): catastrophic error: cannot open source file "{}"'


@pytest.fixture
def bare(tmp_path):
    """A CUDA 12 without CCCL and without the headers of other wheels."""
    return Cuda(12, {"nvrtc": f"{tmp_path}/libnvrtc.so.12", "runtime": f"{tmp_path}/include"})


@pytest.fixture
def cuda(bare, tmp_path):
    return bare._replace(parts={**bare.parts, "cccl": f"{tmp_path}/cccl"})


def explained(log, cuda, arch="sm_90"):
    more = hints.nvrtc_hints(log, arch=arch, cuda=cuda)
    return hints.explained(log, more)


def test_an_instruction_for_the_specific_architecture_suggests_it(cuda):
    log = "error : Instruction 'wgmma.fence' not supported on .target 'sm_90'"
    hint = 'Hint: an instruction needs more than sm_90 has: compile for arch="sm_90a"'
    assert explained(log, cuda) == f"{log}\n{hint}"
    assert explained(log, cuda, "sm_90a") == explained(log, cuda, "sm_80") == log


def test_a_header_that_is_missing_is_told_with_its_wheel_or_as_the_host_s(bare, cuda):
    for header, wheel in {
        "cub/block/block_reduce.cuh": "cuda-cccl-cu12",
        "crt/mma.h": "cuda-nvcc-cu12",
        "curand_kernel.h": "curand-cu12",
    }.items():
        log = MISSING.format("k.cu", header)
        assert f"run: pip install nvidia-{wheel}" in explained(log, bare)
    log = f"{MISSING.format('k.cu', 'vector')}\n  #include <vector>"
    assert "<vector> belongs to the host's C++" in explained(log, cuda)
    for header in ("cuda/std/iostream", "cutlass/cutlass.h", "own"):
        log = MISSING.format("k.cu", header)
        assert explained(log, cuda) == log


def test_what_nvcc_says_is_explained():
    (found,) = hints.hints("error: #error -- unsupported GNU version! gcc versions")
    assert "-allow-unsupported-compiler" in found
    assert hints.hints('a.cu(3): error: identifier "x" is undefined') == []
