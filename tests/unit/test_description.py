"""Descriptions: read from JSON, versions, what is refused."""

import copy
import json
from pathlib import Path

import pytest

from tvmffi_cubin import Dispatch, Launch
from tvmffi_cubin.formats.description import read_description
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


def test_a_document_is_read(tmp_path: Path):
    description = read_description(GOOD)
    text = "\n " + json.dumps(GOOD)
    assert read_description(text) == read_description(text.encode()) == description
    assert description.options == {x: GOOD[x] for x in ("name", "arch", "ptx", "bound_params")}
    assert description.images == GOOD["images"]
    wide, narrow = Launch(kernel="wide", when="n % 4 == 0"), Launch(kernel="narrow")
    assert description.functions["scale"] == Dispatch([wide, narrow])
    assert [launch.kernel for launch in description.functions["softmax"]] == ["stats", "apply"]
    assert [x.doc for x in read_functions(description.functions)] == ["Of each row.", ""]
    path = tmp_path / "ops.json"
    path.write_text(text)
    assert read_description(path) == description._replace(path=str(path))
    with pytest.raises(FileNotFoundError):
        read_description(tmp_path / "none.json")
    path.write_text('{"functions": {"k": {"grid": []}}}')
    with pytest.raises(ValueError, match=r"ops\.json: functions\.k: Launch: grid has 1 to 3"):
        read_description(path)


def test_other_versions_are_refused_and_fields_of_the_author_s_own_passed_over():
    given = {**copy.deepcopy(GOOD), "x_compiler": "frob 3", "schema": "2.7"}
    given["functions"]["softmax"]["x_cost"] = 1
    given["images"]["k"]["x_sha"] = "0"
    assert read_description(given)[:3] == read_description(GOOD)[:3]
    for schema in ("3.0", "1.0", 1, None):  # of another version nothing else is looked at
        with pytest.raises(ValueError, match=r"schema: its schema is .* reads 2\.x"):
            read_description({"schema": schema, "functions": 3})


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
        read_description(value)
    assert text in str(caught.value)
