"""A layer that one machine has built, loaded and launched where there is no tool at all."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import tvmffi_cubin as tc
from tvmffi_cubin.__main__ import main

from .kernels import SAXPY

torch = pytest.importorskip("torch", reason="the GPU tests compare with torch, which is missing")

LAUNCH = tc.Launch(grid="ceil_div(n, 256)", block=256, args={"n": "x.numel"})
WRAPPER = "int twice(int x) { return 2 * x; }"
LOADER = """
import sys
import torch, tvm_ffi
import tvmffi_cubin as tc
from tvmffi_cubin.cuda import libraries

def none():
    raise tc.ToolchainError("no wheels")

libraries.find_cuda = none
launch = tc.Launch(grid="ceil_div(n, 256)", block=256, args={"n": "x.numel"})
mod = tc.load_inline("saxpy_layer", sys.argv[1], functions={"saxpy": launch})
wrapper = tc.load_inline("twice_layer", cpp_sources=sys.argv[2], functions="twice")
x = torch.rand(100_001, device="cuda")
y = torch.rand_like(x)
expected = 2.0 * x + y
mod.saxpy(2.0, x, y)
torch.testing.assert_close(y, expected)
assert wrapper.twice(21) == 42
print([event.outcome for event in tc.cache_info().events])
"""


def test_a_layer_serves_a_process_without_compilers(tmp_path, monkeypatch):
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(tmp_path / "cache"))
    tc.build_inline("saxpy_layer", SAXPY, functions={"saxpy": LAUNCH})
    tc.build_inline("twice_layer", cpp_sources=WRAPPER, functions="twice")
    layer = tmp_path / "layer"
    assert main(["cache", "export", "--layer", str(layer)]) == 0
    root = str(Path(tc.__file__).parents[1])
    environment = {
        **os.environ,
        "PATH": "/nowhere",
        "PYTHONPATH": os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH", "")])),
        "TVMFFI_CUBIN_CACHE_DIR": str(tmp_path / "empty"),
        "TVMFFI_CUBIN_CACHE_PATH": str(layer),
    }
    command = [sys.executable, "-c", LOADER, SAXPY, WRAPPER]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "['layer', 'layer']"
