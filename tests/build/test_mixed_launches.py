"""Launches by `<<<...>>>` in host code: arguments, operands, order; those that are refused."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from stub.driver_stub import DriverStub

import tvmffi_cubin as tc

SOURCE = r"""
#include <stdexcept>
#include <tvm/ffi/container/array.h>
template <typename T, int N> __global__ void scale(T* x, float by, int n) {}
template <typename T> __global__ void typed(T x) {}
__global__ void nothing() {}
__global__ void __launch_bounds__(128) shared(float* x) { extern __shared__ float s[]; s[0] = *x; }

int launched(int n) { typed<<<dim3(n), 1>>>(n); return n; }
void nested() { typed<<<2, 1>>>(launched(3) + 4); }
int throwing() { throw std::runtime_error("no argument"); }
void argument_throws() {
  try { typed<<<5, 1>>>(throwing()); } catch (const std::runtime_error&) {}
  nothing<<<1, 1>>>();
}
void operands(int n) {
  nothing<<<dim3(2, 3, 4), 96>>>();
  nothing<<<{2, 5}, dim3(5, 2), 12>>>();
  nothing<<<n, n, n, nullptr>>>();
}
void by_pointer(bool first) {
  void (*kernel)(float*, float, int) = first ? scale<float, 1> : scale<float, 2>;
  kernel<<<1, 1>>>(nullptr, 1, 2);
  (first ? scale<float, 3> : scale<float, 4>)<<<1, 1>>>(nullptr, 1, 7);
}
void unconfigured() { nothing(); }
int bad(int64_t grid, int64_t block, int64_t bytes) {
  shared<<<grid, block, bytes>>>(nullptr);
  return 17;
}
void own_exception() {
  shared<<<0, 1>>>(nullptr);
  TVM_FFI_THROW(ValueError) << "the function's own";
}
void by_call() {
  shared<<<1, 1>>>(nullptr);
  void* args[] = {nullptr};
  cudaLaunchKernel((const void*)shared, dim3(0), dim3(1), args, 0, nullptr);
}
int last_error() { return cudaGetLastError(); }
tvm::ffi::Array<int> makes(int block) { shared<<<1, block>>>(nullptr); return {1, 2, 3}; }
"""
FUNCTIONS = [
    *("launched", "nested", "argument_throws", "operands", "by_pointer", "bad"),
    *("unconfigured", "own_exception", "last_error", "makes", "by_call"),
]


@pytest.fixture(scope="module")
def built(_own_environment: None) -> str:
    return tc.build_inline("launches", SOURCE, functions=FUNCTIONS, arch="sm_90")


@pytest.fixture
def mod(built: str, driver_stub: DriverStub) -> tc.Module:
    return tc.load_module(built)


def test_arguments_may_launch_and_throw(mod, driver_stub):
    mod.nested()
    mod.argument_throws()
    launches = driver_stub.launches()
    assert [(x.grid[0], len(x.params)) for x in launches] == [(3, 1), (2, 1), (1, 0)]


def test_operands_are_what_nvcc_takes(mod, driver_stub):
    mod.operands(5)
    shapes = [(x.grid, x.block, x.dynamic_smem_bytes) for x in driver_stub.launches()]
    wanted = [((2, 3, 4), (96, 1, 1), 0), ((2, 5, 1), (5, 2, 1), 12), ((5, 1, 1), (5, 1, 1), 5)]
    assert shapes == wanted


def test_kernels_are_launched_through_pointers(mod, driver_stub):
    mod.by_pointer(True)
    mod.by_pointer(False)
    assert [x.kernel for x in driver_stub.launches()] == [
        f"_Z5scaleIfLi{n}EEvPT_fi" for n in (1, 3, 2, 4)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("grid", "block", "smem", "message"),
    [
        (1, 129, 0, r"block \(129, 1, 1\).*; the kernel allows at most 128 threads per b"),
        (1, 1, 1 << 30, "1073741824 bytes of dynamic shared memory; .*and 49152 bytes"),
        (0, 1, 0, r"grid \(0, 1, 1\)"),
    ],
)
def test_a_refused_launch_is_an_exception_of_the_exported_function(
    grid, block, smem, message, mod, driver_stub
):
    with pytest.raises(
        tc.LaunchLimitError, match=rf"launches\.cu:\d+: launch of shared.*{message}"
    ):
        mod.bad(grid, block, smem)
    assert driver_stub.launches() == []
    assert mod.last_error() == 0
    assert mod.bad(1, 1, 0) == 17
    # A call is not told with the place of another launch.
    with pytest.raises(tc.LaunchLimitError, match=r"^launch of shared.*grid \(0, 1, 1\)"):
        mod.by_call()


def test_the_function_s_own_exception_goes_before(mod):
    with pytest.raises(ValueError, match="the function's own"):
        mod.own_exception()
    assert mod.last_error() == 0
    with pytest.raises(tc.LaunchError):
        mod.makes(2000)
    assert list(mod.makes(1)) == [1, 2, 3]


def test_a_kernel_without_a_shape_is_named(mod, driver_stub):
    # A launch whose argument threw has left its shape to the thread, as with nvcc.
    with ThreadPoolExecutor(1) as pool:
        error = pool.submit(mod.unconfigured).exception()
    assert re.search(r"launch of nothing.*called as a function", str(error))
    assert driver_stub.launches() == []


def test_an_image_for_another_device_is_told(mod, driver_stub):
    driver_stub.set_devices(80)
    with pytest.raises(tc.LaunchError, match="pass this device's architecture"):
        mod.bad(1, 1, 0)
