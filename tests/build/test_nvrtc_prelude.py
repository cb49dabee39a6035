"""What kernels written for nvcc have without an include is there under NVRTC."""

from __future__ import annotations

import re

import pytest
from header_kit import compile_it, includes
from processes import run

from tvmffi_cubin import nvrtc
from tvmffi_cubin.cuda import libraries
from tvmffi_cubin.host import tools


def test_what_nvcc_offers_without_an_include_is_there():
    source = """
        extern "C" __global__ void k(int64_t n, uint8_t* bytes, uintptr_t address, float* x) {
          static_assert(sizeof(int8_t) == 1 && sizeof(int16_t) == 2 && sizeof(int32_t) == 4);
          static_assert(sizeof(uint64_t) == 8 && sizeof(intptr_t) == 8 && sizeof(uint) == 4);
          static_assert(uint32_t(-1) > 0 && int32_t(-1) < 0 && sizeof(std::size_t) == 8);
          constexpr float infinity = -INFINITY;
          x[0] = infinity + NAN + std::sqrt(x[1]) + std::abs(x[2]) + M_PI;
          bytes[0] = uint8_t(n + address);
          assert(n > 0);
          printf("%d", 1);
        }"""
    assert compile_it(source).log == ""


def test_the_host_compilers_spellings_of_words_mean_what_they_mean_to_nvcc():
    compile_it(
        "struct S { __extension__ union { int a; float b; }; };\n"
        "__global__ void k(float* x) {\n__const int a = 1;\n__const__ __signed__ int b = a;\n"
        '__asm__ __volatile__("" ::: "memory");\n__asm __volatile("mov.b32 %0, 0;" : "=f"(x[b]));\n'
        "}"
    )


def test_the_host_compiler_s_functions_of_bits_are_there_as_with_nvcc():
    source = """
        static_assert(__builtin_ctz(64u) == 6 && __builtin_ctzll(1ull << 63) == 63, "");
        static_assert(__builtin_clz(1) == 31 && __builtin_clzl(1) == 63, "");
        static_assert(__builtin_popcount(255) == 8 && __builtin_popcountll(~0ull) == 64, "");
        static_assert(__builtin_ffs(0) == 0 && __builtin_ffs(8) == 4, "");
        extern "C" __global__ void k(int* x) {
          x[0] = __builtin_clz(x[1]) + __builtin_popcountll(x[2]) + __builtin_ffs(x[3]);
        }
    """
    assert compile_it(source, options=["-std=c++14"]).image


def test_functions_of_mathematics_take_numbers_of_two_types_and_integers_without_an_include():
    source = """
        __global__ void k(float* x, double d, int i, unsigned u, long long l) {
          x[0] = pow(x[0], 0.5) + pow(2.0, x[1]) + pow(i, u) + fmax(x[2], 0.0) + fmod(d, x[3]);
          x[1] = sqrt(i) + exp(u) + floor(l) + fma(x[0], d, i) + hypot(i, x[2]);
          if (isnan(i) || !isfinite(l) || signbit(-i)) x[2] = std::pow(d, x[0]) + std::round(u);
          x[3] = pow(i, 2) + fma(i, i, 1) + std::fabs(i) + F(i);
        }"""
    assert compile_it(source, options=["-DF=sqrt"]).log == ""


@pytest.mark.parametrize("call", ["cos(i)", "pow(i, 2)", "fmin(x[0], 1.0)", "fma(x[0], i, 1.0)"])
def test_one_such_function_alone_is_enough_to_bring_them(call):
    assert compile_it(f"__global__ void k(float* x, int i) {{ x[0] = {call}; }}").image


def test_sources_may_define_the_same_names_and_functions_of_mathematics_themselves():
    made = compile_it("""
        typedef unsigned int uint32_t;
        using int64_t = long long;
        typedef unsigned int uint;
        #ifndef INFINITY
        #define INFINITY __int_as_float(0x7f800000)
        #endif
        namespace std { using ::sqrt; }
        struct Half { float x; };
        __device__ Half sqrt(Half h) { return {sqrtf(h.x)}; }
        __device__ float fmax(float a, int b) { return a > b ? a : b; }
        template <typename T> __device__ T pow(T x, int n) { return n ? x * pow(x, n - 1) : 1; }
        template <typename T> __device__ Half fmin(Half a, T b) { return {fminf(a.x, b)}; }
        __global__ void k(float* x, long n) {
          x[0] = fmax(x[1], 3) + pow(n, 2) + sqrt(Half{x[2]}).x + fmin(Half{x[3]}, 1).x;
        }""")
    assert made.log == ""


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
def test_dependent_launches_need_no_include_and_are_nothing_before_sm_90(arch):
    source = """
        extern "C" __global__ void k(float* x) {
          cudaGridDependencySynchronize();
          x[0] += 1;
          ::cudaTriggerProgrammaticLaunchCompletion();
        }"""
    without = source.replace("cudaGrid", "//").replace("::cudaTrigger", "//")
    with_it = compile_it(source, arch=arch).image
    assert (with_it == compile_it(without, arch=arch).image) == (arch < "sm_90")
    headers = ["cuda_device_runtime_api.h", "cooperative_groups.h", "cuda_runtime.h"]
    assert "cudaGrid" not in compile_it(includes(headers) + source).log


def test_a_tensor_map_is_laid_out_and_named_as_in_the_drivers_header(tmp_path):
    source = """
        #include <cuda.h>
        static_assert(sizeof(CUtensorMap) == 128 && alignof(CUtensorMap) == ALIGNMENT);
        static_assert(CUDA_VERSION >= 12000 && sizeof(CUdeviceptr) == 8);
        __global__ void k(const __grid_constant__ CUtensorMap map, CUdeviceptr p) {}"""
    host = (
        "#include <cuda.h>\nvoid k(CUtensorMap map, CUdeviceptr p) {}\n"
        "struct InAStruct { int n; CUtensorMap map; };\nchar size[sizeof(InAStruct)];\n"
    )
    compiler = tools.find_host_compiler()
    folder = libraries.find_cuda().require("runtime")
    (tmp_path / "k.cc").write_text(host)
    text = run(*compiler.command, "-S", "-o", "-", f"-I{folder}", tmp_path / "k.cc")
    alignment = int(re.search(r"\nsize:\s+\.zero\s+(\d+)", text)[1]) - 128
    options = [f"-DALIGNMENT={alignment}"]
    device_name = compile_it(source, name_expressions=["k"], options=options).lowered_names["k"]
    assert f"\n{device_name}:" in text


# In device texts of mixed sources: the host compiler's, CCCL's too.
TEXT = r"""
%s
template <class A, class B> constexpr bool same = false;
template <class A> constexpr bool same<A, A> = true;
static_assert(same<int64_t, %s> && same<uint64_t, unsigned %s>);
static_assert(same<intptr_t, int64_t> && same<uintmax_t, uint64_t>);
static_assert(same<std::int64_t, int64_t> && same<std::uint_least64_t, uint64_t>);
static_assert(same<decltype(INT64_MAX), int64_t> && same<decltype(INT64_MIN), int64_t>);
static_assert(same<int_fast32_t, std::int_fast32_t> && sizeof(int_fast32_t) == %d);
%s
template <typename T> __global__ void typed(T* x, T y) { *x = y; }
template <> __global__ void typed<int64_t>(int64_t* x, int64_t y) { *x = min(y, INT64_MAX) + 1; }
"""
CCCL = (
    "static_assert(same<cuda::std::int64_t, int64_t> && same<cuda::std::uintptr_t, uintptr_t>);"
    "static_assert(same<cuda::std::int_fast32_t, int_fast32_t>);"
    "static_assert(cuda::std::numeric_limits<int64_t>::max() == INT64_MAX);"
)


@pytest.mark.parametrize(
    ("header", "uses"),
    [
        ("#include <cstdint>", ""),
        (
            "#include <cub/block/block_reduce.cuh>\n#include <cuda/atomic>\n#include <stdint.h>\n"
            "#include <cstdint>\n#include <cuda/std/cstdint>\n#include <cuda/std/limits>",
            CCCL,
        ),
    ],
    ids=["ours", "cccl"],
)
@pytest.mark.parametrize("own", ["long", "long long"])
def test_integers_of_64_bits_are_one_type_whichever_header_names_them(header, uses, own):
    options = ["-DTVMFFI_CUBIN_HOST_INTEGERS"] if own == "long" else []
    names = ["typed<long>", "typed<long long>", "typed<int64_t>"]
    image = nvrtc.compile(
        TEXT % (header, own, own, 8 if options else 4, uses),
        arch="sm_90",
        options=options,
        name_expressions=names,
    )
    symbols = {"long": "_Z5typedIlEvPT_S0_", "long long": "_Z5typedIxEvPT_S0_"}
    assert [image.lowered_names[name] for name in names] == [*symbols.values(), symbols[own]]
    assert image.log == ""
