"""What users write: `Launch`, `Dispatch`, `TensorMap`: every form, and what is refused by name."""

from __future__ import annotations

import dataclasses
import enum
import pickle
from pathlib import Path

import numpy as np
import pytest

from tvmffi_cubin import Cubin, Dispatch, Launch, TensorMap


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"grid": (1, 2, 3, 4), "block": 1}, ValueError, "grid: expected 1 to 3 dimensions, got 4"),
        ({"grid": 2**63, "block": 1}, ValueError, "grid: 9223372036854775808 does not fit"),
        ({"grid": "n /2", "block": 1}, ValueError, r"grid: use // .*\n  n /2\n     \^"),
        ({"args": {"n": [1]}}, TypeError, "args: 'n': unsupported type list"),
        ({"multiple_of": {"n": 3}}, ValueError, "multiple_of: 'n': expected a power of two"),
        ({"args": ["rows"]}, TypeError, "args: expected a mapping of names, got list"),
        ({"when": True}, TypeError, "an expression must be a str, got bool"),
        ({"attributes": {"priority": b"1"}}, ValueError, "attributes: expected .* for 'priority'"),
        ({"attributes": {14: bytes(65)}}, ValueError, "attributes: expected 1 to 64 .* for 14"),
    ],
)
def test_a_wrong_field_is_refused_by_name(options, error, text):
    with pytest.raises(error, match=text) as caught:
        Launch(**options)
    assert str(caught.value).startswith("Launch: ")


def test_a_launch_is_a_value():
    options = {"grid": ("n", 1), "block": [32], "args": {"n": "x.numel"}, "strided": "x"}
    one, same = Launch(**options), Launch(**options)
    assert one == same
    assert pickle.loads(pickle.dumps(one)) == one
    assert one != dataclasses.replace(one, args={"n": 3})
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.grid = 1


class Size(int, enum.Enum):
    FOUR = 4


def test_numbers_of_other_classes_are_kept_as_python_s_own():
    launch = Launch(grid=(Size.FOUR, np.int64(8)), block=np.uint16(32), priority=Size.FOUR)
    assert launch == Launch(grid=(4, 8), block=32, priority=4)
    assert {type(value) for value in (*launch.grid, *launch.block, launch.priority)} == {int}


def test_an_image_is_a_name_bytes_a_cubin_or_a_path():
    cubin = Cubin(b"x", "sm_90", lowered_names={"a": "b"}, signatures={"b": "int n"})
    for given, kept in (
        ("name", "name"),
        (b"x", b"x"),
        (cubin, cubin),
        (Path("k.cubin"), Path("k.cubin")),
    ):
        launch = Launch(image=given)
        assert launch.image == kept
        assert dataclasses.replace(launch, kernel="k").image == kept
        assert pickle.loads(pickle.dumps(launch)) == launch


# Dispatch


ONE, TWO, THREE = (Launch(kernel=name) for name in ("one", "two", "three"))


def test_instances_are_launches_lists_of_them_and_the_instances_of_others():
    inner = Dispatch([ONE, [TWO, THREE]])
    assert inner.instances == ((ONE,), (TWO, THREE))
    assert Dispatch(iter([THREE, inner, (TWO,)])).instances == (
        *((THREE,), (ONE,), (TWO, THREE), (TWO,)),
    )
    assert Dispatch(ONE).instances == ((ONE,),)


# TensorMap


CORNERS = {"lower_corner": (-1, -1), "upper_corner": (1, 1)}
PIXELS = {**CORNERS, "channels_per_pixel": 64, "pixels_per_column": 128}


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({}, TypeError, "TensorMap: pass box_dim or, for im2col, lower_corner, upper_corner, "),
        ({"box_dim": ("n +",)}, ValueError, "box_dim: invalid expression"),
        ({"box_dim": 16, "swizzle": "256B"}, ValueError, "swizzle: expected one of none, 32B,"),
        ({"box_dim": 16, "dtype": "int8"}, ValueError, "dtype: expected one of uint8, "),
        ({**PIXELS, "upper_corner": 0}, ValueError, "upper_corner has 1 dimensions, not 2"),
        ({"box_dim": 16, "global_strides": ()}, TypeError, "strides requires global_dim"),
        (
            {"box_dim": (8, 16), "global_dim": (8, 16), "global_strides": (64, 4)},
            ValueError,
            "global_strides has 2 dimensions, not 1",
        ),
    ],
)
def test_a_wrong_value_is_refused_by_its_field(options, error, message):
    with pytest.raises(error) as caught:
        TensorMap(**options)
    assert str(caught.value).startswith("TensorMap: ")
    assert message in str(caught.value)


def test_a_map_with_its_own_dimensions_has_them_among_its_figures():
    made = TensorMap("x", box_dim=(8, 64), global_dim=["n", 64], global_strides="2 * n")
    assert made.global_dim == ("n", 64)
    assert made == TensorMap("x", box_dim=(8, 64), global_dim=("n", 64), global_strides=("2 * n",))
    assert TensorMap(box_dim=16, global_dim=16, global_strides=()).global_strides == ()
