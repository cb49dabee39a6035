"""What is said of NVRTC's errors: flags, headers and their wheels."""

import pytest

from tvmffi_cubin.cuda import hints as nvrtc_log
from tvmffi_cubin.cuda.libraries import Cuda

MISSING = '{}(1): catastrophic error: cannot open source file "{}"'
HOST = "error: A function explicitly marked as a __host__ function is not allowed in JIT mode"


@pytest.fixture
def bare(tmp_path):
    """A CUDA 12 without CCCL and without the headers of other wheels."""
    return Cuda(12, {"nvrtc": f"{tmp_path}/libnvrtc.so.12", "runtime": f"{tmp_path}/include"})


@pytest.fixture
def cuda(bare, tmp_path):
    """A CUDA 12 with a CCCL that has <cuda/std/tuple>."""
    (tmp_path / "cccl/cuda/std").mkdir(parents=True)
    (tmp_path / "cccl/cuda/std/tuple").touch()
    return bare._replace(parts={**bare.parts, "cccl": f"{tmp_path}/cccl"})


def explained(log, cuda, arch="sm_90", source=""):
    return nvrtc_log.explained(log, source=source, arch=arch, cuda=cuda)


def test_an_instruction_for_the_specific_architecture_suggests_it(cuda):
    log = "error : Instruction 'wgmma.fence' not supported on .target 'sm_90'"
    assert 'Hint: an instruction needs more than sm_90 has: compile for arch="sm_90a"' in explained(
        log, cuda
    )
    assert explained(log, cuda, "sm_90a") == explained(log, cuda, "sm_80") == log


def test_a_name_that_nvrtc_lacks_is_told_with_its_header(cuda):
    log = (
        'k.cu(1): error: namespace "std" has no member "is_same_v"\n'
        'k.cu(1): error: namespace "std" has no member class "true_type"\n'
        'k.cu(2): error: identifier "DBL_MAX" is undefined\n'
        'k.cu(2): error: identifier "CUtensorMap" is undefined\n'
        'k.cu(3): error: identifier "min" is undefined\n'
        'k.cu(4): error: namespace "std" has no member "vector"\n'
        'k.cu(5): error: namespace "std" has no member "size"'
    )
    assert explained(log, cuda).removeprefix(log).split("\n")[1:] == [
        "Hint: is_same_v is in <type_traits>: add #include <type_traits>",
        "Hint: true_type is in <type_traits>: add #include <type_traits>",
        "Hint: DBL_MAX is in <float.h>: add #include <float.h>",
        "Hint: CUtensorMap is in <cuda.h>: add #include <cuda.h>",
        "Hint: size is in <iterator>: add #include <iterator>",
    ]


def test_a_header_of_a_wheel_that_is_missing_names_the_wheel(bare, cuda):
    for header, wheel in {
        "cub/block/block_reduce.cuh": "cuda-cccl-cu12",
        "crt/mma.h": "cuda-nvcc-cu12",
        "curand_kernel.h": "curand-cu12",
    }.items():
        log = MISSING.format("k.cu", header)
        assert f"run: pip install nvidia-{wheel}" in explained(log, bare)
    log = MISSING.format("k.cu", "cuda/std/iostream")
    assert explained(log, cuda) == log


def test_a_header_of_the_host_s_library_is_named_as_one(cuda):
    assert "<vector> belongs to the host's C++" in explained(MISSING.format("k.cu", "vector"), cuda)
    log = MISSING.format("k.cu", "cutlass/cutlass.h")
    assert explained(log, cuda) == log


def test_what_the_host_calls_is_named_in_place_of_its_errors(cuda):
    source = "#include <cub/block/block_scan.cuh>\n # include <cub/cub.cuh>\n#include <thrust/x.h>"
    refused = 'error: #error directive: "<x> is not supported when compiling with NVRTC."'
    member = 'error: namespace "std" has no member "basic_ostream"'
    for problem in (HOST, MISSING.format("x", "ostream")[1:], refused, member):
        log = f"\n{cuda.parts['cccl']}/thrust/y.h{problem}"
        text = explained(log, cuda, source=source)
        assert "Hint: <cub/cub.cuh>, <thrust/x.h> needs a host compiler" in text
        assert "<cub/block/block_scan.cuh>" in text
