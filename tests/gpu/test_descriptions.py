"""Modules of JSON on a real device, and of what such a module says of itself."""

from __future__ import annotations

import base64
import json
import struct

import pytest

import tvmffi_cubin as tc

torch = pytest.importorskip("torch", reason="the GPU tests compare with torch, which is missing")

SOURCE = r"""
struct Line { float slope, offset; };
extern "C" __global__ void line(
    Line of, float most, const float* x, float* y, float* scratch, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  scratch[i] = i < n ? of.slope * x[i] + of.offset : 0;
  if (i < n) y[i] = fminf(scratch[i], most);
}
template <class T> __global__ void twice(T* y, int n) {
  asm volatile("griddepcontrol.wait;" ::: "memory");
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = y[i] + y[i];
}
"""
SHAPE = {"grid": "ceil_div(x.numel, 256)", "block": 256, "image": "k"}
LINE = {
    **SHAPE,
    "kernel": "line",
    "args": {
        "of": {"Bytes": struct.pack("<ff", 3, -1).hex()},
        "most": {"Float": "inf"},
        "scratch": {"Scratch": {"bytes_per_block": 1024}},
        "n": "x.numel",
    },
}
TWICE = {
    **SHAPE,
    "kernel": "twice<float>",
    "params": "float* y, int n, const float* x",
    "args": {"n": "x.numel"},
    "programmatic_dependent_launch": "x.numel > 256",
}


@pytest.fixture(scope="module")
def module():
    cubin = tc.nvrtc.compile(SOURCE, name_expressions=["twice<float>"])
    image = {
        "base64": base64.b64encode(cubin.image).decode(),
        "lowered_names": dict(cubin.lowered_names),
        "signatures": {
            "line": "Line of, float most, const float* x, float* y, float* scratch, int n"
        },
    }
    capped = {**LINE, "when": "x.numel > 1000", "args": {**LINE["args"], "most": 0.5}}
    functions = {
        "both": {"launches": [LINE, TWICE]},
        "capped": {"instances": [{"launches": [capped]}, {"launches": [LINE]}]},
    }
    document = {"schema": "2.0", "name": "described", "images": {"k": image}}
    return tc.load_description(json.dumps({**document, "functions": functions}).encode())


@pytest.mark.parametrize("again", [False, True], ids=["from JSON", "from its own description"])
@pytest.mark.parametrize("n", [100, 100_000])
def test_what_is_described_is_what_runs(module, again: bool, n: int):
    if again:
        module = tc.load_description(tc.Description.of(module), embed_cubin=module.cubins)
    x = torch.randn(n, device="cuda")
    y = torch.empty_like(x)
    module.both(x, y)
    torch.testing.assert_close(y, 2 * (3 * x - 1))
    module.capped(x, y)
    expected = 3 * x - 1
    torch.testing.assert_close(y, expected.clamp(max=0.5) if n > 1000 else expected)
