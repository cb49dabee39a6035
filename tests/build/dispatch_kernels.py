"""Functions of several instances for the tests of dispatch, over the driver stand-in."""

from __future__ import annotations

import tvmffi_cubin as tc

__all__ = ["DISPATCH", "DISPATCH_FUNCTIONS", "ONE"]

DISPATCH = r"""
#include <cuda_fp16.h>
template <class T, int W> __global__ void scale(const T* x, T* y, T by, int n) {}
extern "C" __global__ void wide(const float4* x, int n) {}
extern "C" __global__ void narrow(const float* x, int n) {}
extern "C" __global__ void first(float* t, int n) {}
extern "C" __global__ void second(const float* t, float* y) {}
extern "C" __global__ void whole(const double* t, int n, double* y) {}
__global__ void over(const float* x) {}
__global__ void over(const int* x) {}
__global__ void over(long long x) {}
template <bool kCausal> __global__ void mask(float* x, bool causal, int n) {}
extern "C" __global__ void bytes(unsigned char v) {}
extern "C" __global__ void none() {}
"""
ONE = {"grid": 1, "block": 1}
DISPATCH_FUNCTIONS = {
    "scale": tc.Dispatch(
        tc.Launch(
            kernel=f"scale<{T}, {W}>",
            grid=f"ceil_div(n, {256 * W})",
            block=256,
            when=f"n % {W} == 0",
        )
        for T in ("float", "__half", "double")
        for W in (4, 1)
    ),
    "aligned": tc.Dispatch(
        [
            tc.Launch(
                kernel="scale<float, 4>", when="x.data_ptr % 16 == 0 and y.data_ptr % 16 == 0"
            ),
            tc.Launch(kernel="scale<float, 1>"),
        ]
    ),
    "vector": tc.Dispatch(
        [tc.Launch(kernel="wide", when="n % 4 == 0", **ONE), tc.Launch(kernel="narrow", **ONE)]
    ),
    "pipeline": tc.Dispatch(
        [
            [
                tc.Launch(kernel="first", grid="n", block=32),
                tc.Launch(kernel="second", grid="n + 1", block=64, when="n > 0"),
            ],
            tc.Launch(kernel="whole", **ONE),
        ]
    ),
    "overloads": tc.Dispatch(
        [
            tc.Launch(kernel="over", params=params, **ONE)
            for params in ("const float* x", "const int* x", "long long x")
        ]
    ),
    "mask": tc.Dispatch(
        tc.Launch(kernel=f"mask<{C}>", when=f"causal == {C}", **ONE) for C in (1, 0)
    ),
    "counts": tc.Dispatch([tc.Launch(kernel="none", **ONE), tc.Launch(kernel="bytes", **ONE)]),
    "guarded": tc.Dispatch(
        [
            tc.Launch(kernel="first", params="float* t, int n, int m", when=when, **ONE)
            for when in ("m != 0 and n % m == 0", "n // m > 100", "n * n * 4000000000 > 0")
        ]
    ),
    "figures": tc.Dispatch(
        [
            tc.Launch(kernel="first", grid="64 // n", block=1, when="n < 9"),
            tc.Launch(kernel="first", grid=9, block=1),
        ]
    ),
    "alone": tc.Launch(kernel="first", grid="8 // n", block=1, when="0 < n < 9"),
    "both": [
        tc.Launch(kernel="first", grid="n", block=1, when="n != 7"),
        tc.Launch(kernel="second", grid="n", block=1, when="n % 2 == 0"),
    ],
}  # fmt: skip
