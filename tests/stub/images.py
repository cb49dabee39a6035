"""The images that the stand-in is tried with, and the fatbin container around such images."""

from __future__ import annotations

import struct
from pathlib import Path

from tvmffi_cubin import nvrtc

__all__ = ["SOURCE", "fatbin", "write_images"]

SOURCE = r"""
struct Pair { float a; double b; };
struct Large { char bytes[6000]; };
extern "C" __global__ void saxpy(float a, const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
extern "C" __global__ void __launch_bounds__(128) fixed(float* o, char c, Pair p) {
  __shared__ float s[256];
  s[threadIdx.x] = c + p.b;
  __syncthreads();
  if (o == nullptr) o[0] = s[threadIdx.x ^ 1];
}
extern "C" __global__ void plain(float* o) {
  extern __shared__ float d[];
  if (o == nullptr) o[0] = d[0];
}
extern "C" __global__ void large(Large l, float* o) { if (o == nullptr) o[0] = l.bytes[17]; }
extern "C" __global__ void nothing() {}
#if __CUDA_ARCH__ >= 900
extern "C" __global__ void __cluster_dims__(2, 1, 1) paired(float* o) {
  if (o == nullptr) o[0] = blockIdx.x;
}
#endif
"""


def write_images(folder: Path) -> Path:
    """Fill a folder with the source's images and fatbins, as `conformance` wants them."""
    images = {number: nvrtc.compile(SOURCE, arch=f"sm_{number}").image for number in (80, 90, 100)}
    for number, image in images.items():
        (folder / f"sm_{number}.cubin").write_bytes(image)
    (folder / "sm_90a.cubin").write_bytes(nvrtc.compile(SOURCE, arch="sm_90a").image)
    (folder / "both.fatbin").write_bytes(fatbin({80: images[80], 90: images[90]}))
    (folder / "other.fatbin").write_bytes(fatbin({80: images[80], 100: images[100]}))
    return folder


def fatbin(images: dict[int, bytes]) -> bytes:
    """Return a fatbin that holds ELF images as they are, by number (90 for sm_90)."""
    entries = b""
    for number, image in images.items():
        padded = image + bytes(-len(image) % 8)
        entries += struct.pack("<HHIQIIHHIIIQQQ", 2, 0x101, 64, len(padded), 0, 0, 7, 1, number,
                               0, 0, 0x11, 0, 0) + padded  # fmt: skip
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entries)) + entries
