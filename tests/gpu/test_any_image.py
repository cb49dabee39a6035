"""Images from elsewhere, made by nvcc where it is there: the numbers are torch's."""

from __future__ import annotations

import re
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
extern "C" __global__ void mixed(
    double* y, double a, long long b, short c, signed char d, float e) {
  if (threadIdx.x == 0) y[0] = a + b + c + d + e;
}
extern "C" __global__ void look_up(const __grid_constant__ Table table, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = table.values[i];
}
namespace ns {
__global__ void axpy(float a, const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
template <class T> __global__ void fill(T* x, T value, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = value;
}
template __global__ void fill<float>(float*, float, int);
}
"""
N = 1000
GRID = (4, 256)


def is_there() -> bool:
    return shutil.which("nvcc") is not None


def release() -> tuple[int, int]:
    """Return the version of nvcc."""
    major, minor = re.findall(r"release (\d+)\.(\d+)", run("nvcc", "--version"))[0]
    return int(major), int(minor)


def nvcc(folder: Path, *options: str, name: str) -> Path:
    """Compile SOURCE by nvcc, or by NVRTC where there is none."""
    source, made = folder / "source.cu", folder / name
    source.write_text(SOURCE)
    own = tc.nvrtc.resolve_arch()
    # An nvJitLink assembles no PTX of a newer compiler.
    if not is_there() or (name == "k.ptx" and release() > tc.nvjitlink.version()):
        arch = {"k.cubin": own, "k.fatbin": [own, "compute_80"], "k.ptx": "compute_80"}[name]
        made.write_bytes(tc.nvrtc.compile(SOURCE, arch=arch).image)
        return made
    virtual = own.replace("sm_", "compute_")
    kinds = {
        "k.cubin": ["-cubin", f"-arch={own}"],
        "k.fatbin": [
            *("-fatbin", "-gencode", f"arch={virtual},code={own}"),
            *("-gencode", "arch=compute_80,code=compute_80"),
        ],
        "k.ptx": ["-ptx", "-arch=compute_80"],
    }
    run("nvcc", "-std=c++17", *kinds[name], *options, source, "-o", made)
    return made


@pytest.fixture(scope="module", params=["k.cubin", "k.fatbin", "k.ptx"])
def image(request, tmp_path_factory) -> Path:
    return nvcc(tmp_path_factory.mktemp("images"), name=request.param)


def tensors() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(N, device="cuda"), torch.randn(N, device="cuda")


def test_every_kernel_of_an_image_alone_is_launched_by_sizes(image):
    raw = tc.load_inline("gpu_raw", embed_cubin=image)
    assert {*raw.functions} == {"line", "mixed", "look_up", "axpy", "fill"}
    x, y = tensors()
    before = y.clone()
    raw.axpy[GRID](0.5, x, y, N)
    torch.testing.assert_close(y, 0.5 * x + before)
    raw.line[GRID](struct.pack("ffi", 3.0, -1.0, N), x, y, True)
    torch.testing.assert_close(y, -(3 * x - 1))
    raw.fill[GRID](y, 7.5, N)
    assert y.unique().tolist() == [7.5]
    values = torch.arange(1500, dtype=torch.float32)
    # 6,000 bytes, beyond the 4 KB that parameters once had.
    raw.look_up[GRID](values.numpy().tobytes() + bytes(16), y, N)
    torch.testing.assert_close(y.cpu(), values[:N])
    result = torch.zeros(1, dtype=torch.float64, device="cuda")
    raw.mixed[1, 32](result, 0.25, -(2**40), -300, 100, 0.5)
    assert result.item() == 0.25 - 2**40 - 300 + 100 + 0.5
