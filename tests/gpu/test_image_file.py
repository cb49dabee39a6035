"""Images that lie beside the shared object, on a GPU."""

from __future__ import annotations

from pathlib import Path

import pytest

import tvmffi_cubin as tc

torch = pytest.importorskip("torch", reason="the GPU tests compare with torch, which is missing")

# Named as TileLang's CuTe DSL back end names them, numbers and all.
SOURCE = r"""
extern "C" __global__ void kernel_cutlass_main_kernel_tensorptr_0(
    const float* x, float* y, float by, int n) {
  extern __shared__ float tile[];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x] = i < n ? x[i] : 0;
  __syncthreads();
  if (i < n) y[i] = tile[threadIdx.x] * by;
}
extern "C" __global__ void kernel_cutlass_post_kernel_tensorptr_0(float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += 1;
}
extern "C" __global__ void kernel_cutlass_post_kernel_1_tensorptr_0(float* y) { y[0] = -1; }
extern "C" __global__ void __launch_bounds__(64) small(float* y) { y[threadIdx.x] = 7; }
"""
SHAPE = {"grid": "ceil_div(n, 256)", "block": 256, "stream": "stream", "device": "device"}
TARGET = "int64_t stream, int32_t device"
FUNCTIONS = {
    "run": [
        tc.Launch(
            kernel="main_kernel",
            params=f"const float* x, float* y, float by, int n, {TARGET}",
            dynamic_smem_bytes=100 << 10,
            **SHAPE,
        ),
        tc.Launch(kernel="post_kernel", params=f"float* y, int n, {TARGET}", **SHAPE),
    ],
    "large": tc.Launch(kernel="small", params="float* y", grid=1, block=128),
    "wider": tc.Launch(kernel="small", params="int32_t y", grid=1, block=32),
}


def test_a_file_is_launched_on_every_device_and_the_driver_tells_what_it_takes(tmp_path: Path):
    files = {"kernels": tc.ImageFile("tiles.cubin")}
    so = tc.build_inline("k", functions=FUNCTIONS, embed_cubin=files, output=tmp_path / "own.so")
    (tmp_path / "tiles.cubin").write_bytes(tc.nvrtc.compile(SOURCE).image)
    mod = tc.load_module(so)
    for device in range(torch.cuda.device_count()):
        x = torch.randn(1000, device=f"cuda:{device}")
        y = torch.empty_like(x)
        stream = torch.cuda.Stream(device)
        stream.wait_stream(torch.cuda.current_stream(device))
        mod.run(x, y, 3.0, 1000, stream.cuda_stream, device)
        stream.synchronize()
        torch.testing.assert_close(y, 3 * x + 1)
    with pytest.raises(tc.LaunchLimitError, match="64"):
        mod.large(y)
    with pytest.raises(tc.LaunchError, match="parameter 1 has 8 bytes, but 4 are declared"):
        mod.wider(1)
