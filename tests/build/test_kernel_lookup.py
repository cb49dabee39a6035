"""Kernels named by a part of their name: resolved when the module is built, launched as named."""

from __future__ import annotations

import pytest
from stub.cuda_array import cuda_array

import tvmffi_cubin as tc

GENERATED = """
extern "C" __global__ void main_kernel(float* x) {}
extern "C" __global__ void main_kernel_1(float* x) {}
extern "C" __global__ void main_kernel_2(float* x) {}
"""
ONE = {"grid": 1, "block": 32}


def test_a_part_of_a_name_launches_the_kernel_that_has_it(driver_stub):
    functions = {
        "first": tc.Launch(kernel="main", **ONE),
        "both": [tc.Launch(kernel="main", **ONE), tc.Launch(kernel="kernel_2", **ONE)],
    }
    image = tc.nvrtc.compile(GENERATED, arch="sm_90")
    mod = tc.load_inline("lookup", embed_cubin=image, functions=functions, arch="sm_90")
    x = cuda_array(driver_stub, 4)
    mod.first(x)
    mod.both(x)
    launched = [launch.kernel for launch in driver_stub.launches()]
    assert launched == ["main_kernel", "main_kernel", "main_kernel_2"]


def test_a_part_finds_kernels_of_an_image_that_came_ready(driver_stub):
    image = tc.nvrtc.compile(
        "namespace lib { template <class T, int N> __global__ void gemm(T* x) {} }",
        name_expressions=["lib::gemm<float, 4>", "lib::gemm<float, 8>"],
        arch="sm_90",
    )
    functions = {"f": tc.Launch(kernel="gemm<float, 8", params="float* x", **ONE)}
    mod = tc.load_inline(
        "lookup_ready", embed_cubin={"ready": image}, functions=functions, arch="sm_90"
    )
    mod.f(cuda_array(driver_stub, 4))
    assert driver_stub.launches()[0].kernel == "_ZN3lib4gemmIfLi8EEEvPT_"
    functions = {"f": tc.Launch(kernel="gemm", params="float* x", **ONE)}
    with pytest.raises(ValueError, match=r"lib::gemm<float, 8>\(float\* arg0\) \[_ZN"):
        tc.load_inline("lookup_ready", embed_cubin={"ready": image}, functions=functions)
