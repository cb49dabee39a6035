"""Bound parameters of mixed sources: launches pass what they passed, and all is appended."""

import pytest
from stub.cuda_array import cuda_array

import tvmffi_cubin as tc

SOURCE = """
#include <cuda_fp16.h>
namespace ops {
template <typename T>
__global__ void scale(T* x, T by = T(3), unsigned long long* counters = nullptr,
                      unsigned limit = 0);
template <typename T>
__global__ void scale(T* x, T by, unsigned long long* counters, unsigned limit) { *x *= by; }
template __global__ void scale<double>(double* x, double, unsigned long long*, unsigned);
template <> __global__ void scale<int>(int* x, int by, unsigned long long* counters, unsigned l) {}
__global__ void over(float* x, unsigned long long* counters, unsigned limit) { *x = 1; }
__global__ void over(int* x, int, unsigned long long* counters, unsigned limit) { *x = 1; }
}
__global__ void nothing(
    unsigned long long* counters,
    unsigned limit) {}
extern "C" __global__ void plain(int n, const unsigned long long* counters, unsigned limit) {}
struct Friendly { friend __global__ void nothing(unsigned long long* counters, unsigned limit); };

void Launch(int way) {
  int three = 3;
  void* args[] = {&three};
  cudaLaunchConfig_t config{};
  config.gridDim = config.blockDim = dim3(1);
  switch (way) {
    case 0: ops::scale<float><<<1, 1>>>(nullptr, 2.0); break;
    case 1: ops::scale<double><<<1, 1>>>(nullptr); break;
    case 2: ops::scale<int><<<1, 1>>>(nullptr, 5); break;
    case 3: ops::over<<<1, 1>>>((float*)nullptr); break;
    case 4: ops::over<<<1, 1>>>((int*)nullptr, 4); break;
    case 5: nothing<<<1, 1>>>(); break;
    case 6: plain<<<1, 1>>>(three); break;
    case 7: cudaLaunchKernel((const void*)plain, dim3(1), dim3(1), args, 0, nullptr); break;
    case 8: cudaLaunchKernelEx(&config, plain, three); break;
    case 9: { void (*fn)(int) = plain; fn<<<1, 1>>>(three); break; }
  }
}
"""
OWN = [("Pf", 0, 2.0), ("Pd", 0, 3.0), ("Pi", 0, 5), ("P", 0), ("Pi", 0, 4), ("",)]
OWN += [("i", 3)] * 4


def build(source=SOURCE, *, functions=("Launch",), bound_params=("counters", "limit"), **options):
    return tc.load_inline(
        "mixed_bound", source, functions=functions, bound_params=bound_params, arch="sm_90",
        **options,
    )  # fmt: skip


def test_what_is_bound_is_passed_behind_the_arguments_of_a_launch(driver_stub):
    mod = build()
    counters = cuda_array(driver_stub, 8, "uint64")
    for bound in ((0, 0), (counters.data_ptr, 7)):
        for way in range(len(OWN)):
            mod.Launch(way)
        for launch, (formats, *own) in zip(driver_stub.launches(), OWN, strict=True):
            assert launch.values(f"{formats}PI") == (*own, *bound)
        driver_stub.reset()
        mod.bind(counters=counters, limit=7)


def test_kernels_that_are_functions_of_the_module_have_it_too(driver_stub):
    functions = {"Launch": None, "plain": tc.Launch(grid=1, block=1)}
    mod = build(functions=functions, bound_params=["counters", "unsigned limit"])
    mod.bind(limit=9)
    mod.plain(1)
    mod.Launch(6)
    assert [x.values("iPI") for x in driver_stub.launches()] == [(1, 0, 9), (3, 0, 9)]


@pytest.mark.parametrize(
    ("bound_params", "message"),
    [
        (["limit", "counters"], r"mixed_bound.cu:4: .*limit, counters; .* scale are \(x, by"),
        (["a", "b", "counters", "limit"], r"mixed_bound.cu:11: .*must end .* over are \(x, c"),
        (["double counters", "limit"], r"declares 'double counters'"),
    ],
)
def test_kernels_that_lack_them_are_named(bound_params, message):
    with pytest.raises(ValueError, match=message):
        build(bound_params=bound_params)


def test_a_launch_that_passes_them_itself_is_an_error_at_its_place():
    source = SOURCE.replace("plain<<<1, 1>>>(three)", "plain<<<1, 1>>>(three, nullptr, 3u)")
    with pytest.raises(tc.BuildError, match=r"mixed_bound.cu:32:\d+: error: too many arguments"):
        build(source)
