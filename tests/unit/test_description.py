"""`Description`: read from JSON and written, versions, what is refused."""

import copy
import json
import pickle
from pathlib import Path

import pytest

from tvmffi_cubin import Description, Dispatch, Launch
from tvmffi_cubin.launches.form import read_functions

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
                {
                    "grid": ["ceil_div(x.numel, 256)"],
                    "block": [256],
                    "args": {"x": {"TensorMap": {"box_dim": [64, "columns"]}}},
                    "params": "const float* x, int rows, int columns",
                    "kernel": "apply",
                    "programmatic_dependent_launch": True,
                },
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


def test_a_document_is_read_and_written():
    description = Description.read(GOOD)
    assert description.to_json() == GOOD
    text = "\n " + json.dumps(GOOD)
    assert Description.read(text) == Description.read(text.encode()) == description
    assert description.name == "ops"
    assert description.docs == {"softmax": "Of each row."}
    assert description.bound_params == ["counters", "unsigned limit"]
    wide, narrow = Launch(kernel="wide", when="n % 4 == 0"), Launch(kernel="narrow")
    assert description["scale"] == Dispatch([wide, narrow])
    assert [launch.kernel for launch in description.functions["softmax"]] == ["stats", "apply"]
    assert list(description) == ["softmax", "scale"]
    assert [export.doc for export in read_functions(description)] == ["Of each row.", ""]
    assert pickle.loads(pickle.dumps(description)) == description


def test_a_file_is_written_and_read(tmp_path: Path):
    path = tmp_path / "ops.json"
    description = Description.read(GOOD)
    path.write_text(json.dumps(description.to_json()))
    assert Description.read(path) == description
    assert Description.read(str(path)).path == str(path)
    with pytest.raises(FileNotFoundError):
        Description.read(tmp_path / "none.json")
    path.write_text('{"functions": {"k": {"grid": 1}}}')
    with pytest.raises(ValueError, match=r"ops\.json: functions\.k: Launch: a grid goes"):
        Description.read(path)


def test_other_versions_are_refused_and_fields_of_the_author_s_own_passed_over():
    given = {**copy.deepcopy(GOOD), "x_compiler": "frob 3", "schema": "2.7"}
    given["functions"]["softmax"]["x_cost"] = 1
    given["images"]["k"]["x_sha"] = "0"
    assert Description.read(given).to_json() == GOOD
    for schema in ("3.0", "1.0", 1, None):  # of another version nothing else is looked at
        with pytest.raises(ValueError, match=r"schema: its schema is .* reads 2\.x"):
            Description.read({"schema": schema, "functions": 3})


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        ({"functions": {"a b": {}}}, ValueError, "functions: 'a b' is not a name that C can have"),
        ({"functions": {"k": {"girth": 1}}}, TypeError, "functions.k: Launch.__init__() got an"),
        ({"functions": {}, "warps": 4}, ValueError, "no field 'warps' is known; there are schema"),
    ],
)
def test_what_is_no_description_is_refused_by_its_place(value, error, text: str):
    with pytest.raises(error) as caught:
        Description.read(value)
    assert text in str(caught.value)
