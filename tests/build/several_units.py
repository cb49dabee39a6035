"""Device sources that are compiled separately, a library for them, and what loads them."""

from __future__ import annotations

import pytest

import tvmffi_cubin as tc
from tvmffi_cubin import nvrtc
from tvmffi_cubin.errors import CompileError

HEADER = "using Real = float;\n__device__ __forceinline__ Real half_of(Real x) { return x / 2; }"
SCALE = """
__device__ Real scaled(Real x) { return half_of(x) * 2; }
__device__ int counter;
__constant__ float factors[2] = {1, 2};
extern "C" __global__ void first(Real* x, int n) { x[0] = scaled(x[0]); counter = n; }
template <class T> __global__ void fill(T* x, T value) { x[0] = value; }
"""
USE = """
__device__ Real scaled(Real x);
extern __device__ int counter;
extern __constant__ float factors[2];
__global__ void second(Real* x, double y) { x[1] = scaled(x[1]) * factors[counter]; }
#define DEFINE(name) extern "C" __global__ void name(const int* p) { counter = p[0]; }
DEFINE(third)
"""
SOURCES = [HEADER, SCALE, USE]
LIBRARY = "__device__ float helper(float x) { return x + 1; }"
CALLER = 'extern __device__ float helper(float); extern "C" __global__ void call(float* x) {'
CALLER += " x[0] = helper(x[0]); }"
BOTH = pytest.mark.parametrize("lto", [False, True])


def load(sources=SOURCES, functions=None, name="several", **more) -> tc.Module:
    return tc.load_inline(name, sources, functions=functions, **{"arch": "sm_90a", **more})


def refusal(*sources: str, error: type[Exception] = CompileError, **more) -> str:
    with pytest.raises(error) as caught:
        load(list(sources), **more)
    return str(caught.value)


def library(kind: str = "relocatable", source: str = LIBRARY, arch: str = "sm_90a") -> tc.Cubin:
    options = ["-rdc=true"] if kind == "ptx" else []
    return nvrtc.compile(source, arch=arch, target_type=kind, options=options)
