"""``tvmffi-cubin demo``: two kernels from source to a loaded module, launched where a GPU is."""

from __future__ import annotations

import argparse
import array
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .. import __version__, config
from ..cuda import driver
from ..cuda.arch import split
from ..errors import CubinError
from ..host import toolchain
from ..inline.calls import load_inline
from ..kernel_table import kernel_table
from ..launches.launch import Launch
from .device_memory import DeviceMemory

if TYPE_CHECKING:
    from ..module import Module

__all__ = ["add_to"]

_WITHOUT_GPU = "sm_90a"
_COUNT = 100_000

_SAXPY = r"""
extern "C" __global__ void saxpy(float a, const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
"""

_SUM = r"""
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
"""

_KERNELS = {
    "saxpy": (_SAXPY, Launch(grid="ceil_div(n, 256)", block=256)),
    "block_sum": (_SUM, Launch(grid="min(num_sms, ceil_div(n, 256))", block=256)),
}


def add_to(commands: Any) -> None:
    """Add the command to the parser's subcommands."""
    text = "compile, embed, build and load two kernels; launch them where there is a GPU"
    parser = commands.add_parser("demo", help=text, description=text)
    parser.add_argument(
        "--arch", help="several separated by commas; default: the GPU's, else " + _WITHOUT_GPU
    )
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    reason = _why_no_launch()
    named = split(options.arch or config.get("TVMFFI_CUBIN_ARCH") or "")
    archs = named or ([_WITHOUT_GPU] if reason else None)
    toolchain.tvm_ffi_paths()
    # Before the clock starts: it imports numpy and torch, where they are installed.
    import tvm_ffi

    print(f"tvmffi_cubin {__version__}, tvm-ffi {tvm_ffi.__version__}\n")
    with _empty_cache():
        modules: dict[str, Module] = {}
        for name in _KERNELS:
            label = "with the launcher, once a cache" if not modules else "as every new source"
            modules[name] = _timed(label, name, archs)
        _timed("unchanged, from the cache", "saxpy", archs)
        print(f"\n{_table(modules)}\n")
    if reason:
        print(f"Not launched: {reason}.")
        print("Where there is a GPU, this command also launches both and checks their numbers.")
        return 0
    return _launch(modules)


def _why_no_launch() -> str:
    return "" if driver.device_count() else "the CUDA driver shows no GPU here"


@contextmanager
def _empty_cache() -> Iterator[None]:
    """Build for real, every time, and leave nothing behind."""
    before = os.environ.get("TVMFFI_CUBIN_CACHE_DIR")
    with tempfile.TemporaryDirectory(prefix="tvmffi_cubin-demo-") as folder:
        os.environ["TVMFFI_CUBIN_CACHE_DIR"] = folder
        try:
            yield
        finally:
            if before is None:
                del os.environ["TVMFFI_CUBIN_CACHE_DIR"]
            else:
                os.environ["TVMFFI_CUBIN_CACHE_DIR"] = before


def _timed(label: str, name: str, archs: list[str] | None) -> Module:
    source, launch = _KERNELS[name]
    start = time.perf_counter()
    module = load_inline(name, cuda_sources=source, functions={name: launch}, arch=archs)
    milliseconds = (time.perf_counter() - start) * 1000
    print(f"{name:<9}  compiled, embedded, built, loaded  {milliseconds:8.1f} ms  ({label})")
    return module


def _table(modules: dict[str, Module]) -> str:
    cubins = [module.cubins["kernels"] for module in modules.values()]
    params = {
        name: ", ".join(f"{type_} {param}" for param, type_ in module.get_function(name).params)
        for name, module in modules.items()
    }
    kernels = [kernel for cubin in cubins for kernel in cubin.kernels]
    return f"Kernels for {cubins[0].arch}:\n{kernel_table(kernels, params=params)}"


def _launch(modules: dict[str, Module]) -> int:
    found = driver.load()
    # Small whole numbers: exact in float, so the results can be compared for equality.
    x = array.array("f", [i % 1000 for i in range(_COUNT)])
    y = array.array("f", [1.0] * _COUNT)
    total = array.array("d", [0.0])
    with DeviceMemory(found) as memory:
        device_x, device_y, device_total = map(memory.upload, (x, y, total))
        modules["saxpy"].saxpy(2.0, device_x, device_y, _COUNT)
        modules["block_sum"].block_sum(device_y, device_total, _COUNT)
        memory.download(device_y, y)
        memory.download(device_total, total)
    wanted = [2.0 * value + 1.0 for value in x]
    _check("saxpy", list(y) == wanted)
    _check("block_sum", total[0] == sum(wanted))
    print(f"Launched on {found.device_name(0)}: {_COUNT} elements, all numbers are right.")
    return 0


def _check(name: str, right: bool) -> None:
    if not right:
        raise CubinError(f"{name} ran, and its numbers are wrong")
