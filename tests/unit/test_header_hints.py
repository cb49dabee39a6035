"""What is said of headers that are missing, and of those that need a host compiler."""

import pytest

from tvmffi_cubin.cuda.libraries import Cuda
from tvmffi_cubin.cuda.log import host_header_problem, missing_header_hint

MISSING = '{}(1): catastrophic error: cannot open source file "{}"'
HOST = "error: A function explicitly marked as a __host__ function is not allowed in JIT mode"


@pytest.fixture
def bare(tmp_path):
    """A CUDA 12 without CCCL and without the headers of other wheels."""
    return Cuda(12, {"nvrtc": f"{tmp_path}/libnvrtc.so.12", "runtime": f"{tmp_path}/include"}, {})


@pytest.fixture
def cuda(bare, tmp_path):
    """A CUDA 12 with a CCCL that has <cuda/std/tuple>."""
    (tmp_path / "cccl/cuda/std").mkdir(parents=True)
    (tmp_path / "cccl/cuda/std/tuple").touch()
    return bare._replace(parts={**bare.parts, "cccl": f"{tmp_path}/cccl"})


def hint(cuda, header):
    found = missing_header_hint(MISSING.format("k.cu", header), cuda)
    return " ".join(found)


def test_a_header_of_a_wheel_that_is_missing_names_the_wheel(bare):
    run = "run: pip install nvidia-"
    assert f"{run}cuda-cccl-cu12" in hint(bare, "cub/block/block_reduce.cuh")
    assert f"{run}cuda-nvcc-cu12" in hint(bare, "crt/mma.h")
    assert f"{run}curand-cu12" in hint(bare, "curand_kernel.h")


def test_no_wheel_is_to_be_installed_that_is_there(cuda):
    assert "pip install" not in hint(cuda, "cuda/std/iostream")
    assert "nvidia-cuda-cccl-cu12 has no cuda/std/iostream" in hint(cuda, "cuda/std/iostream")
    assert "pip install nvidia-curand-cu12" in hint(cuda, "curand_kernel.h")


def test_cccl_s_counterpart_of_a_host_header_is_named_where_it_has_one(cuda, bare):
    assert "include <cuda/std/tuple>, or move" in hint(cuda, "tuple")
    for header in ("vector", "iostream", "string"):
        assert "cuda/std" not in hint(cuda, header)
        assert "move what needs it to cpp_sources" in hint(cuda, header)
    assert "may be in the wheel nvidia-cuda-cccl-cu12" in hint(bare, "tuple")


def test_a_header_of_nobody_s_is_a_matter_of_folders(cuda):
    assert "include paths" in hint(cuda, "cutlass/cutlass.h")
    assert missing_header_hint("k.cu(1): error: no", cuda) == ()


def test_what_the_host_calls_is_named_in_place_of_its_errors(cuda):
    source = "#include <cub/block/block_scan.cuh>\n # include <cub/cub.cuh>\n#include <thrust/x.h>"
    refused = 'error: #error directive: "<x> is not supported when compiling with NVRTC."'
    member = 'error: namespace "std" has no member "basic_ostream"'
    for problem in (HOST, MISSING.format("x", "ostream")[1:], refused, member):
        text = host_header_problem(f"\n{cuda.parts['cccl']}/thrust/y.h{problem}", source, cuda)
        assert text.startswith("<cub/cub.cuh>, <thrust/x.h> needs a host compiler")
        assert "<cub/block/block_scan.cuh>" in text
    assert "a header of CCCL needs" in host_header_problem(
        f"{cuda.parts['cccl']}/x(1): {HOST}", "", cuda
    )


def test_errors_of_other_headers_are_shown_as_they_are(cuda, bare):
    for log in (
        f"k.cu(3): {HOST}",
        MISSING.format("k.cu", "vector"),
        f"{cuda.parts['cccl']}/x(1): error",
    ):
        assert host_header_problem(log, "#include <cub/cub.cuh>", cuda) == ""
    inner = MISSING.format(f"{cuda.parts['cccl']}/x", "crt/mma.h")
    assert host_header_problem(inner, "", cuda) == ""
    assert host_header_problem(f"{cuda.parts['cccl']}/x(1): {HOST}", "", bare) == ""
