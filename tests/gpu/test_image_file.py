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
#if __CUDA_ARCH__ >= 900
extern "C" __global__ void __cluster_dims__(2) paired(float* y) { y[blockIdx.x] = blockIdx.x; }
#else
extern "C" __global__ void paired(float* y) { y[blockIdx.x] = blockIdx.x; }
#endif
"""
TARGET = {"stream": "stream", "device": "device"}
SHAPE = {"grid": "ceil_div(n, 256)", "block": 256, **TARGET}
FUNCTIONS = {
    "run": [
        tc.Launch(
            kernel="main_kernel",
            params="const float* x, float* y, float by, int n, int64_t stream, int32_t device",
            dynamic_smem_bytes=100 << 10,
            **SHAPE,
        ),
        tc.Launch(
            kernel="post_kernel", params="float* y, int n, int64_t stream, int32_t device", **SHAPE
        ),
    ],
    "small": tc.Launch(params="float* y", grid=1, block=64),
    "large": tc.Launch(kernel="small", params="float* y", grid=1, block=128),
    "paired": tc.Launch(params="float* y", grid=2, block=32),
}
MISTAKES = {
    "fewer": tc.Launch(kernel="main_kernel", params="const float* x, float* y", grid=1, block=32),
    "wider": tc.Launch(kernel="small", params="int32_t y", grid=1, block=32),
}
FILES = {"kernels": tc.ImageFile("tiles.cubin")}


@pytest.fixture(scope="module")
def image() -> bytes:
    return tc.nvrtc.compile(SOURCE).image


@pytest.fixture
def so(tmp_path: Path) -> Path:
    return Path(
        tc.build_inline("k", functions=FUNCTIONS, embed_cubin=FILES, output=tmp_path / "own.so")
    )


def check(mod: tc.Module, device: int = 0) -> None:
    x = torch.randn(1000, device=f"cuda:{device}")
    y = torch.empty_like(x)
    stream = torch.cuda.Stream(device)
    stream.wait_stream(torch.cuda.current_stream(device))
    mod.run(x, y, 3.0, 1000, stream.cuda_stream, device)
    stream.synchronize()
    torch.testing.assert_close(y, 3 * x + 1)


def test_a_file_is_launched_on_every_device(so: Path, image: bytes):
    so.with_name("tiles.cubin").write_bytes(image)
    mod = tc.load_module(so)
    for device in range(torch.cuda.device_count()):
        check(mod, device)


def test_what_the_driver_tells_of_a_file_holds(so: Path, image: bytes, tmp_path: Path):
    so.with_name("tiles.cubin").write_bytes(image)
    mod = tc.load_module(so)
    y = torch.zeros(128, device="cuda")
    with pytest.raises(tc.LaunchLimitError, match="64"):
        mod.large(y)
    mod.paired(y)
    assert y[:2].tolist() == [0, 1]
    mod.preload()
    wrong = tc.load_inline(
        "k", functions=MISTAKES, embed_cubin=FILES, build_directory=tmp_path / "wrong"
    )
    (tmp_path / "wrong" / "tiles.cubin").write_bytes(image)
    with pytest.raises(tc.LaunchError, match="has parameters of .* bytes, and of 8 8 are declared"):
        wrong.fewer(y, y)
    with pytest.raises(tc.LaunchError, match="has parameters of 8.* bytes, and of 4"):
        wrong.wider(1)
