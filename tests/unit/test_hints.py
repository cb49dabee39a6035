"""Which header has a name, which wheel a header, and what is said of NVRTC's errors."""

from __future__ import annotations

import pytest

from tvmffi_cubin.cuda import hints
from tvmffi_cubin.cuda.hints import headers_for
from tvmffi_cubin.cuda.libraries import Cuda

MISSING = '{}(1): catastrophic error: cannot open source file "{}"'
HOST = "error: A function explicitly marked as a __host__ function is not allowed in JIT mode"


@pytest.fixture
def bare(tmp_path):
    """A CUDA 12 without CCCL and without the headers of other wheels."""
    return Cuda(12, {"nvrtc": f"{tmp_path}/libnvrtc.so.12", "runtime": f"{tmp_path}/include"})


@pytest.fixture
def cccl(tmp_path):
    for name in ("optional", "functional", "iterator"):
        path = tmp_path / "cccl" / "cuda" / "std" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return str(tmp_path / "cccl")


@pytest.fixture
def cuda(bare, cccl):
    return bare._replace(parts={**bare.parts, "cccl": cccl})


def explained(log, cuda, arch="sm_90", source=""):
    return hints.explained(log, source=source, arch=arch, cuda=cuda)


@pytest.mark.parametrize(
    ("text", "headers"),
    [
        ("bool b = std::is_final_v<A> && std::is_same<A, B>::value;", ["type_traits"]),
        ("using std::min; float f = ::std::numeric_limits<float>::max();", ["algorithm", "limits"]),
        ("std::pair<int, std::array<int, 3>> p; auto t = std::make_tuple(1);",
         ["array", "tuple", "utility"]),
        ("std::uint32_t x = UINT32_MAX; int y = INT_MAX; float z = FLT_MAX;",
         ["cstdint", "float.h", "limits.h", "stdint.h"]),
        ("using namespace std; enable_if_t<true> f(int min);", ["algorithm", "type_traits"]),
        ("std::sqrt(x); std::size_t n; int64_t m; std::string s; INFINITY;", []),
        ("#define FLT_MAX 3.4e38f\nfloat x = FLT_MAX;", []),
        ("namespace std { template <class T, class U> struct is_same { }; }\n"
         "std::is_same<int, int> x; std::min(1, 2);", ["algorithm"]),
        ("int n = std::size(x); auto p = std::begin(x), q = std::data(x);", ["range_access.h"]),
    ],
)  # fmt: skip
def test_headers_are_those_that_declare_what_is_named(text, headers):
    assert headers_for([text], []) == tuple(headers)


def test_an_instruction_for_the_specific_architecture_suggests_it(cuda):
    log = "error : Instruction 'wgmma.fence' not supported on .target 'sm_90'"
    hint = 'Hint: an instruction needs more than sm_90 has: compile for arch="sm_90a"'
    assert explained(log, cuda) == f"{log}\n{hint}"
    assert explained(log, cuda, "sm_90a") == explained(log, cuda, "sm_80") == log


def test_a_name_that_nvrtc_lacks_is_told_with_its_header(cuda):
    log = (
        'k.cu(1): error: namespace "std" has no member class "true_type"\n'
        'k.cu(2): error: identifier "DBL_MAX" is undefined\n'
        'k.cu(2): error: identifier "CUtensorMap" is undefined\n'
        'k.cu(3): error: identifier "min" is undefined\n'
        'k.cu(4): error: namespace "std" has no member "vector"\n'
        'k.cu(5): error: namespace "std" has no member "size"'
    )
    assert explained(log, cuda).removeprefix(log).split("\n")[1:] == [
        "Hint: true_type is in <type_traits>: add #include <type_traits>",
        "Hint: DBL_MAX is in <float.h>: add #include <float.h>",
        "Hint: CUtensorMap is in <cuda.h>: add #include <cuda.h>",
        "Hint: size is in <iterator>: add #include <iterator>",
    ]


def test_a_header_that_is_missing_is_told_with_its_wheel_or_as_the_host_s(bare, cuda):
    for header, wheel in {
        "cub/block/block_reduce.cuh": "cuda-cccl-cu12",
        "crt/mma.h": "cuda-nvcc-cu12",
        "curand_kernel.h": "curand-cu12",
    }.items():
        log = MISSING.format("k.cu", header)
        assert f"run: pip install nvidia-{wheel}" in explained(log, bare)
    assert "<vector> belongs to the host's C++" in explained(MISSING.format("k.cu", "vector"), cuda)
    for header in ("cuda/std/iostream", "cutlass/cutlass.h"):
        log = MISSING.format("k.cu", header)
        assert explained(log, cuda) == log


def test_headers_that_need_a_host_compiler_are_named(cuda):
    source = "#include <cub/block/block_scan.cuh>\n # include <cub/cub.cuh>\n#include <thrust/x.h>"
    for problem in (HOST, MISSING.format("x", "ostream")[1:]):
        text = explained(f"\n{cuda.parts['cccl']}/thrust/y.h{problem}", cuda, source=source)
        assert "Hint: <cub/cub.cuh>, <thrust/x.h> needs a host compiler" in text
        assert "<cub/block/block_scan.cuh>" in text
