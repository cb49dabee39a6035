"""A shared object to ship: built from a cubin, inspected, loaded by tvm-ffi alone."""

import subprocess
import sys
import tempfile
from pathlib import Path

from gpu import arch, no_launch

import tvmffi_cubin as tc

SAXPY = r"""
extern "C" __global__ void saxpy(float a, const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}"""
folder = Path(tempfile.mkdtemp(prefix="standalone"))
(folder / "saxpy.cubin").write_bytes(tc.nvrtc.compile(SAXPY, arch=arch()).image)

# [docs:build]
path = tc.build_inline(
    "saxpy",
    functions={
        "saxpy": tc.Launch(
            image=folder / "saxpy.cubin",  # from whichever compiler
            params="float a, const float* x, float* y, int n",
            grid="ceil_div(n, 256)",
            block=256,
            args={"n": "x.numel"},
        ),
    },
    output=folder / "libsaxpy.so",  # a relative path starts at the current folder
)
# [docs:end]

# [docs:inspect]
found = tc.inspect(path)  # reads the file, runs nothing of it
saxpy = found.functions["saxpy"]
assert saxpy["signature"] == "saxpy(float a, const float* x, float* y)"
assert saxpy["launches"][0]["grid"] == ["ceil_div(n, 256)"]
assert [kernel.name for kernel in found.kernels] == ["saxpy"]
# [docs:end]

# [docs:sizes]
raw = tc.load_inline("by_size", embed_cubin=folder / "saxpy.cubin")  # all its kernels
assert raw.saxpy.signature == "saxpy(4 bytes arg0, 8 bytes arg1, 8 bytes arg2, 4 bytes arg3)"
# [docs:end]

ELSEWHERE = """
import sys
sys.modules["tvmffi_cubin"] = None  # as where it is not installed
import torch, tvm_ffi

mod = tvm_ffi.load_module(sys.argv[1])
x = torch.rand(1_000_000, device="cuda")
y = torch.rand_like(x)
expected = 2.0 * x + y
mod.saxpy(2.0, x, y)
torch.testing.assert_close(y, expected)
"""


def main() -> None:
    print(found.text())
    if reason := no_launch():
        print(f"built, not launched: {reason}")
        return
    import torch

    subprocess.run([sys.executable, "-c", ELSEWHERE, path], check=True)
    x = torch.rand(1000, device="cuda")
    y = torch.zeros_like(x)
    tc.load_module(path).saxpy(3.0, x, y)
    raw.saxpy[4, 256](1.0, x, y, 1000)
    torch.testing.assert_close(y, 4.0 * x)
    print("launched, in another process too: the numbers are torch's")


if __name__ == "__main__":
    main()
