"""``tvmffi-cubin demo``: a kernel from source to a loaded module, launched if there is a GPU."""

from __future__ import annotations

import argparse
import array
import ctypes
import os
import tempfile
import time

import tvm_ffi

from .. import __version__, config
from ..artifacts.inspection import inspect
from ..cuda import driver
from ..inline.calls import load_inline
from ..launches.launch import Launch
from ..module import Module

_COUNT = 100_000
_SOURCE = r"""
extern "C" __global__ void saxpy(float a, const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
"""


def run(_: argparse.Namespace) -> int:
    has_gpu = driver.device_count() > 0
    arch = None if has_gpu or config.get("TVMFFI_CUBIN_ARCH") else "sm_90a"
    print(f"tvmffi_cubin {__version__}, tvm-ffi {tvm_ffi.__version__}\n")
    with tempfile.TemporaryDirectory(prefix="tvmffi_cubin-demo-") as folder:
        os.environ["TVMFFI_CUBIN_CACHE_DIR"] = folder
        _timed("compiled, embedded, built, loaded", _SOURCE, arch)
        _timed("edited, all steps again", _SOURCE + "// edited", arch)
        module = _timed("unchanged, from the cache", _SOURCE, arch)
        print(f"\n{inspect(module.cubins['kernels'])}\n")
    if has_gpu:
        return _launch(module)
    print("Not launched: the CUDA driver found no GPU.")
    return 0


def _timed(label: str, source: str, arch: str | None) -> Module:
    functions = {"saxpy": Launch(grid="ceil_div(n, 256)", block=256)}
    start = time.perf_counter()
    module = load_inline("saxpy", cuda_sources=source, functions=functions, arch=arch)
    print(f"saxpy  {label:<34} {(time.perf_counter() - start) * 1000:8.1f} ms")
    return module


def _launch(module: Module) -> int:
    # Small whole numbers: exact in float, so the results can be compared for equality.
    x = array.array("f", [i % 1000 for i in range(_COUNT)])
    y = array.array("f", [1.0] * _COUNT)
    size = ctypes.c_size_t(_COUNT * x.itemsize)
    context = ctypes.c_void_p()
    driver.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    driver.call("cuCtxPushCurrent_v2", context)
    addresses = []
    for values in (x, y):
        address = ctypes.c_void_p()
        driver.call("cuMemAlloc_v2", ctypes.byref(address), size)
        driver.call("cuMemcpy", address, ctypes.c_void_p(values.buffer_info()[0]), size)
        addresses.append(address)
    module.saxpy(2.0, *addresses, _COUNT)
    driver.call("cuMemcpy", ctypes.c_void_p(y.buffer_info()[0]), addresses[1], size)
    if list(y) != [2.0 * value + 1.0 for value in x]:
        print("The kernel ran, but its results are wrong.")
        return 1
    print(f"Launched on {driver.device_name(0)}: {_COUNT} elements, all results are correct.")
    return 0
