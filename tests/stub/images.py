"""The images that the stand-in is tried with."""

from __future__ import annotations

from pathlib import Path

from fatbin_builder import Row, fatbin

from tvmffi_cubin import nvrtc

__all__ = ["SOURCE", "write_images"]

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

# More blocks than the portable 8: apart, since not every device has it.
WIDE = r"""
extern "C" __global__ void __cluster_dims__(16, 1, 1) wide(float* o) {
  if (o == nullptr) o[0] = blockIdx.x;
}
"""


def write_images(folder: Path) -> Path:
    """Fill a folder with the source's images and fatbins, as `conformance` wants them."""
    images = {number: nvrtc.compile(SOURCE, arch=f"sm_{number}").image for number in (80, 90, 100)}
    for number, image in images.items():
        (folder / f"sm_{number}.cubin").write_bytes(image)
    (folder / "wide.cubin").write_bytes(nvrtc.compile(WIDE, arch="sm_90").image)
    (folder / "sm_90a.cubin").write_bytes(nvrtc.compile(SOURCE, arch="sm_90a").image)
    for name, numbers in (("both", (80, 90)), ("other", (80, 100))):
        rows = [Row(number, images[number]) for number in numbers]
        (folder / f"{name}.fatbin").write_bytes(fatbin(*rows))
    return folder
