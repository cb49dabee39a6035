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


@pytest.mark.parametrize("instances", [ONE, "one", {"one": ONE}, [ONE, []], [[ONE, "two"]]])
def test_what_are_no_instances_is_refused(instances):
    with pytest.raises(TypeError):
        Dispatch(instances)


# over


def test_every_combination_is_an_instance_the_first_name_s_loop_outermost():
    made = Launch(kernel="scale<T, W>").over(T=["float", "__half"], W=[4, 1])
    assert isinstance(made, Dispatch)
    assert [launch.kernel for launch in made.launches] == [
        *("scale<float, 4>", "scale<float, 1>", "scale<__half, 4>", "scale<__half, 1>"),
    ]
    other = Launch(kernel="scale<T, W>").over(W=(4, 1), T=iter(["float"]))
    assert [launch.kernel for launch in other.launches] == ["scale<float, 4>", "scale<float, 1>"]


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


def test_bools_are_c_s_in_the_source_and_python_s_in_conditions():
    made = Launch(kernel="k<C>", when="causal == C").over(C=[True, False])
    assert [(x.kernel, x.when) for x in made.launches] == [
        ("k<true>", "causal == True"),
        ("k<false>", "causal == False"),
    ]


@pytest.mark.parametrize(
    ("launch", "names", "error", "text"),
    [
        ({"kernel": None}, {"T": ["int"]}, ValueError, "kernel None does not contain the name 'T'"),
        ({}, {"T": ["int"], "W": [1]}, ValueError, "'k<T>' does not contain the name 'W'"),
        ({"kernel": "k<TT>"}, {"T": ["int"]}, ValueError, "does not contain the name 'T'"),
        ({}, {"T": "float"}, TypeError, "T is a sequence of values, got the str 'float'"),
        ({}, {"T": []}, ValueError, "there is no instance"),
    ],
)
def test_a_slip_in_over_is_refused_by_name(launch, names, error, text):
    with pytest.raises(error, match=text):
        Launch(**({"kernel": "k<T>"} | launch)).over(**names)
