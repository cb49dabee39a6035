"""Lazy images: your own compiler generates them on first use, once for all processes."""

import tempfile
from pathlib import Path

from gpu import arch, no_launch

import tvmffi_cubin as tc

KERNEL = r"""
extern "C" __global__ void kernel_tile_main_kernel_0(float* x, float by, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= by;
}
"""
ARCH = arch()
compiled = []


# [docs:generate]
def generate():
    # Any compiler, imported in here: where the image is there, none is. NVRTC stands for it.
    image = tc.nvrtc.compile(KERNEL, arch=ARCH)
    compiled.append(image)
    return image  # bytes, a Cubin, a path; or launches with their images


# [docs:end]
SCALE = tc.Launch(
    kernel="main_kernel",  # part of the name is enough
    params="float* x, float by, int n",
    grid="ceil_div(n, 256)",
    block=256,
    args={"n": "x.numel"},
)
# [docs:lazy]
mod = tc.lazy(
    "tiles",
    generate=generate,
    key=["my compiler 1.0", KERNEL, ARCH],  # whatever changes the image
    functions={"scale": SCALE},
)
# [docs:end]

folder = Path(tempfile.mkdtemp())
# [docs:beside]
beside = tc.load_inline(
    "tiles",
    functions={"scale": SCALE},
    embed_cubin={"kernels": tc.ImageFile("tiles.cubin", generate)},
    build_directory=folder,  # tiles.so; and tiles.cubin, from the first call on
)
# [docs:end]


def main() -> None:
    assert not compiled
    mod.prepare()  # or the first use: mod.scale
    print(f"{mod.scale.signature}: {'compiled' if compiled else 'from the cache'}")
    if reason := no_launch():
        print(f"built, not launched: {reason}")
        return
    import torch

    x = torch.ones(1000, device="cuda")
    mod.scale(x, 2.0)
    beside.scale(x, 3.0)
    assert (folder / "tiles.cubin").exists()
    elsewhere = tc.load_module(folder / "tiles.so")  # needs generate= if the file is missing
    elsewhere.scale(x, 0.5)
    torch.testing.assert_close(x, torch.full_like(x, 3.0))
    print("launched: the numbers are torch's")


if __name__ == "__main__":
    main()
