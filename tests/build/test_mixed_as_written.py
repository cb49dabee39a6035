"""Ways of writing a mixed source that real ones have."""

from __future__ import annotations

from pathlib import Path

import pytest

import tvmffi_cubin as tc

SOURCES = {
    "a tensor map": """
#include <cuda.h>
struct Maps { CUtensorMap maps[2]; };
__global__ void k(const __grid_constant__ CUtensorMap map, const __grid_constant__ Maps maps) {}
void run() { k<<<1, 1>>>(CUtensorMap(), Maps()); }
""",
    "a mark of a line within a declaration": """
#include <cooperative_groups.h>
extern
#line 7 "other.h"
"C" { void other(); }
namespace cg = cooperative_groups;
__global__ void k(int* x) { *x = cg::this_thread_block().size(); }
void run() { k<<<1, 1>>>(nullptr); }
""",
    "a kernel that is declared with other parameters, too": """
__global__ void k(int* x);
__global__ void k(int* x, int by) { *x = by; }
void run() { k<<<1, 1>>>(nullptr, 1); }
""",
    "a header of Thrust's that only host code uses": """
#include <thrust/random.h>
__global__ void k(unsigned* x, unsigned by) { *x = by; }
void run() {
  thrust::minstd_rand random;
  k<<<1, 1>>>(nullptr, random());
}
""",
    "constants of the C library's macros": """
#include <cmath>
#include <cstddef>
struct Pair { int first; double second; };
struct Constants {
  static constexpr size_t kOffset = offsetof(Pair, second);
  static constexpr float kLow = float{-INFINITY};
  static constexpr double kHigh = HUGE_VAL, kNone = NAN;
};
static_assert(Constants::kOffset == 8 && Constants::kLow < 0);
__global__ void k(double* x) { *x = Constants::kLow + Constants::kHigh + Constants::kNone; }
void run() { k<<<1, 1>>>(nullptr); }
""",
    "a constructor for the host alone": """
struct Divisor {
  __host__ __device__ Divisor() : by(1) {}
  __host__ explicit Divisor(int by) : by(by) {}
  int by;
};
__global__ void k(int* x, Divisor divisor) { *x /= divisor.by; }
void run() { k<<<1, 1>>>(nullptr, Divisor(3)); }
""",
    "members called as their types are": """
using Element = float;
struct Params { using Element = Element; Element* x; };
__global__ void k(Params params) { *params.x = 1; }
void run() { k<<<1, 1>>>(Params()); }
""",
}


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES.keys())
def test_a_source_as_people_write_it_is_built(source):
    path = tc.build_inline("written", source, functions=["run"], arch="sm_90")
    assert Path(path).is_file()
