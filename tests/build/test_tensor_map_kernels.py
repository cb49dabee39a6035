"""The kernels of the GPU tests of tensor maps compile, and take what those tests pass."""

from __future__ import annotations

import pytest
from gpu.tensor_map_kernels import SOURCE

import tvmffi_cubin as tc


@pytest.mark.parametrize("arch", ["sm_90", "sm_90a"])
def test_they_compile_without_a_warning(arch):
    cubin = tc.nvrtc.compile(SOURCE, arch=arch)
    assert len(cubin.kernels) == 14
    assert not cubin.log.strip()
