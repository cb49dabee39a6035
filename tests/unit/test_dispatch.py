"""`Dispatch` and `Launch.over`: instances in order, names replaced, slips refused by name."""

import enum

import numpy as np
import pytest

from tvmffi_cubin import Dispatch, Launch

ONE, TWO, THREE = (Launch(kernel=name) for name in ("one", "two", "three"))


# Dispatch


def test_instances_are_launches_lists_of_them_and_the_instances_of_others():
    inner = Dispatch([ONE, [TWO, THREE]])
    assert inner.instances == ((ONE,), (TWO, THREE))
    assert Dispatch(iter([THREE, inner, (TWO,)])).instances == (
        *((THREE,), (ONE,), (TWO, THREE), (TWO,)),
    )
    assert inner.launches == (ONE, TWO, THREE)


# over


def test_names_are_replaced_in_declarations_and_numbers_in_expressions_too():
    launch = Launch(
        kernel="ns::scale<T, W>",
        params="const T* x, T* y, int n, int W2",
        grid=("ceil_div(n, 256 * W)", 2, "W"),
        block="W * 32",
        dynamic_smem_bytes="4 * W",
        args={"n": "W", "y": None, "by": 1.5, "m": "x.shape[0] // W + W2"},
        strided="x",
        when="n % W == 0 and x.data_ptr % (4 * W) == 0",
    )
    (made,) = launch.over(T=["ns::vec<double>"], W=[8]).launches
    assert made == Launch(
        kernel="ns::scale<ns::vec<double>, 8>",
        params="const ns::vec<double>* x, ns::vec<double>* y, int n, int W2",
        grid=("ceil_div(n, 256 * 8)", 2, "8"),
        block="8 * 32",
        dynamic_smem_bytes="4 * 8",
        args={"n": "8", "y": None, "by": 1.5, "m": "x.shape[0] // 8 + W2"},
        strided="x",
        when="n % 8 == 0 and x.data_ptr % (4 * 8) == 0",
    )


def test_only_whole_names_are_replaced():
    launch = Launch(kernel="T1<T, aT, Tb>", grid="x.numel * T2 + shape", block="x.shape[0]")
    (made,) = launch.over(T=["int"]).launches
    assert (made.kernel, made.grid) == ("T1<int, aT, Tb>", ("x.numel * T2 + shape",))
    (made,) = (
        Launch(kernel="k<shape, numel>", grid="shape", block="x.shape[0] + x.numel")
        .over(shape=[7], numel=[9])
        .launches
    )
    assert (made.grid, made.block) == ((7,), ("x.shape[0] + x.numel",))


@pytest.mark.parametrize(
    ("value", "kernel", "grid"),
    [
        (-4, "k<-4>", "n // (-4)"),
        (np.int64(8), "k<8>", "n // 8"),
        (np.bool_(True), "k<true>", "n // True"),
        (enum.IntEnum("Width", {"WIDE": 4}).WIDE, "k<4>", "n // 4"),
    ],
)
def test_a_value_is_spelled_as_where_it_stands_has_it(value, kernel, grid):
    (made,) = Launch(kernel="k<W>", grid="n // W", block="n").over(W=[value]).launches
    assert (made.kernel, made.grid) == (kernel, (grid,))


@pytest.mark.parametrize(
    ("launch", "names", "error", "text"),
    [
        ({}, {"T": ["int"], "W": [1]}, ValueError, "'k<T>' does not contain the name 'W'"),
        ({}, {"T": "float"}, TypeError, "T is a sequence of values, got the str 'float'"),
    ],
)
def test_a_slip_in_over_is_refused_by_name(launch, names, error, text):
    with pytest.raises(error, match=text):
        Launch(**({"kernel": "k<T>"} | launch)).over(**names)
