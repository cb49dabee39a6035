"""Functions as JSON values: written and read back exactly, refused by their place otherwise."""

import math

import numpy as np
import pytest

from tvmffi_cubin import Bound, Dispatch, Launch, Scratch, TensorMap
from tvmffi_cubin.launches.form import read_function, to_json


def test_a_launch_has_the_fields_that_are_not_as_by_default():
    launch = Launch(
        grid=("ceil_div(n, 4)", 2),
        block=64,
        args={
            "n": "x.numel",
            "tile": TensorMap("x", box_dim=(1, 64), swizzle="128B"),
            "memory": Scratch("n * 4", align=512),
            "counters": Bound(required=True),
            "pair": b"\x01\xff",
            "eps": math.inf,
            "Bytes": "x.numel",
        },
        attributes={14: b"\0" * 4},
        multiple_of={"x": 16},
        priority=np.int64(-1),
        image="k",
    )
    assert to_json(launch) == {
        "grid": ["ceil_div(n, 4)", 2],
        "block": [64],
        "args": {
            "n": "x.numel",
            "tile": {"TensorMap": {"tensor": "x", "box_dim": [1, 64], "swizzle": "128B"}},
            "memory": {"Scratch": {"bytes": "n * 4", "align": 512}},
            "counters": {"Bound": {"required": True}},
            "pair": {"Bytes": "01ff"},
            "eps": {"Float": "inf"},
            "Bytes": "x.numel",
        },
        "priority": -1,
        "attributes": {"14": {"Bytes": "00000000"}},
        "image": "k",
        "multiple_of": {"x": 16},
    }
    assert to_json(Launch()) == {}


ONE, TWO = {"kernel": "one"}, {"kernel": "two"}


@pytest.mark.parametrize(
    ("value", "function"),
    [
        (ONE, Launch(kernel="one")),
        ([ONE], Launch(kernel="one")),
        ([ONE, TWO], (Launch(kernel="one"), Launch(kernel="two"))),
        ({"instances": [ONE]}, Dispatch([Launch(kernel="one")])),
        (
            {"instances": [{"launches": [ONE, TWO]}, [TWO], {"kernel": "three"}]},
            Dispatch([[Launch(kernel=x) for x in ("one", "two")], Launch(kernel="two"),
                      Launch(kernel="three")]),
        ),
        ({"grid": 1, "block": [2, "n"]}, Launch(grid=(1,), block=(2, "n"))),
    ],
)  # fmt: skip
def test_short_forms_are_read(value, function):
    assert read_function(value, where="f") == function


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        ([[]], TypeError, r"f\[0\]: wanted an object of a Launch's fields, got"),
        ({"instances": [{"launches": [3]}]}, TypeError, r"f.instances\[0\].launches\[0\]: wanted"),
        ([ONE, {"block": ""}], ValueError, r"f\[1\]: Launch: block\[0\]: not an expression"),
        ({"args": {"x": {"Bytes": "0g"}}}, ValueError, "f.args.x: non-hexadecimal number"),
        ({"args": {"x": {"TensorMap": {}}}}, TypeError, "f.args.x: TensorMap: a tiled map has box"),
    ],
)
def test_what_is_no_function_is_refused_by_its_place(value, error, text):
    with pytest.raises(error, match=text):
        read_function(value, where="f")
