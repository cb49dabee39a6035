"""A prebuilt cache: one machine builds modules, another loads them without a compiler."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from gpu import arch, no_launch

import tvmffi_cubin as tc

KERNEL = r"""
template <class T>
__global__ void axpy(T a, const T* x, T* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
"""
AXPY = tc.Launch(kernel="axpy<float>", grid="ceil_div(n, 256)", block=256, args={"n": "x.numel"})


# [docs:module]
def axpy() -> tc.Module:
    return tc.load_inline("axpy", KERNEL, functions={"axpy": AXPY}, arch=arch())


# [docs:end]


def build(layer: Path) -> None:
    # [docs:build]
    axpy()  # every module that the application will load
    command = [sys.executable, "-m", "tvmffi_cubin", "cache", "export", str(layer)]
    subprocess.run([*command, "--name", "axpy"], check=True)
    # [docs:end]


def start(layer: Path, empty: Path) -> None:
    # [docs:start]
    environment = {
        **os.environ,
        "TVMFFI_CUBIN_CACHE_PATH": str(layer),  # looked through first, never written
        "TVMFFI_CUBIN_CACHE_DIR": str(empty),
        "PATH": "/nowhere",  # no compiler, no ninja
    }
    subprocess.run([sys.executable, __file__, "application"], env=environment, check=True)
    # [docs:end]


def application() -> None:
    mod = axpy()
    # [docs:info]
    (event,) = tc.cache_info().events
    print(f"{event.name}: {event.outcome}, {1000 * event.seconds:.1f} ms")
    # [docs:end]
    assert event.outcome == "layer"
    if reason := no_launch():
        print(f"built, not launched: {reason}")
        return
    import torch

    x, y = torch.randn(2, 1000, device="cuda")
    expected = 2.0 * x + y
    mod.axpy(2.0, x, y)
    torch.testing.assert_close(y, expected)
    print("launched: the numbers are torch's")


if __name__ == "__main__":
    if sys.argv[1:]:
        application()
    else:
        folder = Path(tempfile.mkdtemp())
        build(folder / "layer")
        start(folder / "layer", folder / "cache")
