"""What host code of mixed sources does as it does with nvcc: when it is loaded, flags, errors."""

from __future__ import annotations

import traceback
from pathlib import Path

import pytest
from stub.driver_stub import DriverStub
from wrapper_workshop import load_anew

import tvmffi_cubin as tc

SOURCE = r"""
__device__ int counter;
__global__ void count(int by) { counter += by; }
template <typename T> __global__ void fill(T* x, T value) { *x = value; }

// A static object of the user's may use kernels and variables, as all of its own file can.
constexpr auto kSmem = cudaFuncAttributeMaxDynamicSharedMemorySize;
const int set_early = cudaFuncSetAttribute(count, kSmem, 100 * 1024) +
                      cudaFuncSetAttribute(fill<float>, kSmem, 100 * 1024);
const int copied_early = [] {
  const int from = 3;
  return cudaMemcpyToSymbol(counter, &from, sizeof(from));
}();
const int launched_early = (count<<<1, 2>>>(3), cudaPeekAtLastError());
int early() { return set_early * 1000000 + copied_early * 1000 + launched_early; }
"""
THROWS = r"""
void throws(int how) {
  TVM_FFI_ICHECK_NE(how, 1) << "one";
  TVM_FFI_CHECK(how != 2, ValueError) << "two " << 2.5 << ' ' << std::string("strings");
  if (how == 3) TVM_FFI_THROW(IndexError) << "three";
  if (how == 4) throw std::runtime_error("four");
}
#include <tvm/ffi/reflection/registry.h>
int without_result(int how) {
  int result = how;
  TVM_FFI_SAFE_CALL_BEGIN();
  throws(result);
  TVM_FFI_SAFE_CALL_END();
}
#include <cuda.h>
int devices() {
  int count = 0;
  return cuInit(0) == CUDA_SUCCESS && cuDeviceGetCount(&count) == CUDA_SUCCESS ? count : -1;
}
"""
MAX = r"""
template <typename T> constexpr T max(T x) { return x; }
template <typename T, typename... Rest> constexpr T max(T x, Rest... rest) {
  return max(x, max(rest...));
}
static_assert(max(1, 2u) == 2 && max(1, 2, 3) == 3);
"""
KERNEL = "__global__ void nothing() {}\nvoid launch() { nothing<<<1, 1>>>(); }\n"
NAMES = ["throws", "devices", "without_result"]
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Wsign-conversion"]


def load() -> tc.Module:
    """Return the module; no warning of any header is an error of the build."""
    flags = [*WARNINGS, "-Wold-style-cast", "-Werror"]
    return tc.load_inline(
        "host_code", SOURCE, functions=["early"], arch="sm_90", extra_cflags=flags
    )


def test_kernels_and_variables_may_be_used_while_the_library_is_loaded(
    driver_stub: DriverStub, tmp_path: Path
) -> None:
    path = Path(load().path)
    driver_stub.reset()
    mod = load_anew(path, tmp_path)
    (launch,) = driver_stub.launches()
    assert (launch.kernel, launch.block[0], launch.values("i")) == ("_Z5counti", 2, (3,))
    assert mod.early() == 0


def test_beside_cub_a_mistake_in_host_code_is_an_error() -> None:
    source = """
    #include <cub/cub.cuh>
    __global__ void k(int* x) { *x = sizeof(cub::BlockScan<int, 64>::TempStorage); }
    int bytes() { return sizeof(cub::BlockScan<int, 64>::TempStorage); }
    int mistaken(int n) { int* p = n; return *p; }
    """
    with pytest.raises(tc.BuildError, match=r"cub_host\.cu:5:.*invalid conversion"):
        tc.build_inline("cub_host", source, functions=["bytes"], arch="sm_90")


@pytest.fixture(scope="module")
def throwing() -> tc.Module:
    """Return host code that throws as tvm-ffi's users do."""
    return tc.load_inline("throws", THROWS + MAX + KERNEL, functions=NAMES, arch="sm_90")


def test_driver_functions_are_called_by_name(throwing: tc.Module, driver_stub: DriverStub) -> None:
    assert throwing.devices() == 3


@pytest.mark.parametrize(
    ("how", "error", "message"),
    [
        (1, RuntimeError, "Check failed: how != 1 (1 vs. 1) : one"),
        (2, ValueError, "Check failed: (how != 2) is false: two 2.5 strings"),
        (3, IndexError, "three"),
        (4, RuntimeError, "four"),
    ],
)
def test_errors_have_tvm_ffi_s_kinds_and_texts_and_the_user_s_lines(throwing, how, error, message):
    assert [throwing.without_result(how), throwing.without_result(0)] == [-1, 0]
    with pytest.raises(error) as caught:
        throwing.throws(how)
    assert message in str(caught.value)
    if how == 3:
        line = THROWS.partition("IndexError")[0].count("\n") + 1
        frames = traceback.extract_tb(caught.value.__traceback__)
        assert ("throws.cu", line) in [(frame.filename, frame.lineno) for frame in frames]
