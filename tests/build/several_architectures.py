"""A source with kernels of which some are for some architectures alone, and what loads it."""

from __future__ import annotations

import pytest
from stub.driver_stub import DriverStub

import tvmffi_cubin as tc
from tvmffi_cubin import nvrtc

SOURCE = r"""
extern "C" __global__ void add(float* x, int n) {
  __shared__ float s[64];
  s[threadIdx.x % 64] = n;
  __syncthreads();
  x[0] = s[(threadIdx.x + 1) % 64];
}
extern "C" __global__ void dynamic(float* x) {
  extern __shared__ float d[];
#if __CUDA_ARCH__ >= 900
  __shared__ float own[1024];
  own[threadIdx.x] = d[threadIdx.x];
  __syncthreads();
  d[0] = own[threadIdx.x ^ 1];
#endif
  x[0] = d[threadIdx.x];
}
#if __CUDA_ARCH__ >= 900
extern "C" __global__ void newer(float* x) { x[0] = 1; }
#else
extern "C" __global__ void older(float* x) { x[0] = 2; }
#endif
"""
THREE = ("sm_80", "sm_90a", "sm_100a")
EVERYTHING = (*THREE, "compute_80")


def load(arch, source: str = SOURCE, name: str = "several", **options) -> tc.Module:
    # One architecture alone has not both of these.
    names = ("add", "newer", "older") if arch == EVERYTHING else ("add",)
    options.setdefault("functions", dict.fromkeys(names, tc.Launch(grid=1, block=32)))
    return tc.load_inline(name, source, arch=arch, **options)


needs_sm_100a = pytest.mark.skipif(nvrtc.version() < (12, 8), reason="sm_100a needs NVRTC 12.8")


def as_new_as_nvrtc(driver_stub: DriverStub) -> DriverStub:
    """Make the stand-in a driver as new as NVRTC, which older ones compile no PTX of."""
    major, minor = nvrtc.version()
    driver_stub.set_driver_version(max(12090, 1000 * major + 10 * minor))
    return driver_stub


def launched(driver_stub) -> list[tuple[int, str | None]]:
    return [(launch.device, launch.image) for launch in driver_stub.launches()]
