"""Grids of Triton functions: expressions, and those of callers."""

import pytest
from stub.cuda_array import cuda_array
from triton_kit import load, only, triton_cache

import tvmffi_cubin as tc

kernels = pytest.importorskip("triton_functions", reason="Triton is not installed")

__all__ = ["triton_cache"]


def compiled(grid, **options):
    return tc.triton.compile(
        kernels.strided,
        options.pop("signature", "*fp32, *fp32, i32, i32"),
        **{"grid": grid, "arch": "sm_90", "constexprs": {"BLOCK": 64}, **options},
    )


@pytest.mark.parametrize(
    ("grid", "wanted"),
    [
        (3, (3, 1, 1)),
        ("ceil_div(n, BLOCK)", (4, 1, 1)),
        (("BLOCK", "n - BLOCK*2 + 1"), (64, 73, 1)),
        ("max(2, min(n, num_sms)) // 2", (66, 1, 1)),
        (kernels.triton.language.constexpr(3), (3, 1, 1)),
        (["x.shape[0] // 4", "x.numel() % 5 + 1", 2], (50, 1, 2)),
    ],
)
def test_a_grid_is_numbers_and_expressions(driver_stub, grid, wanted):
    mod = load("triton_grid", strided=compiled(grid))
    x = cuda_array(driver_stub, 200)
    mod.strided(x, x, 1, 200)
    assert only(driver_stub).grid == wanted


def test_a_grid_counts_programs_which_may_be_clusters(driver_stub):
    grids = {"several": ("n", 2), "text": "n", "number": 3}
    made = {name: compiled(grid, num_ctas=2) for name, grid in grids.items()}
    mod = load("triton_clusters", **made)
    x = cuda_array(driver_stub, 64)
    for function in (mod.several, mod.text, mod.number):
        function(x, x, 1, 5)
    grids = [launch.grid for launch in driver_stub.launches()]
    assert grids == [(10, 2, 1), (10, 1, 1), (6, 1, 1)]
    assert {launch.cluster for launch in driver_stub.launches()} == {(2, 1, 1)}
    with pytest.raises(ValueError, match="give grid="):
        compiled(None, num_ctas=2)


def test_without_a_grid_callers_give_it_as_they_do_to_triton(driver_stub):
    mod = load("triton_free", strided=compiled(None))
    x = cuda_array(driver_stub, 200)
    outside = 3  # read at each call, and so no matter
    mod.strided[4](x, x, 1, 200)
    mod.strided[(4, 2)](x, x, 1, 200)
    grid = lambda meta: (kernels.triton.cdiv(meta["n"], meta["BLOCK"]), outside)  # noqa: E731
    mod.strided[grid](x, x, 1, 200)
    mod.strided[grid](x=x, out=x, stride=1, n=65)
    mod.strided[grid](x, x, n=1, stride=1)
    mod.strided[4](x, out=x, n=1, stride=1)
    assert [launch.grid[:2] for launch in driver_stub.launches()] == [
        *((4, 1), (4, 2), (4, 3), (2, 3), (1, 3), (4, 1)),
    ]
    with pytest.raises(TypeError, match="wanted stride, n by name, got m"):
        mod.strided[4](x, x, m=1)
    with pytest.raises(TypeError, match=r"strided: the launch has no grid: call strided\[grid\]"):
        mod.strided(x, x, 1, 200)


def test_a_function_is_the_caller_s_to_give():
    with pytest.raises(TypeError, match=r"write it as an expression(.|\n)*mod\.k\[grid\]"):
        compiled(lambda meta: (meta["n"],))
