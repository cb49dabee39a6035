"""Device code that was compiled separately, on a real device, against torch's results."""

from __future__ import annotations

import pytest

import tvmffi_cubin as tc
from tvmffi_cubin.cuda import libraries

torch = pytest.importorskip("torch", reason="the GPU tests compare with torch, which is missing")

DEFINITIONS = r"""
__device__ int total;
__constant__ float offsets[4] = {0.5f, 1.5f, 2.5f, 3.5f};
__device__ float shifted(float x, int which) { return x + offsets[which]; }
static __device__ int own() { return 1; }
extern "C" __global__ void add_one() { atomicAdd(&total, own()); }
"""
USES = r"""
extern __device__ int total;
extern __constant__ float offsets[4];
__device__ float shifted(float x, int which);
static __device__ int own() { return 100; }
extern "C" __global__ void shift(const float* x, float* y, int which, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    y[i] = shifted(x[i], which) * offsets[3];
}
extern "C" __global__ void add_hundred(int* out) { out[0] = atomicAdd(&total, own()) + own(); }
"""
SHIFT = tc.Launch(grid=4, block=128, args={"n": "x.numel"})


def check_shift(mod: tc.Module) -> None:
    x = torch.randn(1000, device="cuda")
    y = torch.empty_like(x)
    for which in range(4):
        mod.shift(x, y, which)
        torch.testing.assert_close(y, (x + (which + 0.5)) * 3.5)


@pytest.mark.parametrize("lto", [False, True])
def test_units_share_functions_and_variables(lto):
    functions = {
        "shift": SHIFT,
        "count": [
            tc.Launch(kernel="add_one", grid=3, block=32),
            tc.Launch(kernel="add_hundred", grid=1, block=1),
        ],
    }
    mod = tc.load_inline("gpu_units", [DEFINITIONS, USES], functions=functions, lto=lto)
    check_shift(mod)
    out = torch.zeros(1, dtype=torch.int32, device="cuda")
    mod.count(out)
    assert out.item() == 3 * 32 + 100


@pytest.mark.parametrize(
    ("kind", "arch", "lto"),
    [("relocatable", None, False), ("ltoir", "sm_80", True), ("ptx", "compute_80", False)],
)
def test_a_library_is_linked_into_a_source(kind, arch, lto):
    options = ["-rdc=true"] if kind == "ptx" else []
    library = tc.nvrtc.compile(DEFINITIONS, target_type=kind, arch=arch, options=options)
    mod = tc.load_inline(
        "gpu_library", USES, functions={"shift": SHIFT}, device_libraries=[library], lto=lto
    )
    check_shift(mod)


def test_kernels_launch_kernels_with_the_device_runtime():
    cudart = libraries.find_cuda().require("cudart")
    if not cudart.with_name("libcudadevrt.a").exists():
        pytest.skip("the CUDA runtime's wheel has no libcudadevrt.a")
    source = r"""
    __global__ void child(int* x, int n) { if (threadIdx.x < n) x[threadIdx.x] = threadIdx.x; }
    __global__ void parent(int* x, int n) { child<<<1, n>>>(x, n); }"""
    launch = tc.Launch(grid=1, block=1, args={"n": "x.numel"})
    mod = tc.load_inline(
        "gpu_nested", source, functions={"parent": launch}, device_libraries=["cudadevrt"]
    )
    x = torch.zeros(64, dtype=torch.int32, device="cuda")
    mod.parent(x)
    torch.cuda.synchronize()
    torch.testing.assert_close(x, torch.arange(64, dtype=torch.int32, device="cuda"))
