"""Grids that callers give alone, of launches that fix their block."""

import pytest
from stub.cuda_array import cuda_array

import tvmffi_cubin as tc
from tvmffi_cubin import Dispatch, Launch

SOURCE = """
extern "C" __global__ void k(float* x, int n) {}
extern "C" __global__ void named(int function, int grid) {}
"""

FUNCTIONS = {
    "fixed": Launch(kernel="k", block=128, meta={"BLOCK": 64, "MODE": "fast"}),
    "named": Launch(block=32),
    "either": Dispatch(
        [Launch(kernel="k", block=32, when="n < 10"), Launch(kernel="k", block=64)],
    ),
    "differing": Dispatch(
        [
            Launch(kernel="k", block=32, when="n < 10", meta={"BLOCK": 32}),
            Launch(kernel="k", block=64, meta={"BLOCK": 64}),
        ],
    ),
}


@pytest.fixture(scope="module")
def mod(_own_environment: None) -> tc.Module:
    return tc.load_inline("callers_grid", SOURCE, functions=FUNCTIONS, arch="sm_90")


@pytest.fixture
def x(driver_stub):
    return cuda_array(driver_stub, 4)


def shape(stub):
    launch = stub.launches()[-1]
    return launch.grid, launch.block


@pytest.mark.parametrize(
    ("grid", "wanted"),
    [
        (7, (7, 1, 1)),
        ((7, 3), (7, 3, 1)),
        (lambda meta: (-(-meta["n"] // meta["BLOCK"]), 2), (3, 2, 1)),
        (lambda meta: (meta["x"].shape[0], len(meta["MODE"])), (4, 4, 1)),
    ],
)
def test_a_grid_alone_is_numbers_or_a_function_of_arguments_and_constants(
    mod, driver_stub, x, grid, wanted
):
    mod.fixed[grid](x, 129)
    assert shape(driver_stub) == (wanted, (128, 1, 1))
    mod.fixed[grid](n=129, x=x)
    assert shape(driver_stub) == (wanted, (128, 1, 1))


def test_a_grid_s_function_is_called_at_each_call_and_goes_with_other_options(mod, driver_stub, x):
    with driver_stub.stream() as stream:
        kept = mod.fixed.on(stream).configure(priority=-1)[lambda meta: (meta["n"],)]
        kept(x, 3)
        kept(x, 4)
        assert [launch.grid[0] for launch in driver_stub.launches()] == [3, 4]
        assert {launch.stream for launch in driver_stub.launches()} == {stream}
    assert all(8 in launch.attributes for launch in driver_stub.launches())


def test_a_kernel_s_parameters_may_have_any_name(mod, driver_stub):
    mod.named[lambda meta: meta["grid"]](function=3, grid=5)
    assert shape(driver_stub) == ((5, 1, 1), (32, 1, 1))


def test_instances_take_a_grid_together(mod, driver_stub, x):
    mod.either[lambda meta: (meta["n"],)](x, 5)
    assert shape(driver_stub) == ((5, 1, 1), (32, 1, 1))
    mod.either[7](x, 50)
    assert shape(driver_stub) == ((7, 1, 1), (64, 1, 1))
    mod.differing[7](x, 5)
    assert shape(driver_stub) == ((7, 1, 1), (32, 1, 1))
    with pytest.raises(TypeError, match="^differing: its instances differ in what the grid"):
        mod.differing[lambda meta: 1](x, 5)


def test_a_missing_argument_is_not_the_grid_s_concern(mod, driver_stub, x):
    with pytest.raises(TypeError, match="^fixed: got 1 arguments?, wanted 2"):
        mod.fixed[lambda meta: (meta["n"],)](x)
    assert not driver_stub.launches()
