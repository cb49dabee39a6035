"""A function's code as text: machine code by nvdisasm, PTX where an image holds it."""

from __future__ import annotations

import pytest

import tvmffi_cubin as tc

SOURCE = """
__global__ void one(float* x) { x[0] = 1; }
__global__ void two(float* x) { x[0] = 2; }
"""


def test_the_machine_code_of_a_function_is_that_of_its_kernels():
    mod = tc.load_inline("disassembly", SOURCE, arch=["sm_80", "sm_90a"])
    assert "EF_CUDA" not in mod.one.sass
    assert "_Z3onePf:" in mod.one.sass
    assert "EXIT ;" in mod.one.sass
    assert "_Z3twoPf" not in mod.one.sass
    with pytest.raises(
        AttributeError, match=r"one: no embedded image of it has PTX; .*\"compute_90\"\]"
    ):
        _ = mod.one.ptx


def test_the_ptx_of_a_function_is_that_of_its_image():
    mod = tc.load_inline("disassembly", SOURCE, arch=["sm_90a", "compute_90"])
    assert ".visible .entry _Z3onePf(" in mod.one.ptx
