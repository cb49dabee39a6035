"""`Launch`: accepted in every form that it documents, refused by field name otherwise."""

import dataclasses
import enum
import pickle
from pathlib import Path

import numpy as np
import pytest

from tvmffi_cubin import Cubin, Launch


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"grid": (1, 2, 3, 4), "block": 1}, ValueError, "grid has 1 to 3 dimensions, got 4"),
        ({"grid": (1.0,), "block": 1}, TypeError, r"grid\[0\] is an int, got float"),
        ({"grid": "n /2", "block": 1}, ValueError, r"grid\[0\]: use // .*\n  n /2\n     \^"),
        ({"args": {"n": [1]}}, TypeError, r"args\['n'\]: a list cannot be a constant"),
        ({"multiple_of": {"n": 3}}, ValueError, r"multiple_of\['n'\] is 3, wanted a power of two"),
        (
            {"image": "k.cubin"},
            ValueError,
            "image 'k.cubin' is not the name of an image: give a file as",
        ),
        ({"args": ["rows"]}, TypeError, "args is a mapping of names, got list"),
        ({"attributes": {"priority": b""}}, TypeError, "attributes maps numbers of .* got {'pri"),
        (
            {"attributes": {14: bytes(65)}},
            ValueError,
            r"attributes\[14\] is .*wanted 1 to 64 bytes",
        ),
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
    assert hash(one) == hash(same)
    assert pickle.loads(pickle.dumps(one)) == one
    assert one != dataclasses.replace(one, args={"n": 3})
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.grid = 1


class Size(int, enum.Enum):
    FOUR = 4


class Text(str, enum.Enum):
    N = "n"


def test_numbers_and_texts_of_other_classes_are_kept_as_python_s_own():
    launch = Launch(
        grid=(Size.FOUR, np.int64(8), Text.N),
        block=np.uint16(32),
        dynamic_smem_bytes=Size.FOUR,
        cluster=np.int32(2),
        priority=Size.FOUR,
        cluster_scheduling_policy=Text.N,
    )
    assert launch == Launch(
        grid=(4, 8, "n"),
        block=32,
        dynamic_smem_bytes=4,
        cluster=2,
        priority=4,
        cluster_scheduling_policy="n",
    )
    values = (*launch.grid, *launch.block, *launch.cluster, launch.priority)
    assert {type(value) for value in values} == {int, str}


def test_an_image_is_a_name_bytes_a_cubin_or_a_path():
    cubin = Cubin(b"x", "sm_90", lowered_names={"a": "b"}, signatures={"b": "int n"})
    for given, kept in (
        ("name", "name"),
        (b"x", b"x"),
        (bytearray(b"x"), b"x"),
        (memoryview(b"x"), b"x"),
        (cubin, cubin),
        (Path("k.cubin"), Path("k.cubin")),
    ):
        launch = Launch(image=given)
        assert launch.image == kept
        assert hash(launch) == hash(Launch(image=kept))
        assert dataclasses.replace(launch, kernel="k").image == kept
        assert pickle.loads(pickle.dumps(launch)) == launch
