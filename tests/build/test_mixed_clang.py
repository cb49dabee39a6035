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

int64_t run() {
  fill<<<1, 1>>>(static_cast<int*>(nullptr));
  fill<<<1, 1>>>(static_cast<float*>(nullptr));
  return 2;
}
"""


def test_a_source_is_built_and_its_kernels_are_found(
    monkeypatch: pytest.MonkeyPatch, driver_stub: DriverStub
) -> None:
    names = ("clang++", *(f"clang++-{version}" for version in range(30, 13, -1)))
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        pytest.skip("no clang++ on PATH")
    monkeypatch.setenv("CXX", found)
    options = {"functions": ["run"], "arch": "sm_90", "use_pch": False}
    assert tc.load_inline("clang", SOURCE, **options).run() == 2
    one, two = [launch.kernel or "" for launch in driver_stub.launches()]
    assert ["4fillIi" in one, "4fillIf" in two] == [True, True]
    mistake = SOURCE.replace("return 2", "return thrice(2)")
    with pytest.raises(tc.BuildError, match=r"clang\.cu:\d+:10: error: .*'thrice'"):
        tc.load_inline("clang", mistake, **options)
