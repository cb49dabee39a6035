"""A launch description: JSON that a compiler writes with its cubin, a module in one call."""

import tempfile
from pathlib import Path

from gpu import arch, no_launch

import tvmffi_cubin as tc

KERNELS = r"""
extern "C" __global__ void row_sums(const float* x, float* sums, int columns) {
  float sum = 0;
  for (int i = threadIdx.x; i < columns; i += 32) sum += x[blockIdx.x * columns + i];
  for (int step = 16; step; step /= 2) sum += __shfl_down_sync(~0u, sum, step);
  cudaTriggerProgrammaticLaunchCompletion();
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

extern "C" __global__ void divide(const float* x, const float* sums, float* y, int columns) {
  cudaGridDependencySynchronize();  // it begins while the sums are still being made
  for (int i = threadIdx.x; i < columns; i += blockDim.x)
    y[blockIdx.x * columns + i] = x[blockIdx.x * columns + i] / sums[blockIdx.x];
}
"""

# What a compiler writes to a folder: an image, and how to launch its kernels.
folder = Path(tempfile.mkdtemp())
folder.joinpath("k.cubin").write_bytes(tc.nvrtc.nvrtc_compile(KERNELS, arch=arch()))
# [docs:json]
DESCRIPTION = """{
  "schema": "2.0",
  "images": {"k": {"path": "k.cubin"}},
  "functions": {"normalize": {
    "doc": "Divide each row by its sum.",
    "launches": [
      {"kernel": "row_sums", "params": "const float* x: ndim=2, float* sums, int columns",
       "grid": "x.shape[0]", "block": 32, "args": {"columns": "x.shape[1]"},
       "stream": "stream", "device": "gpu"},
      {"kernel": "divide", "grid": "x.shape[0]", "block": "min(x.shape[1], 256)",
       "params":
         "const float* x, const float* sums, float* y, int columns, CUstream stream, int gpu",
       "args": {"columns": "x.shape[1]"}, "programmatic_dependent_launch": true,
       "stream": "stream", "device": "gpu"}]}},
  "x_compiler": "frob 3.1"
}"""
# [docs:end]
folder.joinpath("normalize.json").write_text(DESCRIPTION)

# [docs:load]
mod = tc.load_description(folder / "normalize.json")
# [docs:end]

# [docs:again]
values = tc.describe(mod)  # or the path of a .so
values["functions"]["normalize"]["launches"][1]["block"] = 128
again = tc.load_description(values, embed_cubin=mod.cubins)
# [docs:end]


def main() -> None:
    print(mod.normalize.signature)
    if reason := no_launch():
        print(f"built, not launched: {reason}")
        return
    import torch

    # [docs:call]
    x = torch.rand(300, 1000, device="cuda")
    sums, y = torch.empty(300, device="cuda"), torch.empty_like(x)
    mod.normalize(x, sums, y, torch.cuda.current_stream(), x.device.index)
    # [docs:end]
    torch.testing.assert_close(y, x / x.sum(1, keepdim=True))
    again.normalize(x, sums, y.zero_(), torch.cuda.current_stream(), 0)
    torch.testing.assert_close(y, x / x.sum(1, keepdim=True))
    print("launched: the numbers are torch's")


if __name__ == "__main__":
    main()
