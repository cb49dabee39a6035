"""Images from elsewhere, made by nvcc where it is there: the numbers are torch's."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path

import pytest
from processes import run

import tvmffi_cubin as tc

torch = pytest.importorskip("torch", reason="the GPU tests compare with torch, which is missing")

SOURCE = r"""
struct Line { float slope, offset; int n; };
struct alignas(64) Table { float values[1500]; };

extern "C" __global__ void line(Line of, const float* x, float* y, bool negate) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= of.n) return;
  float value = of.slope * x[i] + of.offset;
  y[i] = negate ? -value : value;
}
extern "C" __global__ void look_up(const __grid_constant__ Table table, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = table.values[i];
}
"""
N = 1000
GRID = (4, 256)


def made(folder: Path, name: str) -> Path:
    """Compile SOURCE by nvcc, or by NVRTC where there is none."""
    source, path = folder / "source.cu", folder / name
    source.write_text(SOURCE)
    own = tc.nvrtc.resolve_arch()
    # An nvJitLink assembles no PTX of a newer compiler.
    if shutil.which("nvcc") is None or name == "k.ptx":
        arch = {"k.cubin": own, "k.fatbin": [own, "compute_80"], "k.ptx": "compute_80"}[name]
        path.write_bytes(tc.nvrtc.compile(SOURCE, arch=arch).image)
        return path
    kinds = {
        "k.cubin": ["-cubin", f"-arch={own}"],
        "k.fatbin": ["-fatbin", f"-gencode=arch={own.replace('sm_', 'compute_')},code={own}"],
    }
    run("nvcc", "-std=c++17", *kinds[name], source, "-o", path)
    return path


@pytest.fixture(scope="module", params=["k.cubin", "k.fatbin", "k.ptx"])
def image(request, tmp_path_factory) -> Path:
    return made(tmp_path_factory.mktemp("images"), request.param)


def test_every_kernel_of_an_image_alone_is_launched_by_sizes(image):
    raw = tc.load_inline("gpu_raw", embed_cubin=image)
    x, y = torch.randn(2, N, device="cuda")
    raw.line[GRID](struct.pack("ffi", 3.0, -1.0, N), x, y, True)
    torch.testing.assert_close(y, -(3 * x - 1))
    values = torch.arange(1500, dtype=torch.float32)
    # 6,000 bytes, beyond the 4 KB that parameters once had.
    raw.look_up[GRID](values.numpy().tobytes() + bytes(16), y, N)
    torch.testing.assert_close(y.cpu(), values[:N])
