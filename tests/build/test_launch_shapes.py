"""Grid, block and dynamic shared memory: where they come from, and what they must not be."""

import numpy as np
import pytest
from stub.cuda_array import cuda_array

import tvmffi_cubin as tc
from tvmffi_cubin import Dispatch, Launch

SMEM_OPTIN = 97
MAX_DYNAMIC, NON_PORTABLE = 8, 14  # of CUfunction_attribute


def shape_of(stub):
    (launch,) = stub.launches()
    return launch.grid, launch.block, launch.dynamic_smem_bytes


def test_several_launches_go_in_order_each_with_its_own_shape(ops, driver_stub):
    x, t, y = (cuda_array(driver_stub, 4) for _ in range(3))
    ops.pipeline(x, t, 3, y)
    first, second = driver_stub.launches()
    assert (first.kernel, first.grid, first.block) == ("first", (3, 1, 1), (64, 1, 1))
    assert (second.kernel, second.grid, second.block) == ("second", (3, 2, 1), (32, 2, 1))
    assert (first.dynamic_smem_bytes, second.dynamic_smem_bytes) == (0, 12)
    assert first.values("PPi") == (x.data_ptr, t.data_ptr, 3)
    assert second.values("PPi") == (t.data_ptr, y.data_ptr, 3)


@pytest.mark.parametrize(
    ("shape", "grid", "block", "smem"),
    [
        (((2, 3, 4), (5, 6, 7), 8), (2, 3, 4), (5, 6, 7), 8),
        (([2], [4, 4]), (2, 1, 1), (4, 4, 1), 0),
        ((np.int64(2), (np.int32(4),)), (2, 1, 1), (4, 1, 1), 0),
    ],
)
def test_the_caller_gives_the_shape(shape, grid, block, smem, ops, driver_stub):
    ops.nothing[shape]()
    assert shape_of(driver_stub) == (grid, block, smem)


def test_options_combine_in_any_order(ops, driver_stub, x):
    with driver_stub.stream() as stream:
        for call in (
            ops.free[2, 4].on(stream).call(n=3, a=1.0, y=x, x=x),
            ops.free.on(stream)[2, 4](1.0, x, x, 3),
            ops.free.on(stream)[2, 4].call(1.0, x, x, n=3),
        ):
            assert call is None
    launches = driver_stub.launches()
    assert [(item.grid[0], item.block[0], item.stream) for item in launches] == [(2, 4, stream)] * 3
    assert {item.values("fPPi") for item in launches} == {(1.0, x.data_ptr, x.data_ptr, 3)}


def test_a_configured_function_is_made_once_and_kept(ops):
    made = ops.nothing[(3, 2), 32]
    assert ops.nothing[[3, 2], 32] is made
    assert made.on(7777) is ops.nothing[(3, 2), 32].on(7777)
    for grid in range(2000):
        ops.nothing[grid, 64]
    assert len(ops.nothing._kept) <= 513


def test_a_function_without_a_shape_asks_for_one(ops, driver_stub):
    with pytest.raises(TypeError, match=r"nothing: the launch has no block: call nothing\[grid, "):
        ops.nothing()
    with pytest.raises(TypeError, match=r"the launch has no block: call blockless\[grid, block\]"):
        ops.blockless()


def test_what_is_no_shape_is_refused(ops):
    for function, shape, text in (
        ("nothing", (1.0, 1), r"three integers \(divide with //\), got 1\.0"),
        ("nothing", ((), 1), r"nothing: grid: expected one to three integers .*, got \(\)"),
        ("pipeline", (1, 1), "pipeline has several launches, each with its own shape"),
    ):
        with pytest.raises((TypeError, ValueError), match=text):
            ops[function][shape]


def test_wrong_keywords_are_named_with_the_signature(ops):
    for name in ("a", "y"):
        told = rf"saxpy: expected x, y by name, got {name}\nsaxpy\(float a, const"
        with pytest.raises(TypeError, match=told):
            ops.saxpy.call(1, **{name: 2})


def test_an_empty_tensor_launches_nothing_after_the_checks(ops, driver_stub):
    empty = cuda_array(driver_stub, 0)
    ops.saxpy(1.0, empty, empty)
    ops.nothing[0, 1]()
    assert not driver_stub.launches()
    with pytest.raises(TypeError, match="dtype float64"):
        ops.saxpy(1.0, empty, cuda_array(driver_stub, 0, "float64"))
    with pytest.raises(ValueError, match=r"block\.x must be at least 1, got 0"):
        ops.nothing[1, 0]()


def test_a_negative_figure_is_refused_by_name(ops, driver_stub):
    with pytest.raises(ValueError, match=r"shape: block\.z is -2, expected 1 to 4294967295"):
        ops.shape(1, 1, 1, 1, 1, -2, 0)
    with pytest.raises(ValueError, match="nothing: grid.y: got the int -1, expected 0"):
        ops.nothing[(1, -1), 1]()


def test_above_48_kb_and_large_clusters_are_opted_into_once_a_device(ops, driver_stub):
    ops.unload()
    driver_stub.set_attribute(1, SMEM_OPTIN, 99 * 1024)
    for device, optin in ((0, 227 * 1024), (1, 99 * 1024)):
        driver_stub.set_attribute(device, SMEM_OPTIN, optin)
        y = cuda_array(driver_stub, 4, device=device)
        for size in (48 * 1024 + 1, 64 * 1024, optin, 50 * 1024):
            ops.dynamic(y, size)
        sets = [c.args for c in driver_stub.calls("cuKernelSetAttribute")]
        found = [(x["attribute"], x["value"]) for x in sets if x["device"] == device]
        assert sorted(found) == [(MAX_DYNAMIC, optin), (NON_PORTABLE, 1)]
    assert len(driver_stub.launches()) == 8


# Grids that callers give alone, of launches that fix their block


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
    "differing": Dispatch(Launch(kernel="k", block=n, meta={"BLOCK": n}) for n in (32, 64)),
    "apart": Dispatch(Launch(kernel=x, block=32) for x in ("k", "named")),
}


@pytest.fixture(scope="module")
def mod(_own_environment: None) -> tc.Module:
    return tc.load_inline("callers_grid", SOURCE, functions=FUNCTIONS, arch="sm_90")


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
    mod.fixed[grid](n=129, x=x)
    assert [x.grid for x in driver_stub.launches()] == [wanted, wanted]


def test_a_grid_s_function_is_called_at_each_call_and_goes_with_other_options(mod, driver_stub, x):
    with driver_stub.stream() as stream:
        kept = mod.fixed.on(stream).configure(priority=-1)[lambda meta: (meta["n"],)]
        kept(x, 3)
        kept(x, 4)
    found = [(x.grid[0], x.stream, [*x.attributes]) for x in driver_stub.launches()]
    assert found == [(3, stream, [8]), (4, stream, [8])]
    # Parameters may have any name.
    mod.named[lambda meta: meta["grid"]](function=3, grid=5)
    assert driver_stub.launches()[-1].grid == (5, 1, 1)


def test_instances_take_a_grid_together(mod, driver_stub, x):
    mod.either[lambda meta: (meta["n"],)](x, 5)
    mod.either[7](x, 50)
    mod.differing[7](x, 5)
    found = [(x.grid[0], x.block[0]) for x in driver_stub.launches()]
    assert found == [(5, 32), (7, 64), (7, 32)]
    for name in ("differing", "apart"):
        with pytest.raises(TypeError, match=f"^{name}: its instances differ in what the grid"):
            mod[name][lambda meta: (meta["n"],)](x, 5)
    # A missing argument is not the grid's concern.
    with pytest.raises(TypeError, match="^fixed: got 1 arguments?, expected 2"):
        mod.fixed[lambda meta: (meta["n"],)](x)
