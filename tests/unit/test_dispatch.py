"""`Dispatch` and `Launch.over`: instances in order, names replaced, slips refused by name."""

import dataclasses
import enum
import pickle

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


@pytest.mark.parametrize(
    ("instances", "error", "text"),
    [
        (ONE, TypeError, "instances is a sequence, got Launch"),
        ("one", TypeError, "instances is a sequence, got str"),
        ({"one": ONE}, TypeError, "instances is a sequence, got dict"),
        (None, TypeError, "instances is a sequence, got NoneType"),
        ([], ValueError, "there is no instance; give at least one Launch"),
        ([ONE, []], ValueError, "instance 2 is an empty list of launches"),
        (
            [ONE, "two"],
            TypeError,
            "instance 2 is a Launch, a list of them or a Dispatch, got 'two'",
        ),
        ([[ONE, "two"]], TypeError, "instance 1 is a Launch, a list"),
        ([[Dispatch([ONE])]], TypeError, "instance 1 is a Launch, a list"),
    ],
)
def test_what_are_no_instances_is_refused(instances, error, text):
    with pytest.raises(error, match=text) as caught:
        Dispatch(instances)
    assert str(caught.value).startswith("Dispatch: ")


def test_a_dispatch_is_a_value():
    one, same = Dispatch([ONE, TWO]), Dispatch((ONE, [TWO]))
    assert one == same
    assert hash(one) == hash(same)
    assert pickle.loads(pickle.dumps(one)) == one
    assert one != Dispatch([TWO, ONE])
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.instances = ()


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
        grid=("ceil_div(n, 256 * 8)", 2, 8),
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


def test_bools_are_c_s_in_the_source_and_python_s_in_conditions():
    made = Launch(kernel="k<C>", when="causal == C").over(C=[True, False])
    assert [(x.kernel, x.when) for x in made.launches] == [
        ("k<true>", "causal == True"),
        ("k<false>", "causal == False"),
    ]


def test_negative_numbers_stay_one_operand():
    (made,) = Launch(kernel="k<W>", grid="n - W", block=1).over(W=[-4]).launches
    assert (made.kernel, made.grid) == ("k<-4>", ("n - (-4)",))


def test_numbers_of_any_kind_are_spelled_as_numbers():
    class Width(enum.IntEnum):
        WIDE = 4

    launch = Launch(kernel="k<W>", grid="n // W", block=1)
    made = launch.over(W=[np.int64(8), Width.WIDE, np.uint8(2), np.bool_(True), False])
    assert [x.kernel for x in made.launches] == ["k<8>", "k<4>", "k<2>", "k<true>", "k<false>"]
    assert [x.grid for x in made.launches][:4] == [
        ("n // 8",),
        ("n // 4",),
        ("n // 2",),
        ("n // 1",),
    ]
    assert Launch(kernel="k<W>").over(W=np.arange(3)).launches[2].kernel == "k<2>"
    assert Launch(kernel="k<T>").over(T=np.array(["int"])).launches[0].kernel == "k<int>"


def test_a_member_of_an_enum_of_str_is_spelled_as_its_value():
    class Type(str, enum.Enum):
        SINGLE = "float"

    (made,) = Launch(kernel="k<T>").over(T=[Type.SINGLE]).launches
    assert made.kernel == "k<float>"


def test_more_instances_than_can_be_compiled_are_refused_at_once():
    launch = Launch(kernel="k<A, B, C>")
    with pytest.raises(
        ValueError, match=r"over: 1000000 instances \(1000 of A x 1000 of B\)"
    ) as caught:
        Launch(kernel="k<A, B>").over(A=range(1000), B=range(1000))
    assert "1024 instances, the most that one function may have" in str(caught.value)
    assert len(launch.over(A=range(32), B=range(32), C=[1]).instances) == 1024
    with pytest.raises(ValueError, match="Dispatch: 1025 instances are more than 1024"):
        Dispatch(Launch(kernel=f"k<{i}>") for i in range(1025))


def test_a_launch_without_a_shape_has_instances_without_one():
    (made,) = Launch(kernel="k<W>").over(W=[1]).launches
    assert not made.is_shaped


@pytest.mark.parametrize(
    ("launch", "names", "error", "text"),
    [
        ({}, {}, ValueError, "there is no name"),
        ({"kernel": None}, {"T": ["int"]}, ValueError, "kernel=, which is not given"),
        ({}, {"T": ["int"], "W": [1]}, ValueError, "does not contain the name 'W'; it has k, T"),
        ({"kernel": "k<TT>"}, {"T": ["int"]}, ValueError, "does not contain the name 'T'"),
        ({}, {"T": "float"}, TypeError, "T is a sequence of values, got str 'float'"),
        ({}, {"T": 4}, TypeError, "T is a sequence of values, got int 4"),
        ({}, {"T": []}, ValueError, "T has no values"),
        ({}, {"T": ["float", 1.5]}, TypeError, "T holds str, int and bool, got float 1.5"),
        ({}, {"T": [None]}, TypeError, "T holds str, int and bool, got NoneType"),
        ({}, {"T": [float]}, TypeError, "T holds str, int and bool, got type"),
        ({"grid": "T", "block": 1}, {"T": ["int"]}, ValueError, "grid reads T, which stands for"),
        ({"when": "n > T"}, {"T": ["int"]}, ValueError, "when reads T, which stands for 'int'"),
        ({"args": {"n": "T + 1"}}, {"T": ["4"]}, ValueError, r"args\['n'\] reads T, which stands"),
        ({"grid": 1, "block": "T"}, {"T": [2**63]}, ValueError, "block.x is 92233.*, wanted 1 to"),
    ],
)  # fmt: skip
def test_a_slip_in_over_is_refused_by_name(launch, names, error, text):
    with pytest.raises(error, match=text):
        Launch(**({"kernel": "k<T>"} | launch)).over(**names)
