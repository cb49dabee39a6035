"""Functions as JSON values: written and read back exactly, refused by their place otherwise."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from launch_strategies import FUNCTIONS

from tvmffi_cubin import Bound, Cubin, Dispatch, Launch, Scratch, TensorMap
from tvmffi_cubin.launches.form import function_value, launch_value, read_function


@settings(max_examples=200, deadline=None)
@given(FUNCTIONS)
def test_what_is_written_is_read_back_the_same(function):
    value = function_value(function)
    again = read_function(json.loads(json.dumps(value, allow_nan=False)))
    # What is equal is not yet the same: 1, 1.0 and True are equal, -0.0 and 0.0 too.
    assert repr(again) == repr(function)
    assert type(again) is type(function)
    assert again == function
    assert function_value(again) == value


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
    assert launch_value(launch) == {
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
    assert launch_value(Launch()) == {}


@pytest.mark.parametrize("image", [b"\x7fELF", Path("k.cubin"), Cubin(b"", "sm_90")])
def test_an_image_has_to_have_a_name(image):
    with pytest.raises(TypeError, match=r"functions.k.launches\[0\].image: an image has a name"):
        function_value(Launch(image=image), where="functions.k")


ONE, TWO = {"kernel": "one"}, {"kernel": "two"}


@pytest.mark.parametrize(
    ("value", "function"),
    [
        (ONE, Launch(kernel="one")),
        ({}, Launch()),
        ([ONE], Launch(kernel="one")),
        ({"launches": [ONE]}, Launch(kernel="one")),
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
    assert read_function(value) == function


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (3, TypeError, "f: wanted a list of launches, or an object with launches or with a launch"),
        ([], ValueError, "f: the list of launches is empty"),
        ([[]], TypeError, r"f\[0\]: wanted an object of a Launch's fields, got a list"),
        ({"launches": {}}, TypeError, "f.launches: wanted a list of launches, .* got an object"),
        ({"launches": [], "instances": []}, ValueError, "launches or instances, got both"),
        ({"instances": {}}, TypeError, "f.instances: wanted a list, got an object"),
        ({"instances": []}, ValueError, "f.instances: Dispatch: there is no instance"),
        ({"instances": [{"launches": [3]}]}, TypeError, r"f.instances\[0\].launches\[0\]: wanted"),
        ({"grid": 1}, ValueError, "f: Launch: a grid goes together with a block"),
        ([ONE, {"block": 0}], ValueError, r"f\[1\]: Launch: block.x is 0, wanted 1 to"),
        ({"launches": [{"girth": 1}]}, ValueError, r"f.launches\[0\]: got the field 'girth'; a La"),
        ({"girth": 1}, ValueError, "f: got the field 'girth'; a Launch has grid, block, "),
        ({"block": {"Float": "nan"}}, TypeError, "f: Launch: block is an int, an expression or"),
        ({"args": []}, TypeError, "f: Launch: args maps parameter names to values"),
        ({"args": {"x": {}}}, ValueError, "f.args.x: wanted a constant, an expression, or an obj"),
        ({"args": {"x": {"Texture": {}}}}, ValueError, "got an object with the key 'Texture'"),
        ({"args": {"x": {"Bytes": 3}}}, ValueError, "f.args.x: wanted a constant"),
        ({"args": {"x": {"Bytes": "0g"}}}, ValueError, "f.args.x.Bytes: non-hexadecimal number"),
        ({"args": {"x": {"Float": "y"}}}, ValueError, "f.args.x: wanted a constant"),
        ({"args": {"x": {"TensorMap": 3}}}, TypeError, "f.args.x: wanted an object of a TensorMap"),
        ({"args": {"x": {"TensorMap": {}}}}, TypeError, "f.args.x: TensorMap: box_dim is missing"),
        ({"args": {"x": {"Scratch": {"align": 3}}}}, ValueError, "f.args.x: Scratch: align is 3"),
        ({"args": {"x": {"Bound": {"name": "a b"}}}}, ValueError, "f.args.x: Bound: 'a b' is no"),
        ({"args": {"x": {"Bound": {"nam": "a"}}}}, ValueError, "f.args.x: got the field 'nam'"),
        (
            [{"image": {"Bytes": "00"}}],
            TypeError,
            r"f\[0\].image: wanted an image's name",
        ),
        ({"attributes": {"x": {"Bytes": ""}}}, ValueError, "f.attributes: wanted an attribute's n"),
        ({"attributes": {"14": "0"}}, TypeError, "f: Launch: attributes"),
    ],
)
def test_what_is_no_function_is_refused_by_its_place(value, error, text):
    with pytest.raises(error, match=text) as caught:
        read_function(value, where="f")
    assert type(caught.value) is error
