"""Mixed sources with clang as the host compiler, where there is one."""

from __future__ import annotations

import shutil

import pytest
from stub.driver_stub import DriverStub

import tvmffi_cubin as tc

# What clang reads otherwise than gcc: pragmas of loops in kernels' bodies, names of templates whose
# parameters have types of their own.
SOURCE = r"""
#include <type_traits>

template <typename T, std::enable_if_t<std::is_integral_v<T>, int> = 0>
__global__ void fill(T* x) { *x = 1; }

template <typename T, std::enable_if_t<std::is_floating_point_v<T>, int> = 0>
__global__ void fill(T* x) {
  T sum = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) sum += i;
  *x = sum;
}

__host__ __device__ inline int twice(int x) {
  int sum = 0;
#pragma unroll
  for (int i = 0; i < 2; ++i) sum += x;
  return sum;
}

__global__ void reduce(float* x) {
  *x = twice(1);
}

int64_t run() {
  fill<<<1, 1>>>(static_cast<int*>(nullptr));
  fill<<<1, 1>>>(static_cast<float*>(nullptr));
  reduce<<<1, 64>>>(nullptr);
  return twice(1);
}
"""


@pytest.fixture
def clang(monkeypatch: pytest.MonkeyPatch) -> str:
    names = ("clang++", *(f"clang++-{version}" for version in range(30, 13, -1)))
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        pytest.skip("no clang++ on PATH")
    monkeypatch.setenv("CXX", found)
    return found


def test_a_source_is_built_and_its_kernels_are_found(clang: str, driver_stub: DriverStub) -> None:
    mod = tc.load_inline("clang", SOURCE, functions=["run"], arch="sm_90", use_pch=False)
    assert mod.run() == 2
    *fills, reduce = [launch.kernel or "" for launch in driver_stub.launches()]
    assert ["4fillIi" in fills[0], "4fillIf" in fills[1], reduce] == [True, True, "_Z6reducePf"]
    mistake = SOURCE.replace("return twice(", "return thrice(")
    with pytest.raises(tc.BuildError, match=r"clang\.cu:\d+:10: error: .*'thrice'"):
        tc.load_inline("clang", mistake, functions=["run"], arch="sm_90", use_pch=False)
