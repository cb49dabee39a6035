"""The headers that kernels written for nvcc include compile under NVRTC, ours and CUDA's own."""

import logging
import re

import pytest
from header_kit import KERNEL, compile_it, includes
from processes import run

from tvmffi_cubin import CompileError, nvrtc
from tvmffi_cubin.cuda import libraries
from tvmffi_cubin.host import tools

FOLDER = nvrtc.shim_dir()
SHIMS = sorted(x.name for x in FOLDER.iterdir() if x.is_file() and "integers.h" not in x.name)
SMALL = [*SHIMS, *(x for x in nvrtc.HEADERS if x not in nvrtc.BY_CCCL)]
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


@pytest.mark.parametrize("header", [*SMALL, "cuda_fp16.h", "cooperative_groups.h"])
def test_small_headers_compile_on_their_own_and_twice(header):
    assert compile_it(includes([header, header]) + KERNEL).image


def test_those_by_way_of_cccl_compile_where_it_has_them():
    folders = libraries.find_cuda().include_dirs
    there = [x for x in nvrtc.BY_CCCL if any((y / "cuda" / "std" / x).is_file() for y in folders)]
    assert compile_it(includes([*there, *there]) + KERNEL).image


@pytest.mark.parametrize("step", [1, -1])
def test_all_of_them_together_compile_in_either_order_without_a_warning(step, caplog):
    headers = [*SMALL, *CUDA, "cuda_device_runtime_api.h", *CCCL]
    compile_it(includes(headers[::step]) + KERNEL, arch="sm_80" if step > 0 else "sm_90a")
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


def test_their_own_names_are_reserved_so_that_no_macro_of_a_user_s_breaks_them():
    # Read and not compiled: NVRTC looks into a template only where it is used. What the host's
    # library names, itself reserved where it may, are the standard's own names.
    no_code = re.compile(r'//.*|"[^"\n]*"|^#(?!define).*|^#define|^namespace.*', re.MULTILINE)
    text = "".join(f"#if __has_include(<{x}>)\n#include <{x}>\n#endif\n" for x in SHIMS)
    command = [*tools.find_host_compiler().command, "-std=c++20", "-E", "-P", "-dD", "-xc++", "-"]
    host = re.sub(r"(?m)^#define (\w+).*", r"\1", run(*command, input=text))
    known = {*re.findall(r"\w\w+", no_code.sub("", host)), "alignas", "asm", "opaque"}
    known |= {x.removeprefix("is_") for x in known}
    mixed = [FOLDER.parent / "mixed" / name for name in ("device.h", "layout.h")]
    text = "\n".join(x.read_text() for x in (*FOLDER.rglob("*"), *mixed) if x.is_file())
    for parameters in re.findall(r"^#define \w+\((.*?)\)", text, re.MULTILINE):
        known |= {*re.findall(r"\w\w+", parameters)}
    # Those of CUDA and our macros; l and ll are pasted to a name, as is what has ## beside it.
    others = r"ll?\b|CU|CCCL_|cuda|tvmffi_cubin_|TVMFFI_CUBIN_"
    words = re.findall(rf"(?<![\w#])(?!{others})[A-Za-z]\w*\b(?!##)", no_code.sub("", text))
    assert {*words} - known == set()


def test_a_file_of_the_user_s_comes_before_one_of_its_name_beside_its_includer(tmp_path):
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "all.h").write_text('#include "assert.h"\nstatic_assert(OWN, "");\n')
    (tmp_path / "library" / "assert.h").write_text("#define OWN 1\n")
    compile_it('#include "library/all.h"\n' + KERNEL, include_paths=[tmp_path])


def test_those_with_integers_of_their_own_take_the_host_compiler_s():
    source = """
        extern "C" __global__ void k(uint64_t* x, unsigned long* y) {
          __shared__ __mbarrier_t barrier;
          __mbarrier_init(&barrier, 32);
          x = &barrier;
          y = x;
        }
        static_assert(__CUDACC_RTC__ == 1);"""
    headers = ["cuda_awbarrier.h", "cuda_pipeline.h", "cooperative_groups/memcpy_async.h"]
    options = ["-DTVMFFI_CUBIN_HOST_INTEGERS"]
    assert compile_it(includes([*headers, "cstdint"]) + source, options=options).image


def test_mma_compiles_or_names_the_wheel_that_is_missing():
    source = """
        #include <mma.h>
        extern "C" __global__ void k(float* c) {
          nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> z;
          nvcuda::wmma::fill_fragment(z, 0.0f);
          nvcuda::wmma::store_matrix_sync(c, z, 16, nvcuda::wmma::mem_row_major);
        }"""
    cuda = libraries.find_cuda()
    if any((folder / "crt" / "mma.h").is_file() for folder in cuda.include_dirs):
        assert compile_it(source).image
    else:
        with pytest.raises(CompileError, match="pip install nvidia-cuda-nvcc-cu12"):
            compile_it(source)
