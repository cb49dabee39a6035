"""Ten thousand damaged cubins and fatbins: a ValueError or an answer, within bounds."""

from __future__ import annotations

import contextlib
import functools
import json

import pytest
from fatbin_builder import LZ4, ZSTD, Row, fatbin
from mutations import mutate
from packing import in_lz4, in_zstd

import tvmffi_cubin as tc
from tvmffi_cubin import elf, zstd
from tvmffi_cubin import fatbin as fatbins
from tvmffi_cubin.given_image import read_given
from tvmffi_cubin.image import read_image

SOURCE = r"""
struct Line { float slope; int n; double x; };
template <class T> __global__ void fill(T* x, T value) { x[threadIdx.x] = value; }
template __global__ void fill<float>(float*, float);
template <class T> __global__ void wipe(T* x, T value) { x[threadIdx.x] = value; }
template __global__ void wipe<double>(double*, double);
namespace ns {
__global__ void __launch_bounds__(128) add(const float* x, float* y, int n) {
  __shared__ float tile[128];
  tile[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  if (threadIdx.x < n) y[threadIdx.x] = tile[127 - threadIdx.x];
}
}
extern "C" __global__ void line(Line l, float* y) { y[0] = l.slope * l.n + l.x; }
extern "C" __global__ void scale(float* x, float by, int n) {
  if (threadIdx.x < n) x[threadIdx.x] *= by;
}
"""
COUNT = 10_000
LAUNCHED = 200


@pytest.fixture(scope="module")
def seeds(_own_environment) -> list[bytes]:
    """Images of every kind that is read: cubins, and fatbins with members in every form."""
    old, new = (tc.nvrtc.compile(SOURCE, arch=arch).image for arch in ("sm_80", "sm_90a"))
    text = tc.nvrtc.compile(SOURCE, arch="compute_80", target_type="ptx").image
    loose = tc.nvrtc.compile(SOURCE, arch="sm_90", target_type="relocatable").image
    packed = fatbin(
        Row(80, in_lz4(old), flags=LZ4, full=len(old)),
        Row(90, in_zstd(new), flags=ZSTD, full=len(new)),
        Row(80, in_lz4(text), kind=1, flags=LZ4, full=len(text)),
    )
    joined = tc.nvrtc.compile(SOURCE, arch=["sm_80", "sm_90a", "compute_80"]).image
    return [old, new, loose, joined, packed, fatbin(Row(90, loose)), text]


def read_in_every_way(data: bytes) -> int:
    """Return how many of the readers take it; each else refuses it by a ValueError."""

    @functools.cache
    def inspected() -> tc.Inspection:
        return tc.inspect(data)

    def members() -> object:
        return fatbins.read_cubin(data).kernels, [x.data() for x in fatbins.read(data)]

    readers = (
        lambda: elf.parse(data),
        members,
        lambda: str(inspected()),
        lambda: json.dumps(inspected().values()),
        lambda: read_image("image", read_given("image", data)),
    )
    taken = 0
    for read in readers:
        with contextlib.suppress(ValueError):
            read()
            taken += 1
    return taken


def test_the_images_that_are_damaged_can_be_read(seeds):
    counts = [read_in_every_way(data) for data in seeds]
    assert counts == [4, 4, 3, 4, 4 if zstd.is_readable() else 3, 3, 3]


def test_damaged_images_are_read_or_refused(seeds):
    """Another exception, a crash or a hang fails it, as does memory without a bound."""
    taken = [read_in_every_way(mutate(seeds[i % len(seeds)], i)) for i in range(COUNT)]
    # The mutations are neither all fatal nor all without effect.
    assert COUNT // 10 < taken.count(0) < COUNT * 9 // 10


def argument(declared: str) -> object:
    """Return something that goes with a parameter, by its type as a signature has it."""
    words = declared.split()
    if words[-1].startswith("byte"):
        size = int(words[0])
        return None if size == 8 else 0 if size in (1, 2, 4) else bytes(size)
    if "*" in declared:
        return None
    return {"float": 0.0, "double": 0.0, "bool": False}.get(declared, 0)


def test_damaged_images_are_built_and_launched_or_refused(seeds, driver_stub):
    launched = refused = 0
    for i in range(LAUNCHED):
        data = mutate(seeds[i % len(seeds)], -1 - i)
        try:
            # Of PTX the stand-in knows less than a driver: it is assembled.
            arch = "sm_90" if data.startswith(b"//") else None
            mod = tc.load_inline("mutated", embed_cubin=data, arch=arch, keep_module_alive=False)
            for name in mod.functions:
                mod[name][1, 1](*(argument(type_) for _, type_ in mod[name].params))
                launched += 1
        except (ValueError, TypeError, tc.CubinError):
            refused += 1
    assert launched > LAUNCHED // 4
    assert refused > LAUNCHED // 4
