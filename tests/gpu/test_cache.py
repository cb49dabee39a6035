"""The cache between processes that launch: one key for all, emptied, shipped, shared."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tvmffi_cubin as tc

torch = pytest.importorskip("torch", reason="the GPU tests compare with torch, which is missing")

PROGRAM = r"""
import json, os, sys
import torch
import tvmffi_cubin as tc

SOURCE = r'''
template <int kBy> __global__ void add(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + kBy;
}
'''
by = sys.argv[1]
launch = tc.Launch(kernel=f"add<{by}>", grid="ceil_div(n, 256)", block=256, args={"n": "x.numel"})
mod = tc.load_inline("shared_add", SOURCE, functions={"add": launch})
x = torch.arange(1 << 20, dtype=torch.float32, device="cuda")
y = torch.empty_like(x)
mod.add(x, y)
torch.cuda.synchronize()
info = tc.cache_info()
print(json.dumps({
    "right": bool(torch.equal(y, x + int(by))),
    "outcomes": [event.outcome for event in info.events if event.name == "shared_add"],
    "path": mod.path,
}))
"""


def _start(by: int, environment: dict[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(by)],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _said(process: subprocess.Popen[str]) -> dict[str, object]:
    out, errors = process.communicate()
    assert process.returncode == 0, errors
    said = json.loads(out.splitlines()[-1])
    assert said["right"]
    return said


def _run(by: int, **environment: str) -> dict[str, object]:
    return _said(_start(by, environment))


@pytest.fixture
def cold(tmp_path: Path) -> dict[str, str]:
    """An environment with a cache folder in which nothing was ever built."""
    return {"TVMFFI_CUBIN_CACHE_DIR": str(tmp_path / "cold")}


def test_of_eight_processes_that_meet_a_cold_key_one_builds_and_all_launch(cold):
    said = [_said(process) for process in [_start(7, cold) for _ in range(8)]]
    assert sorted(x["outcomes"][-1] for x in said) == ["built"] + 7 * ["hit"]
    assert len({x["path"] for x in said}) == 1


def test_what_was_loaded_launches_after_the_cache_was_emptied(tmp_path, monkeypatch):
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(tmp_path / "cache"))
    source = 'extern "C" __global__ void fill(float* x, float v) { x[threadIdx.x] = v; }'
    functions = {"fill": tc.Launch(grid=1, block=32)}
    x = torch.zeros(32, device="cuda")

    def load() -> tc.Module:
        return tc.load_inline("emptied", source, functions=functions)

    before = load()
    # Whatever keeps living modules' files from being evicted: people remove folders by hand.
    shutil.rmtree(tmp_path / "cache")
    before.fill(x, 3.0)
    assert x.eq(3).all()
    after = load()
    after.fill(x, 4.0)
    assert x.eq(4).all()
    before.fill(x, 5.0)
    assert x.eq(5).all()


@pytest.mark.skipif(importlib.util.find_spec("fsspec") is None, reason="a remote needs fsspec")
def test_a_second_machine_takes_what_the_first_has_built(tmp_path):
    remote = {
        "TVMFFI_CUBIN_CACHE_REMOTE": f"file://{tmp_path}/remote",
        "TVMFFI_CUBIN_CACHE_REMOTE_KEY": "a key of more than sixteen bytes",
        "TVMFFI_CUBIN_CACHE_REMOTE_BUDGET": "20",
    }
    first = _run(5, TVMFFI_CUBIN_CACHE_DIR=str(tmp_path / "first"), **remote)
    second = _run(5, TVMFFI_CUBIN_CACHE_DIR=str(tmp_path / "second"), **remote)
    assert (first["outcomes"], second["outcomes"]) == (["built"], ["remote"])
    other = {**remote, "TVMFFI_CUBIN_CACHE_REMOTE_KEY": "another key, of as many bytes"}
    third = _run(5, TVMFFI_CUBIN_CACHE_DIR=str(tmp_path / "third"), **other)
    assert third["outcomes"] == ["built"]
