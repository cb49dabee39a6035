"""What kernels written for nvcc include or take for granted compiles under NVRTC, and agrees."""

import logging
import re
import subprocess

import pytest

from tvmffi_cubin import CompileError, cuda_wheels, nvrtc, nvrtc_pch_store, toolchain

SHIMS = sorted(
    path.relative_to(nvrtc.shim_dir()).as_posix()
    for path in nvrtc.shim_dir().rglob("*")
    if path.is_file()
)
CUDA = [
    "cuda_runtime.h",
    "cuda_runtime_api.h",
    "cuda_fp16.h",
    "cuda_bf16.h",
    "cuda_fp8.h",
    "vector_types.h",
    "cuda_pipeline.h",
    "cooperative_groups.h",
    "cooperative_groups/reduce.h",
    "cooperative_groups/memcpy_async.h",
    "device_launch_parameters.h",
    "cuComplex.h",
    "math_constants.h",
]
CCCL = [
    "cuda/std/cstdint",
    "cuda/std/cstddef",
    "cuda/std/climits",
    "cuda/std/cfloat",
    "cuda/std/cmath",
    "cuda/std/limits",
    "cuda/std/type_traits",
    "cuda/std/utility",
    "cuda/std/tuple",
    "cuda/std/array",
    "cuda/barrier",
    "cuda/atomic",
    "cuda/pipeline",
    "cuda/ptx",
    "cub/block/block_reduce.cuh",
    "cub/block/block_scan.cuh",
    "cub/cub.cuh",
    "cub/warp/warp_reduce.cuh",
]
SMALL_SHIMS = [
    "tvmffi_cubin_prelude.h",
    "tvmffi_cubin_builtins.h",
    "cuda.h",
    "stdint.h",
    "cstdint",
    "stddef.h",
    "cstddef",
    "limits.h",
    "climits",
    "float.h",
    "cfloat",
    "math.h",
    "cmath",
    "assert.h",
    "cassert",
    "stdio.h",
    "cstdio",
    "stdlib.h",
    "cstdlib",
    "string.h",
    "cstring",
    "inttypes.h",
    "cinttypes",
    "limits",
    "type_traits",
    "utility",
    "algorithm",
    "array",
    "tuple",
    "new",
    "time.h",
    "ctime",
]
KERNEL = 'extern "C" __global__ void k(float* x) { x[0] = 1; }\n'


def compile_it(source, **arguments):
    return nvrtc.compile(source, **{"arch": "sm_90a", **arguments})


def includes(headers):
    return "".join(f"#include <{header}>\n" for header in headers)


def exists(header):
    """Whether the installed CCCL has it; older ones lack some."""
    folders = (nvrtc.shim_dir(), *cuda_wheels.find_cuda().include_dirs[:2])
    return any((folder / header).is_file() for folder in folders[1:])


@pytest.fixture
def none_precompiled(monkeypatch):
    """As where there is no room: it takes as long as to read them, which one test does once.

    All of them together are precompiled below.
    """
    monkeypatch.setattr(nvrtc_pch_store, "has_room", lambda folder: False)


@pytest.mark.usefixtures("none_precompiled")
@pytest.mark.parametrize("header", SHIMS)
def test_every_shim_compiles_on_its_own_and_twice(header):
    by_cccl = f"cuda/std/{header}"
    forwards = by_cccl in (nvrtc.shim_dir() / header).read_text()
    if forwards and not exists(by_cccl):
        pytest.skip(f"the installed CCCL has no <{by_cccl}>")
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
    cuda = cuda_wheels.find_cuda()
    if any((folder / "crt" / "mma.h").is_file() for folder in cuda.include_dirs):
        assert compile_it(source).image
    else:
        with pytest.raises(CompileError, match="pip install nvidia-cuda-nvcc-cu12"):
            compile_it(source)


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


def test_the_host_compilers_word_for_extensions_means_nothing():
    compile_it("struct S { __extension__ union { int a; float b; }; };\n" + KERNEL)


def test_a_constant_aggregate_is_bound_member_by_member_beside_tuples():
    compile_it(
        "#include <utility>\n#include <tuple>\nstruct S { int a; float b; };\n"
        "__global__ void k(float* x) {\nconst auto [a, b] = S{1, 2};\n"
        "const auto [c, d] = std::pair<int, float>(a, b);\n"
        "const auto [e, f] = std::make_tuple(c, d);\nx[e] = f;\n}"
    )


def test_the_host_compilers_spellings_of_words_mean_what_they_mean_to_nvcc():
    compile_it(
        "__global__ void k(float* x) {\n__const int a = 1;\n__const__ __signed__ int b = a;\n"
        '__asm__ __volatile__("" ::: "memory");\n__asm __volatile("mov.b32 %0, 0;" : "=f"(x[b]));\n'
        "}"
    )


@pytest.mark.parametrize("standard", ["c++14", "c++17"])
def test_the_host_compiler_s_functions_of_bits_are_there_as_with_nvcc(standard):
    source = """
        static_assert(__builtin_ctz(64u) == 6 && __builtin_ctzll(1ull << 63) == 63, "");
        static_assert(__builtin_clz(1) == 31 && __builtin_clzl(1) == 63, "");
        static_assert(__builtin_popcount(255) == 8 && __builtin_popcountll(~0ull) == 64, "");
        static_assert(__builtin_ffs(0) == 0 && __builtin_ffs(8) == 4, "");
        extern "C" __global__ void k(int* x) {
          x[0] = __builtin_clz(x[1]) + __builtin_popcountll(x[2]) + __builtin_ffs(x[3]);
        }
    """
    made = compile_it(source, options=[f"-std={standard}"])
    assert [kernel.name for kernel in made.kernels] == ["k"]


def test_the_prelude_leaves_nothing_in_the_image():
    with_prelude = compile_it(KERNEL).image
    assert b"INFINITY" not in with_prelude
    assert b".nv.global" not in with_prelude


def test_sources_may_define_the_same_names_themselves():
    source = """
        typedef unsigned int uint32_t;
        using int64_t = long long;
        typedef unsigned int uint;
        #ifndef INFINITY
        #define INFINITY __int_as_float(0x7f800000)
        #endif
        namespace std { using ::sqrt; }
        """
    assert compile_it(source + KERNEL).log == ""


class TestProgrammaticDependentLaunch:
    SOURCE = """
        extern "C" __global__ void k(float* x) {
          cudaGridDependencySynchronize();
          x[0] += 1;
          ::cudaTriggerProgrammaticLaunchCompletion();
        }"""

    @pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90", "sm_90a"])
    def test_it_compiles_without_an_include_and_is_nothing_before_sm_90(self, arch):
        without = self.SOURCE.replace("cudaGrid", "//").replace("::cudaTrigger", "//")
        with_it = compile_it(self.SOURCE, arch=arch).image
        assert (with_it == compile_it(without, arch=arch).image) == (arch < "sm_90")

    @pytest.mark.parametrize(
        "headers", [["cuda_device_runtime_api.h"], ["cooperative_groups.h"], ["cuda_runtime.h"]]
    )
    def test_headers_that_declare_it_too_do_no_harm(self, headers):
        compiled = compile_it(includes(headers) + self.SOURCE)
        assert "cudaGrid" not in compiled.log


def test_a_tensor_map_is_laid_out_and_named_as_in_the_drivers_header(tmp_path):
    source = """
        #include <cuda.h>
        static_assert(sizeof(CUtensorMap) == 128 && alignof(CUtensorMap) == 64);
        static_assert(CUDA_VERSION >= 12000 && sizeof(CUdeviceptr) == 8);
        __global__ void k(const __grid_constant__ CUtensorMap map, CUdeviceptr p) {}"""
    device_name = compile_it(source, name_expressions=["k"]).lowered_names["k"]
    host = "#include <cuda.h>\nvoid k(CUtensorMap map, CUdeviceptr p) {}\n"
    compiler = toolchain.find_host_compiler()
    folder = cuda_wheels.find_cuda().include
    (tmp_path / "k.cc").write_text(host)
    text = subprocess.run(
        [*compiler.command, "-S", "-o", "-", f"-I{folder}", str(tmp_path / "k.cc")],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert f"\n{device_name}:" in text


CLAIMS = {
    "limits": """
        using std::numeric_limits;
        static_assert(numeric_limits<int>::max() == INT_MAX);
        static_assert(numeric_limits<int>::min() == INT_MIN);
        static_assert(numeric_limits<long>::lowest() == LONG_MIN);
        static_assert(numeric_limits<unsigned long long>::max() == ULLONG_MAX);
        static_assert(numeric_limits<signed char>::min() == SCHAR_MIN);
        static_assert(numeric_limits<unsigned short>::max() == USHRT_MAX);
        static_assert(numeric_limits<int>::digits == 31 && numeric_limits<int>::digits10 == 9);
        static_assert(numeric_limits<uint64_t>::digits == 64 && numeric_limits<char>::is_integer);
        static_assert(numeric_limits<bool>::max() && !numeric_limits<unsigned>::is_signed);
        static_assert(numeric_limits<float>::max() == FLT_MAX && numeric_limits<float>::min() > 0);
        static_assert(numeric_limits<double>::infinity() > DBL_MAX);
        static_assert(numeric_limits<float>::lowest() == -FLT_MAX);
        static_assert(numeric_limits<double>::quiet_NaN() != numeric_limits<double>::quiet_NaN());
        static_assert(numeric_limits<float>::denorm_min() > 0 && FLT_EPSILON > 0);
        static_assert(1.0f + numeric_limits<float>::epsilon() > 1.0f);
        static_assert(numeric_limits<float>::max_digits10 == 9 && !numeric_limits<int>::is_modulo);
        static_assert(numeric_limits<double>::max_digits10 == 17);
        """,
    "type_traits": """
        enum E : short {};
        struct A {}; struct B : A { B(int); int* p; };
        static_assert(std::is_same_v<std::remove_cvref_t<const int&>, int>);
        static_assert(std::is_same_v<std::decay_t<int[3]>, int*>);
        static_assert(std::is_same_v<std::conditional_t<true, A, B>, A>);
        static_assert(std::is_same_v<std::make_unsigned_t<long>, unsigned long>);
        static_assert(std::is_same_v<std::make_signed_t<unsigned long long>, long long>);
        static_assert(std::is_same_v<std::underlying_type_t<E>, short>);
        static_assert(std::is_same_v<std::remove_pointer_t<int* const>, int>);
        static_assert(std::is_integral_v<const long> && !std::is_integral_v<float>);
        static_assert(std::is_floating_point_v<double> && std::is_arithmetic_v<char>);
        static_assert(std::is_signed_v<int> && std::is_unsigned_v<unsigned char>);
        static_assert(!std::is_signed_v<A> && !std::is_unsigned_v<A>);
        static_assert(std::is_pointer_v<int* const> && !std::is_pointer_v<int>);
        static_assert(std::is_base_of_v<A, B> && std::is_convertible_v<int, B>);
        static_assert(std::is_enum_v<E> && std::is_class_v<A> && std::is_empty_v<A>);
        static_assert(std::is_trivially_copyable_v<B> && std::is_constructible_v<B, int>);
        static_assert(std::conjunction_v<std::true_type, std::negation<std::false_type>>);
        static_assert(std::is_same_v<std::common_type_t<char, int, float>, float>);
        static_assert(std::is_same_v<std::invoke_result_t<int (*)(float), float>, int>);
        static_assert(std::is_invocable_v<int (*)(float), int> && !std::is_invocable_v<A, int>);
        static_assert(std::is_same_v<std::add_lvalue_reference_t<void>, void>);
        static_assert(std::is_same_v<std::add_rvalue_reference_t<int&>, int&>);
        static_assert(std::extent_v<int[3][4], 1> == 4 && std::extent_v<int[3][4]> == 3);
        static_assert(std::extent_v<int[][4]> == 0 && std::rank_v<int[][4]> == 2);
        static_assert(alignof(std::aligned_storage_t<6, 4>) == 4);
        static_assert(sizeof(std::aligned_storage_t<32>) == 32);
        static_assert(std::is_function_v<int(int)> && !std::is_function_v<int (*)(int)>);
        static_assert(std::is_volatile_v<volatile int> && !std::is_volatile_v<int&>);
        static_assert(std::is_scalar_v<int*> && std::is_scalar_v<E> && !std::is_scalar_v<A>);
        static_assert(std::is_object_v<A> && !std::is_object_v<int&> && !std::is_object_v<void>);
        static_assert(std::is_trivial_v<A> && !std::is_trivial_v<B> && std::is_aggregate_v<A>);
        static_assert(std::is_default_constructible_v<A> && !std::is_default_constructible_v<B>);
        static_assert(std::is_copy_constructible_v<B> && std::is_move_assignable_v<B>);
        static_assert(!std::is_copy_assignable_v<const int> && std::is_assignable_v<int&, short>);
        static_assert(std::is_trivially_destructible_v<B> && std::is_fundamental_v<void>);
        static_assert(!std::conjunction_v<std::false_type, A> && std::conjunction_v<>);
        static_assert(std::disjunction_v<std::true_type, A> && !std::disjunction_v<>);
        template <class T, std::enable_if_t<std::is_integral_v<T>, int> = 0> T f(T x) { return x; }
        static_assert(std::integral_constant<int, 3>::value == 3 && std::true_type{});
        """,
    "utility": """
        template <size_t... I> constexpr size_t sum(std::index_sequence<I...>) { return (I + ...); }
        static_assert(sum(std::make_index_sequence<5>()) == 10);
        using Two = std::integer_sequence<int, 0, 1>;
        static_assert(std::is_same_v<std::make_integer_sequence<int, 2>, Two>);
        constexpr int swapped() { int a = 1, b = 2; std::swap(a, b); return a * 10 + b; }
        static_assert(swapped() == 21);
        constexpr int exchanged() { int a = 1; int b = std::exchange(a, 5); return a * 10 + b; }
        static_assert(exchanged() == 51);
        static_assert(std::make_pair(1, 2.5f).second == 2.5f);
        static_assert(std::is_same_v<decltype(std::declval<int>()), int&&>);
        constexpr std::pair<int*, float> null(0, 1);
        static_assert(std::pair<long, double>(std::make_pair(1, 2.5f)).second == 2.5);
        static_assert(std::make_pair(1, 2) < std::make_pair(1, 3));
        constexpr int bound() {
          auto [a, b] = std::make_pair(1, 2);
          auto one = std::make_pair(3, 4);
          auto& [c, d] = one;
          c = 5;
          return a * 1000 + b * 100 + one.first * 10 + d;
        }
        static_assert(bound() == 1254);
        static_assert(std::make_pair(1, 2) == std::make_pair(1, 2) && null.second == 1);
        static_assert(std::is_same_v<decltype(std::pair(1, 'c')), std::pair<int, char>>);
        """,
    "tuple": """
        struct Empty {};
        using Three = std::tuple<char, double, short>;
        constexpr Three three('a', 2.5, 3);
        static_assert(std::get<0>(three) == 'a' && std::get<double>(three) == 2.5);
        static_assert(sizeof(Three) == 24 && sizeof(std::tuple<Empty, int>) == 4);
        static_assert(std::tuple_size_v<const Three> == 3 && std::tuple_size_v<std::tuple<>> == 0);
        static_assert(std::is_same_v<std::tuple_element_t<1, const Three>, const double>);
        static_assert(std::make_tuple(1, 2.0f) == std::tuple<int, float>(1, 2.0f));
        static_assert(std::tuple(1, 'c') < std::tuple(2, 'b') && Three() != three);
        static_assert(std::is_same_v<decltype(std::tuple(1, 'c')), std::tuple<int, char>>);
        constexpr int tied() {
          int a = 0, b = 0;
          std::tie(a, b) = std::make_tuple(1, 2);
          auto both = std::make_tuple(a, b);
          std::get<0>(both) = 5;
          std::tie(std::ignore, b) = std::make_pair(7, 8);
          auto [x, y] = both;
          return a * 1000 + b * 100 + x * 10 + y;
        }
        static_assert(tied() == 1852);
        struct Sum {
          template <class... T> constexpr double operator()(T... x) const { return (x + ...); }
        };
        static_assert(std::apply(Sum(), three) == 'a' + 5.5);
        constexpr auto joined = std::tuple_cat(std::tuple(1), std::tuple(2, 3), std::tuple<>());
        static_assert(std::get<2>(joined) == 3 && std::tuple_size_v<decltype(joined)> == 3);
        static_assert(std::get<1>(std::forward_as_tuple(1, 2)) == 2);
        static_assert(std::tuple<long, double>(std::tuple(1, 2.5f)) == std::tuple(1L, 2.5));
        static_assert(std::get<1>(std::make_pair(1, 2)) == 2);
        static_assert(std::tuple_size_v<std::pair<int, int>> == 2);
        """,
    "array": """
        constexpr std::array<int, 3> three{1, 2, 3};
        static_assert(three[0] == 1 && three.back() == 3 && three.size() == 3 && !three.empty());
        static_assert(sizeof(std::array<char, 5>) == 5 && std::array<int, 0>().empty());
        static_assert(std::get<1>(three) == 2 && std::tuple_size_v<decltype(three)> == 3);
        static_assert(std::is_same_v<decltype(std::array{1, 2}), std::array<int, 2>>);
        static_assert(std::is_trivially_copyable_v<std::array<float, 2>>);
        constexpr int summed() {
          std::array<int, 4> all = {{4, 3}};
          all[2] = three.at(1);
          int sum = 0;
          for (int x : all) sum += x;
          auto [a, b, c] = three;
          return sum * 100 + c * 10 + *(three.end() - 2);
        }
        static_assert(summed() == 932);
        """,
    "range_access.h": """
        struct Three {
          int values[3] = {1, 2, 3};
          constexpr const int* begin() const { return values; }
          constexpr const int* end() const { return values + 3; }
          constexpr const int* data() const { return values; }
          constexpr int size() const { return 3; }
          constexpr bool empty() const { return false; }
        };
        constexpr Three three;
        constexpr int kept[] = {7, 8};
        static_assert(std::size(kept) == 2 && std::size(three) == 3 && !std::empty(three));
        static_assert(*std::data(kept) == 7 && std::data(three)[1] == 2 && !std::empty(kept));
        static_assert(*std::begin(kept) == 7 && std::end(three) - std::begin(three) == 3);
        static_assert(*(std::cend(kept) - 1) == 8 && *std::cbegin(three) == 1);
        constexpr int filled() {
          int values[3] = {};
          for (auto* at = std::begin(values); at != std::end(values); ++at) *at = 2;
          std::data(values)[1] = 5;
          return values[0] + values[1] + values[2];
        }
        static_assert(filled() == 9);
        """,
    "algorithm": """
        static_assert(std::min(1, 2) == 1 && std::max(1, 2) == 2 && std::clamp(5, 1, 3) == 3);
        struct Greater { constexpr bool operator()(int a, int b) const { return a > b; } };
        static_assert(std::min(1, 2, Greater()) == 2 && std::max(1, 2, Greater()) == 1);
        constexpr int one = 1, two = 2;
        static_assert(std::minmax(two, one).first == 1);
        static_assert(std::min({3, 1, 2}) == 1 && std::max({sizeof(int), sizeof(char)}) == 4);
        """,
    "cstdint": """
        static_assert(INT32_MAX == 2147483647 && UINT8_MAX == 255 && INT64_MIN < 0);
        static_assert(SIZE_MAX == size_t(-1) && UINT64_MAX == uint64_t(-1));
        static_assert(sizeof(std::int_least16_t) == 2 && sizeof(std::uint64_t) == 8);
        """,
    "cstddef": """
        struct S { char c; double d; };
        __device__ unsigned long at = offsetof(S, d);
        static_assert(sizeof(std::byte) == 1 && sizeof(std::nullptr_t) == 8);
        """,
}


@pytest.mark.parametrize("header", CLAIMS)
def test_what_the_shims_say_is_true(header):
    source = includes(["climits", "cfloat", header]) + CLAIMS[header]
    assert compile_it(source + KERNEL).image


LAYOUTS = {
    "std::tuple<int, float>": 2,
    "std::tuple<char, char, int>": 3,
    "std::tuple<std::tuple<int, char>, char>": 2,
    "std::tuple<Empty, int, char>": 3,
    "std::tuple<Empty, Empty, char>": 3,
    "std::pair<char, double>": 2,
    "std::array<short, 3>": 3,
}
AT = "(long)((const char*)&std::get<I>(x) - (const char*)&x)"


def test_what_host_code_passes_lies_where_its_library_puts_it(tmp_path):
    head = includes(["array", "tuple", "utility"]) + "struct Empty {};\n"
    at = f"template <int I, class T> long at(const T& x) {{ return {AT}; }}"
    prints = ""
    device = (
        f"template <int I, class T> __global__ void k(T x, long* y) {{ y[1] = {AT} * 1000; }}\n"
    )
    names = []
    for type_name, count in LAYOUTS.items():
        for i in range(count):
            prints += f'printf("%zu %ld\\n", sizeof({type_name}), at<{i}>({type_name}()));'
            names.append(f"k<{i}, {type_name}>")
    (tmp_path / "at.cc").write_text(f"{head}#include <cstdio>\n{at}\nint main() {{ {prints} }}")
    command = [*toolchain.find_host_compiler().command, "-std=c++17", "-o", str(tmp_path / "at")]
    subprocess.run([*command, str(tmp_path / "at.cc")], check=True)
    there = subprocess.run([str(tmp_path / "at")], check=True, capture_output=True, text=True)
    made = nvrtc.compile(head + device, arch="sm_90", name_expressions=names, target_type="ptx")
    text = made.image.decode()
    here = []
    for name in names:
        kernel = re.search(rf"\.entry {made.lowered_names[name]}\((.*?)\n}}", text, re.DOTALL)[1]
        at = re.search(r"mov\.[bu]64 \s*%rd\d+, (\d+);", kernel)[1]
        size = re.search(r"_param_0\[(\d+)", kernel)[1]
        here.append(f"{size} {int(at) // 1000}")
    assert here == there.stdout.splitlines()


@pytest.mark.parametrize("standard", ["c++11", "c++14"])
def test_older_standards_have_what_is_in_them(standard):
    source = """
        template <class T, typename std::enable_if<std::is_integral<T>::value, int>::type = 0>
        __global__ void k(T* x, T y) {
          std::swap(x[0], x[1]);
          x[2] = std::max(std::min(x[0], y), std::exchange(x[1], std::numeric_limits<T>::min()));
          static_assert(!std::is_same<typename std::make_signed<T>::type, T>::value, "");
          x[3] = std::make_pair(1, 2.5f).first;
          std::array<T, 2> both = {{x[4], x[5]}};
          std::tie(x[4], x[5]) = std::make_tuple(std::get<1>(both), both[0]);
          for (T* at = std::begin(both); at != std::end(both); ++at) x[6] += *at;
        }"""
    shims = ["algorithm", "limits", "type_traits", "utility", "cstdint", "cmath", "array", "tuple"]
    shims += ["range_access.h"]
    made = compile_it(
        includes(shims) + source,
        options=[f"-std={standard}"],
        name_expressions=["k<unsigned>"],
    )
    assert made.log == ""


@pytest.mark.parametrize("header", [name for name in CLAIMS if name != "cstddef"])
def test_the_hosts_library_says_the_same(header, tmp_path):
    file = tmp_path / "claims.cc"
    # Of which we have a part in a header of another name.
    there = {"range_access.h": "iterator"}.get(header, header)
    std = "#include <cstddef>\n#include <cstdint>\n#include <type_traits>\nusing std::size_t;\n"
    file.write_text(includes(["climits", "cfloat", there]) + std + CLAIMS[header])
    command = [*toolchain.find_host_compiler().command, "-std=c++20", "-fsyntax-only", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
