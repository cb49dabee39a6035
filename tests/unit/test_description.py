"""Functions as JSON: launches as values, and descriptions of them; what is refused, and where."""

import copy
import json
import math
from pathlib import Path

import numpy as np
import pytest

from tvmffi_cubin import Bound, Dispatch, Launch, Scratch, TensorMap
from tvmffi_cubin.formats.description import read_description
from tvmffi_cubin.launches.form import read_function, read_functions, to_json

GOOD = {
    "schema": "2.0",
    "name": "ops",
    "arch": ["sm_90a", "compute_90"],
    "ptx": "keep",
    "bound_params": ["counters", "unsigned limit"],
    "functions": {
        "softmax": {
            "doc": "Of each row.",
            "launches": [
                {"grid": ["rows"], "block": [256], "kernel": "stats", "image": "k"},
                {"kernel": "apply", "args": {"x": {"TensorMap": {"box_dim": [64, "columns"]}}}},
            ],
        },
        "scale": {
            "instances": [
                {"launches": [{"kernel": "wide", "when": "n % 4 == 0"}]},
                {"launches": [{"kernel": "narrow"}]},
            ]
        },
    },
    "images": {"k": {"path": "k.cubin", "signatures": {"stats": "const float* x"}}, "l": {}},
}


def test_a_document_is_read(tmp_path: Path):
    description = read_description(GOOD)
    text = "\n " + json.dumps(GOOD)
    assert read_description(text) == read_description(text.encode()) == description
    assert description.values == GOOD
    assert description.images == GOOD["images"]
    wide, narrow = Launch(kernel="wide", when="n % 4 == 0"), Launch(kernel="narrow")
    assert description.functions["scale"] == Dispatch([wide, narrow])
    assert [x.kernel for x in description.functions["softmax"].instances[0]] == ["stats", "apply"]
    assert [x.doc for x in read_functions(description.functions)] == ["Of each row.", ""]
    path = tmp_path / "ops.json"
    path.write_text(text)
    assert read_description(path) == description._replace(path=str(path))
    with pytest.raises(FileNotFoundError):
        read_description(tmp_path / "none.json")
    path.write_text('{"functions": {"k": {"grid": []}}}')
    with pytest.raises(ValueError, match=r"ops\.json: functions\.k: Launch: grid: expected 1 to 3"):
        read_description(path)


def test_other_versions_are_refused_and_fields_of_the_author_s_own_passed_over():
    given = {**copy.deepcopy(GOOD), "x_compiler": "frob 3", "schema": "2.7"}
    given["functions"]["softmax"]["x_cost"] = 1
    given["images"]["k"]["x_sha"] = "0"
    assert read_description(given)[:2] == read_description(GOOD)[:2]
    for schema in ("3.0", "1.0", 1, None):  # of another version nothing else is looked at
        with pytest.raises(ValueError, match=r"schema: unsupported schema .* reads 2\.x"):
            read_description({"schema": schema, "functions": 3})


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        ({"functions": {"a b": {}}}, ValueError, "functions: 'a b' is not a valid C identifier"),
        ({"functions": {}, "warps": 4}, ValueError, "unknown field 'warps'; available: schema"),
        ({"functions": {"k": {"girth": 1}}}, TypeError, "functions.k: Launch.__init__() got an"),
    ],
)
def test_what_is_no_description_is_refused_by_its_place(value, error, text: str):
    with pytest.raises(error) as caught:
        read_description(value)
    assert text in str(caught.value)


# Functions


def test_a_launch_has_the_fields_that_are_not_as_by_default():
    launch = Launch(
        grid=("ceil_div(n, 4)", 2),
        block=64,
        args={
            "n": "x.numel",
            "tile": TensorMap("x", box_dim=(1, 64)),
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
            "tile": {"TensorMap": {"tensor": "x", "box_dim": [1, 64]}},
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
        (ONE, Dispatch(Launch(kernel="one"))),
        ({"instances": [ONE]}, Dispatch(Launch(kernel="one"))),
        (
            {"instances": [{"launches": [ONE, TWO]}, [TWO], {"kernel": "three"}]},
            Dispatch([[Launch(kernel=x) for x in ("one", "two")], Launch(kernel="two"),
                      Launch(kernel="three")]),
        ),
    ],
)  # fmt: skip
def test_short_forms_are_read(value, function):
    assert read_function(value, where="f") == function


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        ([[]], TypeError, r"f\[0\]: expected an object with a Launch's fields, got"),
        ([ONE, {"block": ""}], ValueError, r"f\[1\]: Launch: block: invalid expression"),
        ({"args": {"x": {"Bytes": "0g"}}}, ValueError, "f.args.x: non-hexadecimal number"),
        ({"args": {"x": {"TensorMap": {}}}}, TypeError, "f.args.x: TensorMap: pass box_dim"),
    ],
)
def test_what_is_no_function_is_refused_by_its_place(value, error, text):
    with pytest.raises(error, match=text):
        read_function(value, where="f")
