"""The headers that kernels written for nvcc include compile under NVRTC, ours and CUDA's own."""

import logging

import pytest
from header_kit import KERNEL, compile_it, includes

from tvmffi_cubin import CompileError, nvrtc
from tvmffi_cubin.cuda import libraries, precompiled

SHIMS = sorted(
    path.relative_to(nvrtc.shim_dir()).as_posix()
    for path in nvrtc.shim_dir().rglob("*")
    if path.is_file()
)
CUDA = [
    *("cuda_runtime.h", "cuda_runtime_api.h", "cuda_fp16.h", "cuda_bf16.h", "cuda_fp8.h"),
    *("vector_types.h", "cuda_pipeline.h", "cooperative_groups.h", "cooperative_groups/reduce.h"),
    *("cooperative_groups/memcpy_async.h", "device_launch_parameters.h", "cuComplex.h"),
    "math_constants.h",
]
CCCL = [
    *("cuda/std/cstdint", "cuda/std/cmath", "cuda/std/limits", "cuda/std/type_traits"),
    *("cuda/std/utility", "cuda/std/tuple", "cuda/std/array", "cuda/barrier", "cuda/atomic"),
    *("cuda/pipeline", "cuda/ptx", "cub/block/block_reduce.cuh", "cub/block/block_scan.cuh"),
    *("cub/warp/warp_reduce.cuh", "cub/cub.cuh"),
]
SMALL_SHIMS = [
    *("tvmffi_cubin_prelude.h", "tvmffi_cubin_builtins.h", "cuda.h", "stdint.h", "cstdint"),
    *("stddef.h", "cstddef", "limits.h", "climits", "float.h", "cfloat", "math.h", "cmath"),
    *("assert.h", "cassert", "stdio.h", "cstdio", "stdlib.h", "cstdlib", "string.h", "cstring"),
    *("inttypes.h", "cinttypes", "limits", "type_traits", "utility", "algorithm", "array", "tuple"),
    *("new", "time.h", "ctime"),
]


def exists(header):
    """Whether the installed CCCL has it; older ones lack some."""
    folders = (nvrtc.shim_dir(), *libraries.find_cuda().include_dirs[:2])
    return any((folder / header).is_file() for folder in folders[1:])


@pytest.fixture
def none_precompiled(monkeypatch):
    """As where there is no room: it takes as long as to read them, which one test does once.

    All of them together are precompiled below.
    """
    monkeypatch.setattr(precompiled, "has_room", lambda folder: False)


@pytest.mark.usefixtures("none_precompiled")
@pytest.mark.parametrize("header", SHIMS)
def test_every_shim_compiles_on_its_own_and_twice(header):
    text = (nvrtc.shim_dir() / header).read_text()
    wanted = header if "#include_next" in text else f"cuda/std/{header}"
    if wanted in text and not exists(wanted):
        pytest.skip(f"the installed CCCL has no <{wanted}>")
    assert compile_it(includes([header, header]) + KERNEL).image


@pytest.mark.usefixtures("none_precompiled")
@pytest.mark.parametrize("header", CUDA + CCCL)
def test_cudas_own_headers_compile(header):
    assert compile_it(includes([header]) + KERNEL).image


@pytest.mark.usefixtures("none_precompiled")
@pytest.mark.parametrize(
    "header",
    ["cuda_awbarrier_primitives.h", "cuda_pipeline.h", "cooperative_groups/memcpy_async.h"],
)
def test_those_with_integers_of_their_own_take_the_host_compiler_s(header):
    source = """
        extern "C" __global__ void k(uint64_t* x, unsigned long* y) {
          __shared__ __mbarrier_t barrier;
          __mbarrier_init(&barrier, 32);
          x = &barrier;
          y = x;
        }
        static_assert(__CUDACC_RTC__ == 1);"""
    options = ["-DTVMFFI_CUBIN_HOST_INTEGERS"]
    assert compile_it(includes([header, "cstdint"]) + source, options=options).image


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("step", [1, -1])
def test_all_of_them_together_compile_in_either_order_without_a_warning(arch, step, caplog):
    headers = [*SMALL_SHIMS, *CUDA, "cuda_device_runtime_api.h", *CCCL]
    compile_it(includes(headers[::step]) + KERNEL, arch=arch)
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


def test_mma_compiles_or_names_the_wheel_that_is_missing():
    source = """
        #include <mma.h>
        using namespace nvcuda::wmma;
        extern "C" __global__ void k(half* a, half* b, float* c) {
          fragment<matrix_a, 16, 16, 16, half, row_major> x;
          fragment<matrix_b, 16, 16, 16, half, col_major> y;
          fragment<accumulator, 16, 16, 16, float> z;
          fill_fragment(z, 0.0f);
          load_matrix_sync(x, a, 16);
          load_matrix_sync(y, b, 16);
          mma_sync(z, x, y, z);
          store_matrix_sync(c, z, 16, mem_row_major);
        }"""
    cuda = libraries.find_cuda()
    if any((folder / "crt" / "mma.h").is_file() for folder in cuda.include_dirs):
        assert compile_it(source).image
    else:
        with pytest.raises(CompileError, match="pip install nvidia-cuda-nvcc-cu12"):
            compile_it(source)
