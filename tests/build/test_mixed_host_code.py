"""What host code of mixed sources does as it does with nvcc: when it is loaded, flags, errors."""

from __future__ import annotations

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

int refused(int grid, int block) {
  cudaLaunchConfig_t config{};
  config.gridDim = static_cast<unsigned>(grid);
  config.blockDim = static_cast<unsigned>(block);
  const int error = cudaLaunchKernelEx(&config, count, 1);
  return error * 1000 + cudaGetLastError();
}
"""
FUNCTIONS = ["early", "refused"]
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Wsign-conversion"]
INVALID_CONFIGURATION = 9


def load() -> tc.Module:
    """Return the module; no warning of any header is an error of the build."""
    flags = [*WARNINGS, "-Wold-style-cast", "-Werror"]
    return tc.load_inline(
        "host_code", SOURCE, functions=FUNCTIONS, arch="sm_90", extra_cflags=flags
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


def test_calls_that_launch_return_the_runtime_s_errors(driver_stub: DriverStub) -> None:
    mod = load()
    assert mod.refused(1, 5000) == INVALID_CONFIGURATION * 1001
    assert mod.refused(0, 1) == INVALID_CONFIGURATION * 1001
    assert mod.refused(1, 1) == 0


def test_beside_cub_a_mistake_in_host_code_is_an_error() -> None:
    source = """
    #include <cub/cub.cuh>
    __global__ void k(int* x) { *x = sizeof(cub::BlockScan<int, 64>::TempStorage); }
    int bytes() { return sizeof(cub::BlockScan<int, 64>::TempStorage); }
    int mistaken(int n) { int* p = n; return *p; }
    """
    with pytest.raises(tc.BuildError, match=r"cub_host\.cu:5:.*invalid conversion"):
        tc.build_inline("cub_host", source, functions=["bytes"], arch="sm_90")
