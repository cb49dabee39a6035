"""Functions of several instances on a real device: the right one runs, the numbers are torch's."""

from __future__ import annotations

import pytest

import tvmffi_cubin as tc

torch = pytest.importorskip("torch", reason="the GPU tests compare with torch, which is missing")

# Each thread handles W elements at one go, and says in `mark` how many those are.
SOURCE = r"""
#include <cuda_fp16.h>
#include <cuda_bf16.h>
template <class T, int W> struct alignas(sizeof(T) * W) Vector { T at[W]; };
template <class T, int W>
__global__ void scale(const T* x, T* y, T by, int* mark, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) *mark = W;
  if (i >= n / W) return;
  Vector<T, W> v = reinterpret_cast<const Vector<T, W>*>(x)[i];
  for (T& each : v.at) each = each * by;
  reinterpret_cast<Vector<T, W>*>(y)[i] = v;
}
__global__ void copy4(const float4* x, float4* y, int* mark, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) *mark = 4;
  if (i < n / 4) y[i] = x[i];
}
template <class T>
__global__ void copy(const T* x, T* y, int* mark, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) *mark = 1;
  if (i < n) y[i] = x[i];
}
"""
ALIGNED = "W == 1 or n % W == 0 and x.data_ptr % 32 == 0 and y.data_ptr % 32 == 0"
FUNCTIONS = {
    "scale": tc.Launch(
        kernel="scale<T, W>",
        grid="ceil_div(n, 256 * W)",
        block=256,
        args={"n": "x.numel"},
        when=ALIGNED,
    ).over(T=["float", "__half", "__nv_bfloat16", "double"], W=[4, 1]),
    "copy": tc.Dispatch(
        [
            tc.Launch(kernel="copy4", grid="ceil_div(n, 1024)", block=256, when="n % 4 == 0"),
            tc.Launch(kernel="copy<T>", grid="ceil_div(n, 256)", block=256).over(
                T=["float", "int", "bool"]
            ),
        ]
    ),
    "sms": tc.Dispatch(
        [
            tc.Launch(kernel="copy<float>", grid=1, block=1, when="num_sms < 2", args={"n": 0}),
            tc.Launch(
                kernel="copy<float>", grid="ceil_div(n, 256)", block=256, args={"n": "x.numel"}
            ),
        ]
    ),
}


@pytest.fixture(scope="module")
def mod():
    return tc.load_inline("gpu_dispatch", SOURCE, functions=FUNCTIONS)


@pytest.fixture
def mark():
    return torch.zeros(1, device="cuda", dtype=torch.int32)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64])
@pytest.mark.parametrize(
    ("begin", "end", "width"), [(0, 4096, 4), (0, 4095, 1), (1, 4093, 1), (0, 4, 4), (0, 1, 1)]
)
def test_dtype_length_and_alignment_choose_the_instance(mod, mark, dtype, begin, end, width):
    x = torch.randn(4096, device="cuda", dtype=dtype)[begin:end]
    y = torch.full_like(x, float("nan"))
    mod.scale(x, y, 1.5, mark)
    torch.testing.assert_close(y, x * 1.5)
    assert mark.item() == width


@pytest.mark.parametrize(
    ("dtype", "begin", "n", "width"),
    [
        (torch.float32, 0, 1000, 4),
        (torch.float32, 0, 999, 1),
        (torch.float32, 1, 1000, 1),
        (torch.int32, 0, 1000, 1),
        (torch.bool, 3, 1000, 1),
    ],
)
def test_vector_types_fall_back_to_scalars(mod, mark, dtype, begin, n, width):
    x = (torch.rand(1024, device="cuda") * 2).to(dtype)[begin : begin + n]
    y = torch.zeros(1024, device="cuda", dtype=dtype)[begin : begin + n]
    mod.copy(x, y, mark, n)
    assert torch.equal(x, y)
    assert mark.item() == width


def test_a_graph_captures_the_instance_that_fitted(mod, mark):
    x = torch.ones(1024, device="cuda")
    mod.scale(x, x, 1.0, mark)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        mod.scale(x, x, 2.0, mark)
    graph.replay()
    graph.replay()
    torch.testing.assert_close(x, torch.full_like(x, 4.0))
