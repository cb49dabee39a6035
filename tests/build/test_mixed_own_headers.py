"""Headers of the user's in mixed sources: found, cut, read again, with kernels of their own."""

from __future__ import annotations

from pathlib import Path

import pytest
from file_kit import write
from mixed_loader import load
from wrapper_workshop import INCLUDE

import tvmffi_cubin as tc


def test_a_header_that_both_sides_read_is_cut_and_its_change_is_seen(tmp_path, driver_stub):
    header = tmp_path / "shape.h"
    text = "struct Shape { int n; __host__ __device__ int size() const { return n * 2; } };\n"
    header.write_text(text)
    source = """#include "shape.h"
    __global__ void k(Shape shape, int* x) { *x = shape.size(); }
    int f(int n) { Shape shape{n}; k<<<shape.size(), 1>>>(shape, nullptr); return shape.size(); }"""

    def result():
        return load(source, ["f"], extra_include_paths=[f"{tmp_path}/nearer", str(tmp_path)]).f(3)

    assert result() == 6
    header.write_text(text.replace("n * 2", "n * 5"))
    assert result() == 15
    # A text that the compilers are given a copy of, and what would be read in its place.
    header.write_text(f"{text}__device__ int one() {{ return 1; }}\nconstexpr int kMore = 4;\n")
    source = source.replace("return shape.size()", "return shape.size() + kMore")
    assert result() == 10
    header.write_text(header.read_text().replace("kMore = 4", "kMore = 7"))
    assert result() == 13
    nearer = tmp_path / "nearer"
    nearer.mkdir()
    (nearer / "shape.h").write_text(header.read_text().replace("kMore = 7", "kMore = 8"))
    assert result() == 14


def test_a_source_whose_header_has_the_kernels_and_their_launches_is_mixed(tmp_path, driver_stub):
    (tmp_path / "twice.h").write_text('#include "twice_impl.hpp"\n')
    (tmp_path / "twice_impl.hpp").write_text(
        "template <typename T> __global__ void twice(T* x) { x[threadIdx.x] *= 2; }\n"
        "template <typename T> int run(T* x) { twice<<<1, 32>>>(x); return 7; }\n"
    )
    source = '#include "twice.h"\nint f() { return run<float>(nullptr); }\n'
    mod = load(source, ["f"], extra_include_paths=[str(tmp_path)])
    assert mod.f() == 7
    assert [launch.kernel for launch in driver_stub.launches()] == ["_Z5twiceIfEvPT_"]


def test_names_of_the_c_and_c_plus_plus_libraries_that_nobody_includes_are_there(tmp_path):
    (tmp_path / "limited.cuh").write_text(
        "template <typename T, std::enable_if_t<std::is_same_v<T, int>, int> = 0>\n"
        "__device__ T limited(T x) { return std::min(x, SHRT_MAX); }\n"
    )
    source = """
    #include <cuda_fp16.h>
    #include "limited.cuh"
    template <bool kUp> __global__ void k(int* x, std::bool_constant<kUp>) { *x = limited(*x); }
    void run(int64_t x) { k<<<1, 1>>>((int*)x, std::bool_constant<true>()); }
    """
    options = {"functions": ["run"], "extra_include_paths": [tmp_path]}
    tc.build_inline("names", source, arch="sm_90", **options)


def test_using_namespace_std_brings_their_names():
    source = """
    using namespace std;
    __global__ void k(int* x) { *x = get<1>(tuple<int, int>(1, 2)); }
    void run() { k<<<1, 1>>>(nullptr); }
    """
    tc.build_inline("names", source, arch="sm_90", functions=["run"])


@pytest.mark.parametrize(
    "header",
    [
        "#define LAUNCH(kernel, x) \\\n  kernel<<<1, 32>>>(x)\n#define RUN(x) LAUNCH(k, x)\n",
        "template <typename Kernel> void launch(Kernel kernel, int* x) {\n"
        "  cudaLaunchConfig_t how{};\n  cudaLaunchKernelEx(&how, kernel, x);\n}\n"
        "#define RUN(x) launch(k, x)\n",
    ],
)
def test_a_source_is_mixed_that_launches_by_what_its_header_has(header, here):
    write("launch.h", header)
    text = "__global__ void k(int* x) { *x *= 2; }\nvoid run(int* x) { RUN(x); }\n"
    write("a.cu", f'#include "launch.h"\n{text}')
    made = tc.build("a", sources="a.cu", output="a.o", arch="sm_90")
    assert b"_Z3runPi" in Path(made).read_bytes()


def test_host_code_alone_may_include_device_functions(here):
    header = "__device__ int own() { return ::max(int(threadIdx.x), 7); }\n"
    write("own.cuh", f"{header}inline int largest() {{ return ::max(7, 8); }}\n")
    source = '#include "own.cuh"\nint f() { return largest(); }\n'
    assert load(source, ["f"], extra_include_paths=[str(here)]).f() == 8


def test_headers_of_another_toolkit_are_no_part_of_a_source(tmp_path, driver_stub):
    for name in ("cuda_runtime.h", "cuda_fp16.h"):
        write(tmp_path / name, "#error of another CUDA\n")
    colors = "#ifndef COLORS\n#define COLORS\nenum Color { red = 7 };\n#endif\n"
    write(tmp_path / "nvtx3" / "colors.h", colors)
    write(tmp_path / "cutlass" / "marks.h", "#include <nvtx3/colors.h>\n")
    source = """#include <cuda_fp16.h>
    #include <nvtx3/colors.h>
    #include <cutlass/marks.h>
    __global__ void k(__half* x) { *x = 1; }
    int f() { k<<<1, 1>>>(nullptr); return red; }"""
    assert load(source, ["f"], extra_cuda_cflags=["-isystem", str(tmp_path)]).f() == 7


def test_cublas_brings_half_types_and_handles_to_device_code(tmp_path, driver_stub):
    write(tmp_path / "cuda_runtime.h", "#include_next <cuda_runtime.h>\n")  # of a toolkit
    handle = "typedef struct cublasContext* cublasHandle_t;\n"
    write(tmp_path / "cublas_v2.h", f"#pragma once\n#include <cuda_fp16.h>\n{handle}")
    source = """#include <cublas_v2.h>
    struct Context { cublasHandle_t handle; half* x; };
    __global__ void k(Context context) { *context.x = 1; }
    int f() { k<<<1, 1>>>(Context()); return sizeof(Context); }"""
    assert load(source, ["f"], extra_cuda_cflags=["-isystem", str(tmp_path)]).f() == 16


def test_another_cccl_than_cuda_s_may_come_first(tmp_path, driver_stub):
    folder = tmp_path / "cuda" / "std"
    folder.mkdir(parents=True)
    (folder / "climits").touch()
    (folder / "version").write_text(
        "#define CCCL_VERSION 3006000\n"
        "#define _CCCL_BEGIN_NAMESPACE_CUDA_STD namespace cuda::std {\n"
        "#define _CCCL_END_NAMESPACE_CUDA_STD }\n"
    )
    (folder / "cstdint").write_text("#ifdef __CUDACC_RTC__\nusing int64_t = long long;\n#endif\n")
    source = """#include <cuda/std/cstdint>
    __global__ void k(int64_t* x) { *x = 1; }
    int f() { k<<<1, 1>>>(nullptr); return 7; }"""
    assert load(source, ["f"], extra_include_paths=[str(tmp_path)]).f() == 7


def test_qualifiers_mean_nothing_to_host_code_where_cuda_s_wheels_have_their_header(
    tmp_path, driver_stub
):
    # As CUDA 13's: in host code it has no __launch_bounds__, and the others are attributes.
    own = (INCLUDE / "tvmffi_cubin/compat/crt/host_defines.h").read_text().splitlines()
    words = [x for x in own if x.startswith("#define ") and "__launch_bounds__" not in x]
    text = "\n".join(["#ifndef __HOST_DEFINES_H__", "#define __HOST_DEFINES_H__", *words, "#endif"])
    write(tmp_path / "crt" / "host_defines.h", text)
    source = """
    __global__ void __launch_bounds__(64) __cluster_dims__(2, 1, 1) k(int* x) { *x = 1; }
    int f() { k<<<2, 1>>>(nullptr); return 7; }"""
    assert load(source, ["f"], extra_include_paths=[str(tmp_path)]).f() == 7
