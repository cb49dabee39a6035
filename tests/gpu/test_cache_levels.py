"""Modules from a layer, from a private folder and after damage: their numbers are torch's."""

from __future__ import annotations

from pathlib import Path

import pytest

import tvmffi_cubin as tc

torch = pytest.importorskip("torch", reason="the GPU tests compare with torch, which is missing")

SOURCE = """
extern "C" __global__ void axpy(float a, const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
"""
FUNCTIONS = {"axpy": tc.Launch(grid="ceil_div(n, 256)", block=256, args={"n": "x.numel"})}


def loaded() -> tc.Module:
    return tc.load_inline("levels", SOURCE, functions=FUNCTIONS)


def check(mod: tc.Module) -> None:
    x = torch.arange(1000, dtype=torch.float32, device="cuda")
    y = torch.full_like(x, 7.0)
    mod.axpy(3.0, x, y)
    torch.testing.assert_close(y, 3.0 * x + 7.0)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_from_a_layer_where_nothing_can_be_written(cache, monkeypatch):
    built = loaded()
    check(built)
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_PATH", str(cache))
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", "/dev/null")
    found = loaded()
    assert found.path == built.path
    check(found)


@pytest.mark.parametrize("mode", ["read", "off"])
def test_from_a_folder_of_the_process_alone(cache, monkeypatch, mode):
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE", mode)
    check(loaded())
    check(loaded())
    assert not cache.exists()


def test_built_again_after_damage(cache):
    path = Path(loaded().path)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    # Not in place: the process has it mapped.
    path.with_name("new").write_bytes(data)
    path.with_name("new").replace(path)
    check(loaded())
