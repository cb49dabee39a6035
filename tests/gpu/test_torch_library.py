"""A module's functions as operators of torch's: alone, under torch.compile, in opcheck."""

from __future__ import annotations

import pytest

import tvmffi_cubin as tc

torch = pytest.importorskip("torch", reason="the GPU tests compare with torch, which is missing")

SOURCE = r"""
extern "C" __global__ void saxpy(float a, const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}
template <typename T> __global__ void fill(T* out, long long n, bool twice, const T* in) {
  for (long long i = threadIdx.x; i < n; i += blockDim.x) out[i] = in ? in[i] : T(twice ? 2 : 1);
}
"""
FUNCTIONS = {
    "saxpy": tc.Launch(grid="ceil_div(n, 256)", block=256, args={"n": "x.numel"}),
    "fill": tc.Dispatch(tc.Launch(grid=1, block=32, kernel=f"fill<{x}>") for x in ("float", "int")),
}


@pytest.fixture(scope="module")
def ops():
    tc.load_inline("gpu_torch_library", SOURCE, functions=FUNCTIONS, torch_library="tc_test")
    return torch.ops.tc_test


def inputs(n: int = 1000):
    return torch.arange(n, device="cuda", dtype=torch.float32), torch.ones(n, device="cuda")


def test_an_operator_does_what_the_function_does(ops):
    x, y = inputs()
    ops.saxpy(2.0, x, y)
    assert torch.equal(y, 2 * x + 1)
    for dtype in (torch.float32, torch.int32):
        out = torch.empty(7, device="cuda", dtype=dtype)
        ops.fill(out, 7, True, None)
        assert out.tolist() == [2] * 7
    assert str(ops.saxpy.default._schema) == (
        "tc_test::saxpy(float a, Tensor? x, Tensor(a2!)? y) -> ()"
    )
    # `in` is a Python keyword.
    assert str(ops.fill.default._schema) == (
        "tc_test::fill(Tensor(a0!)? out, SymInt n, bool twice, Tensor? arg3) -> ()"
    )


@pytest.mark.parametrize("dynamic", [False, True])
def test_torch_compile_takes_it_whole(ops, dynamic):
    def twice(x, y):
        z = y * 2
        ops.saxpy(2.0, x, z)
        ops.saxpy(1.0, z, y)
        return z + 1

    compiled = torch.compile(twice, fullgraph=True, dynamic=dynamic)
    for n in (1000, 999):
        x, y = inputs(n)
        assert torch.equal(compiled(x, y), 2 * x + 3)
        assert torch.equal(y, 2 * x + 3)


def test_opcheck_passes(ops):
    x, y = inputs()
    torch.library.opcheck(ops.saxpy.default, (2.0, x, y))
    torch.library.opcheck(ops.fill.default, (y, 1000, False, x))


def test_what_is_loaded_again_takes_the_place_of_the_old_one(ops):
    changed = SOURCE.replace("y[i] += a * x[i]", "y[i] -= a * x[i]")
    tc.load_inline("gpu_torch_library", changed, functions=FUNCTIONS, torch_library="tc_test")
    try:
        x, y = inputs()
        torch.ops.tc_test.saxpy(2.0, x, y)
        assert torch.equal(y, 1 - 2 * x)
    finally:
        tc.load_inline("gpu_torch_library", SOURCE, functions=FUNCTIONS, torch_library="tc_test")


def test_what_torch_has_no_type_or_no_grid_for_is_refused():
    with pytest.raises(TypeError, match=r"torch_library: saxpy has no grid: pass a Launch"):
        tc.load_inline("gpu_torch_library", SOURCE, functions=["saxpy"], torch_library="tc_none")
    source = "struct P { int a; }; __global__ void f(P p) {}"
    functions = {"f": tc.Launch(grid=1, block=1)}
    with pytest.raises(TypeError, match=r"f takes P p, a type that torch operators do not have"):
        tc.load_inline("gpu_torch_library", source, functions=functions, torch_library="tc_none")
