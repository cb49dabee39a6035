"""What is said of NVRTC's errors: flags, undefined symbols, headers and their wheels."""

import pytest

from tvmffi_cubin.cuda import log as nvrtc_log
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


def hints(log, cuda=None, arch="sm_90"):
    return " ".join(nvrtc_log.hints(log, arch=arch, cuda=cuda))


def test_an_instruction_for_the_specific_architecture_suggests_it():
    log = "error : Instruction 'wgmma.fence' not supported on .target 'sm_90'"
    assert 'arch="sm_90a"' in hints(log)
    assert hints(log, arch="sm_90a") == ""
    assert hints(log, arch="sm_80") == ""


def test_a_tensor_map_without_its_header_names_it():
    for log in (
        'k.cu(2): error: identifier "CUtensorMap" is undefined',
        'k.cu(2): error: incomplete type "CUtensorMap_st" is not allowed',
    ):
        assert hints(log) == "CUtensorMap is in <cuda.h>: add #include <cuda.h>"


def test_an_undefined_symbol_is_spelled_as_in_the_source():
    log = "ptxas fatal   : Unresolved extern function '_Z7missingi'"
    assert "missing(int) is declared and not defined: define it in this source" in hints(log)
    assert "v is declared" in hints("ptxas fatal   : Unresolved extern variable 'v'")


def test_a_header_of_a_wheel_that_is_missing_names_the_wheel(bare, cuda):
    for header, wheel in {
        "cub/block/block_reduce.cuh": "cuda-cccl-cu12",
        "crt/mma.h": "cuda-nvcc-cu12",
        "curand_kernel.h": "curand-cu12",
    }.items():
        assert f"run: pip install nvidia-{wheel}" in hints(MISSING.format("k.cu", header), bare)
    found = hints(MISSING.format("k.cu", "cuda/std/iostream"), cuda)
    assert "nvidia-cuda-cccl-cu12 has no cuda/std/iostream" in found


def test_cccl_s_counterpart_of_a_host_header_is_named_where_it_has_one(cuda, bare):
    assert "include <cuda/std/tuple>, or move" in hints(MISSING.format("k.cu", "tuple"), cuda)
    for header, installed in (("vector", cuda), ("tuple", bare)):
        found = hints(MISSING.format("k.cu", header), installed)
        assert "cuda/std" not in found
        assert "move what needs it to cpp_sources" in found


def test_a_header_of_nobody_s_is_a_matter_of_folders(cuda):
    assert "include paths" in hints(MISSING.format("k.cu", "cutlass/cutlass.h"), cuda)
    assert hints("k.cu(1): error: no", cuda) == ""


def test_what_the_host_calls_is_named_in_place_of_its_errors(cuda):
    source = "#include <cub/block/block_scan.cuh>\n # include <cub/cub.cuh>\n#include <thrust/x.h>"
    refused = 'error: #error directive: "<x> is not supported when compiling with NVRTC."'
    member = 'error: namespace "std" has no member "basic_ostream"'
    for problem in (HOST, MISSING.format("x", "ostream")[1:], refused, member):
        log = f"\n{cuda.parts['cccl']}/thrust/y.h{problem}"
        text = nvrtc_log.host_header_problem(log, source, cuda)
        assert text.startswith("<cub/cub.cuh>, <thrust/x.h> needs a host compiler")
        assert "<cub/block/block_scan.cuh>" in text


def test_errors_of_other_headers_are_shown_as_they_are(cuda, bare):
    theirs = f"{cuda.parts['cccl']}/x"
    for log, installed in (
        (f"k.cu(3): {HOST}", cuda),
        (MISSING.format("k.cu", "vector"), cuda),
        (f"{theirs}(1): error", cuda),
        (MISSING.format(theirs, "crt/mma.h"), cuda),
        (f"{theirs}(1): {HOST}", bare),
    ):
        assert nvrtc_log.host_header_problem(log, "#include <cub/cub.cuh>", installed) == ""
