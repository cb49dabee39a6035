"""``tvmffi-cubin demo``: two kernels from source to a loaded module, launched where a GPU is."""

from __future__ import annotations

import argparse
import array
import ctypes
import os
import tempfile
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..cuda.driver import Driver
    from ..module import Module

_WITHOUT_GPU = "sm_90a"
_COUNT = 100_000

_SOURCES = {
    "saxpy": r"""
extern "C" __global__ void saxpy(float a, const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
""",
    "block_sum": r"""
extern "C" __global__ void block_sum(const float* x, double* total, int n) {
  __shared__ double partial[256];
  double sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    sum += x[i];
  }
  partial[threadIdx.x] = sum;
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
  }
  if (threadIdx.x == 0) atomicAdd(total, partial[0]);
}
""",
}
_GRIDS = {"saxpy": "ceil_div(n, 256)", "block_sum": "min(num_sms, ceil_div(n, 256))"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what follows the command's name."""
    help_ = f"several separated by commas; default: the GPU's, else {_WITHOUT_GPU}"
    parser.add_argument("--arch", help=help_)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command; return its exit status."""
    from .. import __version__, config
    from ..artifacts.kernel_table import kernel_table
    from ..cuda import driver
    from ..cuda.arch import split

    has_gpu = driver.device_count() > 0
    named = split(options.arch or config.get("TVMFFI_CUBIN_ARCH") or "")
    archs = named or (None if has_gpu else [_WITHOUT_GPU])
    # Before the clock starts: it imports numpy and torch, where they are installed.
    import tvm_ffi

    print(f"tvmffi_cubin {__version__}, tvm-ffi {tvm_ffi.__version__}\n")
    with tempfile.TemporaryDirectory(prefix="tvmffi_cubin-demo-") as folder:
        os.environ["TVMFFI_CUBIN_CACHE_DIR"] = folder
        saxpy = _timed("with the launcher, once a cache", "saxpy", archs)
        block_sum = _timed("as every new source", "block_sum", archs)
        _timed("unchanged, from the cache", "saxpy", archs)
        cubins = [module.cubins["kernels"] for module in (saxpy, block_sum)]
    kernels = [kernel for cubin in cubins for kernel in cubin.kernels]
    print(f"\nKernels for {cubins[0].arch}:\n{kernel_table(kernels)}\n")
    if has_gpu:
        return _launch(driver.load(), saxpy, block_sum)
    print("Not launched: the CUDA driver shows no GPU here.")
    print("Where there is a GPU, this command also launches both and checks their numbers.")
    return 0


def _timed(label: str, name: str, archs: list[str] | None) -> Module:
    from ..inline.calls import load_inline
    from ..launches.launch import Launch

    functions = {name: Launch(grid=_GRIDS[name], block=256)}
    start = time.perf_counter()
    module = load_inline(name, cuda_sources=_SOURCES[name], functions=functions, arch=archs)
    milliseconds = (time.perf_counter() - start) * 1000
    print(f"{name:<9}  compiled, embedded, built, loaded  {milliseconds:8.1f} ms  ({label})")
    return module


def _launch(driver: Driver, saxpy: Module, block_sum: Module) -> int:
    # Small whole numbers: exact in float, so the results can be compared for equality.
    x = array.array("f", [i % 1000 for i in range(_COUNT)])
    y = array.array("f", [1.0] * _COUNT)
    total = array.array("d", [0.0])
    with ExitStack() as stack:
        context = ctypes.c_void_p()
        driver.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        stack.callback(driver.library.cuDevicePrimaryCtxRelease_v2, 0)
        driver.call("cuCtxPushCurrent_v2", context)
        stack.callback(driver.library.cuCtxPopCurrent_v2, ctypes.byref(context))
        device_x, device_y, device_total = (_upload(driver, stack, z) for z in (x, y, total))
        saxpy.saxpy(2.0, device_x, device_y, _COUNT)
        block_sum.block_sum(device_y, device_total, _COUNT)
        for values, address in ((y, device_y), (total, device_total)):
            data, count = values.buffer_info()
            size = ctypes.c_size_t(count * values.itemsize)
            driver.call("cuMemcpy", ctypes.c_void_p(data), address, size)
    wanted = [2.0 * value + 1.0 for value in x]
    if (list(y), total[0]) != (wanted, sum(wanted)):
        print("The kernels ran, and their numbers are wrong.")
        return 1
    print(f"Launched on {driver.device_name(0)}: {_COUNT} elements, all numbers are right.")
    return 0


def _upload(driver: Driver, stack: ExitStack, values: array.array[float]) -> ctypes.c_void_p:
    """Copy an array to the current device, until the stack ends."""
    data, count = values.buffer_info()
    size, address = ctypes.c_size_t(count * values.itemsize), ctypes.c_void_p()
    driver.call("cuMemAlloc_v2", ctypes.byref(address), size)
    stack.callback(driver.library.cuMemFree_v2, address)
    driver.call("cuMemcpy", address, ctypes.c_void_p(data), size)
    return address
