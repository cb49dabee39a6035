"""A module that is made to be taken elsewhere, launched on a real device."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from processes import run

import tvmffi_cubin as tc
from tvmffi_cubin.__main__ import main

torch = pytest.importorskip("torch", reason="the GPU tests compare with torch, which is missing")

SAXPY = r"""
extern "C" __global__ void saxpy(float a, const float* x, float* y, int64_t n) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
"""
# A process that can import neither this package nor Triton.
LOADER = """
import sys
for name in ("tvmffi_cubin", "triton"):
    sys.modules[name] = None
import torch, tvm_ffi
mod = tvm_ffi.load_module(sys.argv[1])
x = torch.rand(100_001, device="cuda")
y = torch.rand_like(x)
expected = 2.0 * x + y
mod.saxpy(2.0, x, y)
torch.testing.assert_close(y, expected)
"""


def test_a_module_of_an_image_alone_is_launched_by_tvm_ffi_alone(tmp_path: Path):
    image = tmp_path / "saxpy.cubin"
    image.write_bytes(tc.nvrtc.compile(SAXPY).image)
    path = tmp_path / "libsaxpy.so"
    params = "float a, const float* x, float* y, int64_t n"
    launch = {"grid": "ceil_div(n, 256)", "block": 256, "args": {"n": "x.numel"}, "params": params}
    functions = json.dumps({"saxpy": launch})
    assert main(["embed", str(image), "-o", str(path), "--functions", functions]) == 0
    run("strip", path)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("TVMFFI_CUBIN_")}
    run(sys.executable, "-c", LOADER, path, env=environment, cwd=tmp_path)
