"""`Description`: read from JSON and written, versions, what is not known, what is refused."""

import copy
import json
import math
import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from launch_strategies import FUNCTIONS

from tvmffi_cubin import Bound, Description, Dispatch, Launch, Parameter
from tvmffi_cubin.description_fields import without_facts
from tvmffi_cubin.export import read_functions
from tvmffi_cubin.exports import resolve
from tvmffi_cubin.field_key import FieldKey
from tvmffi_cubin.image import Image
from tvmffi_cubin.kernel_signature import KernelSignature
from tvmffi_cubin.kernels.cubin import Cubin, Kernel
from tvmffi_cubin.kernels.types import parse_params
from tvmffi_cubin.request import make_request

GOOD = {
    "schema": "2.0",
    "name": "ops",
    "arch": ["sm_90a", "compute_90"],
    "ptx": "keep",
    "bound_params": ["counters", {"Bound": {"name": "limit", "required": True}}],
    "functions": {
        "softmax": {
            "doc": "Of each row.",
            "launches": [
                {"grid": ["rows"], "block": [256], "kernel": "stats", "image": "k"},
                {
                    "grid": ["ceil_div(x.numel, 256)"],
                    "block": [256],
                    "args": {"x": {"TensorMap": {"box_dim": [64, "columns"], "x_note": 1}}},
                    "params": "const float* x, int rows, int columns",
                    "kernel": "apply",
                    "programmatic_dependent_launch": True,
                    "x_origin": {"line": 3},
                },
            ],
        },
        "scale": {"instances": [{"launches": [{"kernel": "wide", "when": "n % 4 == 0"}]}]},
    },
    "images": {"k": {"path": "k.cubin", "signatures": {"stats": "const float* x"}}, "l": {}},
    "x_compiler": "frob 3",
}


def document(**changes) -> dict:
    return {**copy.deepcopy(GOOD), **changes}


# Reading and writing


def test_a_document_is_read_and_written_the_same_fields_of_others_included():
    description = Description.read(GOOD)
    assert description.to_json() == GOOD
    assert Description.read(json.dumps(GOOD).encode()) == description
    assert description.name == "ops"
    assert description.docs == {"softmax": "Of each row."}
    assert description.bound_params == ["counters", Bound("limit", required=True)]
    assert description["scale"] == Dispatch([Launch(kernel="wide", when="n % 4 == 0")])
    assert [launch.kernel for launch in description.functions["softmax"]] == ["stats", "apply"]
    assert list(description) == ["softmax", "scale"]
    assert list(description.unknown()) == []


@settings(max_examples=50, deadline=None)
@given(st.dictionaries(st.sampled_from(["a", "b_2", "C"]), FUNCTIONS, max_size=3))
def test_every_function_comes_back(functions):
    description = Description(functions=functions)
    text = json.dumps(description.to_json(), allow_nan=False)
    again = Description.read(text.encode())
    assert again == description
    assert repr(again) == repr(description)
    assert json.dumps(again.to_json()) == text


def test_a_file_is_written_and_read(tmp_path: Path):
    path = tmp_path / "ops.json"
    description = Description.read(GOOD)
    description.write(path)
    assert Description.read(path) == description
    assert Description.read(str(path)).path == str(path)
    assert json.loads(path.read_text()) == GOOD
    with pytest.raises(ValueError, match="ops.toml: what is written is JSON: name it .json"):
        description.write(tmp_path / "ops.toml")


def test_values_may_be_edited_and_leave_the_description_as_it_is():
    given = document(x_compiler={"name": ["frob"]})
    description = Description.read(given)
    values = description.to_json()
    values["x_compiler"]["name"].append("edited")
    values["functions"]["softmax"]["launches"][1]["x_origin"]["line"] = 4
    values["images"]["k"]["signatures"]["stats"] = "edited"
    assert description.to_json() == given
    further = {"": {"x_note": [1]}}
    made = Description(further=further)
    further[""]["x_note"].append(2)
    assert made.to_json()["x_note"] == [1]


def test_a_json_text_is_read_as_bytes_and_as_text():
    text = "\n " + json.dumps(GOOD)
    assert Description.read(text) == Description.read(text.encode()) == Description.read(GOOD)
    with pytest.raises(ValueError, match="description: it is no JSON: "):
        Description.read('{"name": "\ud800"}')


def test_a_table_of_functions_alone_is_a_document_too():
    table = {"k": {"grid": 1, "block": 32, "doc": "d"}, "l": [{"kernel": "m"}, {"kernel": "n"}]}
    description = Description.read(table)
    assert description == Description(
        functions={
            "k": Launch(grid=1, block=32),
            "l": [Launch(kernel="m"), Launch(kernel="n")],
        },
        docs={"k": "d"},
    )
    assert Description.read({}) == Description()
    assert Description().to_json() == {"schema": "2.0"}


def test_values_of_python_count_as_those_of_json():
    given = {"functions": {"k": {"grid": (np.int32(2), 1), "block": np.int64(32)}}}
    assert Description.read(given)["k"] == Launch(grid=(2, 1), block=32)


def test_a_description_is_a_value():
    description = Description.read(GOOD)
    assert pickle.loads(pickle.dumps(description)) == description
    assert description != Description()
    assert description != dict(description)
    with pytest.raises(TypeError, match="unhashable"):
        hash(description)


# Versions


@pytest.mark.parametrize("schema", ["2.0", "2.1", "2.999"])
def test_newer_minor_versions_load_and_stay_what_they_are(schema: str):
    given = document(schema=schema, streams=3)
    description = Description.read(given)
    assert description.to_json() == given
    assert list(description.unknown()) == ["streams"]


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ("3.0", "schema: its schema is '3.0', this version of tvmffi_cubin reads 2.x: upgrade tvm"),
        ("1.0", "its schema is '1.0', this version of tvmffi_cubin reads 2.x: build it again"),
        (1, "its schema is 1, this version of tvmffi_cubin reads 2.x: build it again"),
        *(
            (other, "wanted major.minor as a str, such as '2.0'")
            for other in (None, 2, 2.0, True, "2", "2.0.1", "02.0", "2.0 ", "two", "2.-1", [], "²")
        ),
    ],
)
def test_other_versions_are_refused(schema, text: str):
    # Of another major version nothing else is looked at.
    with pytest.raises(ValueError, match=text) as caught:
        Description.read({"schema": schema, "functions": 3})
    assert str(caught.value).startswith("description: schema: ")
    with pytest.raises(ValueError, match=text):
        Description(schema=schema)


# What is not known


def test_fields_that_nobody_knows_are_told_when_a_module_is_made_of_them():
    given = document(warps=4)
    given["bound_params"] = [{"Bound": {"name": "counters", "lanes": 1}}]
    given["functions"]["softmax"]["cost"] = 1
    given["functions"]["softmax"]["launches"][1]["girth"] = 2
    given["functions"]["softmax"]["launches"][1]["args"]["x"]["TensorMap"]["gather"] = True
    given["functions"]["scale"]["instances"][0]["rank"] = 0
    given["images"]["k"]["sha"] = "0"
    description = Description.read(given)
    assert description.to_json() == given
    places = [
        "functions.softmax.cost",
        "functions.softmax.launches[1].girth",
        "functions.softmax.launches[1].args.x.gather",
        "functions.scale.instances[0].rank",
        "bound_params[0].lanes",
        "warps",
        "images.k.sha",
    ]
    assert sorted(description.unknown()) == sorted(places)
    with pytest.warns(UserWarning, match="is no field that this version") as caught:
        read_functions(description)
    assert sorted(str(x.message).split()[0] for x in caught) == sorted(places)
    assert {x.filename for x in caught} == {__file__}


def test_fields_of_what_is_gone_are_gone():
    description = Description.read(document())
    assert set(description.further) == {
        *("", "functions.softmax.launches[1]", "functions.softmax.launches[1].args.x"),
    }
    shorter = Description(functions={"scale": description["scale"]}, further=description.further)
    assert shorter.to_json() == {
        "schema": "2.0",
        "functions": {"scale": GOOD["functions"]["scale"]},
        "x_compiler": "frob 3",
    }


# Building from it


def digest(functions) -> str:
    key = FieldKey("test")
    make_request("m", cuda_sources="__global__ void k() {}", functions=functions).add_to(key)
    return key.hexdigest()


def test_a_description_has_the_key_of_the_mapping_that_it_is():
    functions = {"a": Launch(grid=1, block="n"), "b": Dispatch([Launch(kernel="c")])}
    assert digest(Description(functions=functions)) == digest(functions)
    assert digest(Description(functions=functions, docs={"a": "d"})) != digest(functions)
    exports = read_functions(Description(functions=functions, docs={"a": "d"}))
    assert [export.doc for export in exports] == ["d", ""]


# What is refused


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "it is no JSON: "),
        (b"{", "it is no JSON: "),
        (b"\xff", "it is no JSON: 'utf-8' codec"),
        (b"[]", "wanted an object with functions, got a list"),
        (b"3", "wanted an object with functions, got an int"),
        (b"[" * 100_000, "nested more than 64 deep"),
        (b'{"x":' * 100 + b"1" + b"}" * 100, "it is nested more than 64 deep"),
        (b'{"functions": {}, "functions": {}}', "an object has the key 'functions' twice"),
        (b'{"functions": {"k": {"args": {"n": NaN}}}}', 'NaN is no JSON: write {"Float": "nan"}'),
        (b'{"functions": {"k": {"args": {"n": 1e999}}}}', "1e999 is beyond a float64: write"),
        (b'{"x": 1' + b"0" * 5000 + b"}", "is an int of 5001 digits"),
    ],
)
def test_text_that_could_be_read_in_two_ways_is_refused(text: bytes, message: str):
    with pytest.raises((TypeError, ValueError), match="description: ") as caught:
        Description.read(text)
    assert message in str(caught.value)


@pytest.mark.parametrize("deep", range(44, 64))
def test_what_is_read_is_not_too_deep_to_be_read_again(deep: int):
    nested = json.loads('{"x": ' * deep + "1" + "}" * deep)
    for table in ({"k": nested}, {"k": [nested]}, {"k": {"instances": [nested]}}):
        try:
            description = Description.read(table)
        except ValueError:
            continue
        assert Description.read(description.to_json()) == description


HUGE = {"functions": {"k": {"block": 1 << 2000}}}
LOOP: dict = {}
LOOP["x"] = [LOOP, LOOP]


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (3, TypeError, "Description.read takes a path, bytes or a mapping, got int"),
        ({"functions": []}, TypeError, "functions: wanted an object, got a list"),
        ({"functions": {"a b": {}}}, ValueError, "functions: 'a b' is not a name that C can have"),
        ({"functions": {"k": 3}}, TypeError, "functions.k: wanted a list of launches, or an obj"),
        ({"functions": {"k": {"doc": 3}}}, TypeError, "functions.k.doc: wanted a str, got an int"),
        ({"functions": {"k": {"block": 0}}}, ValueError, "functions.k: Launch: block.x is 0"),
        ({"functions": {"k": Launch()}}, TypeError, "functions.k: wanted JSON values, got Launch"),
        ({"functions": {"k": {3: 4}}}, TypeError, "functions.k: a key is a str, got int"),
        (HUGE, ValueError, "functions.k.block: an int of 2001 bits is no launch's"),
        ({"x": {"y": math.nan}}, ValueError, 'x.y: JSON has no nan: write {"Float": "nan"}'),
        ({"x": {"y": b"\0"}}, TypeError, 'wanted JSON values, got bytes: write {"Bytes": "hex'),
        (LOOP, ValueError, "it is nested more than 64 deep"),
        ({"functionz": 3}, TypeError, "functions.functionz: wanted a list of launches"),
        ({"functions": {"k": {"doc": "\ud800"}}}, ValueError, "functions.k.doc holds '\\ud800'"),
        ({"func_info": {}, "tvm_version": "1"}, ValueError, "table of TVM's: tvmffi_cubin.tvm re"),
        (
            {"functions": {"k": {"image": "k.cubin"}}},
            ValueError,
            "functions.k.image: wanted an image's name, got 'k.cubin'; where it is, a description",
        ),
        (
            {"schema": "2.9", "functions": {"k": {"args": {"x": {"New": {}}}}}},
            ValueError,
            "got an object with the key 'New' (its schema is 2.9, newer than 2.0: an upgrade",
        ),
        ({"images": []}, TypeError, "images: wanted a mapping, got list"),
        ({"images": {"k": "k.cubin"}}, TypeError, 'images.k: wanted an object such as {"path": '),
        ({"images": {"a-b": {}}}, ValueError, "images: 'a-b' is not a name that C can have"),
        ({"images": {"k": {"path": 3}}}, TypeError, "images.k.path: wanted a str, got int"),
        ({"images": {"k": {"file": ""}}}, ValueError, "images.k.file: it is empty"),
        (
            {"images": {"k": {"path": "a", "base64": "b"}}},
            ValueError,
            "images.k: an image is in one place, got path and base64",
        ),
        ({"images": {"k": {"signatures": {"k": 3}}}}, TypeError, "images.k.signatures: wanted an"),
        ({"functions": {}, "name": 3}, TypeError, "name is a str, got int"),
        ({"functions": {}, "name": "a/b"}, ValueError, "name 'a/b' cannot be a file's name"),
        ({"functions": {}, "arch": {}}, TypeError, "arch: wanted a str such as 'sm_90a'"),
        ({"functions": {}, "arch": [90]}, TypeError, "arch: wanted a str such as 'sm_90a'"),
        ({"functions": {}, "arch": []}, ValueError, "arch: it is empty; leave it out"),
        ({"functions": {}, "arch": ""}, ValueError, "arch: it is empty; leave it out"),
        ({"functions": {}, "ptx": "drop"}, ValueError, "ptx: wanted 'assemble' or 'keep', got 'd"),
        ({"functions": {}, "ptx": []}, ValueError, "ptx: wanted 'assemble' or 'keep', got"),
        ({"functions": {}, "bound_params": "a"}, TypeError, "bound_params: wanted a list, got a"),
        ({"functions": {}, "bound_params": [3]}, TypeError, "bound_params holds str and Bound"),
        ({"functions": {}, "bound_params": [{"Bound": {}}]}, ValueError, "a Bound there has a nam"),
    ],
)
def test_what_is_no_description_is_refused_by_its_place(value, error, text: str):
    with pytest.raises(error) as caught:
        Description.read(value)
    assert type(caught.value) is error
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("fields", "error", "text"),
    [
        ({"functions": 3}, TypeError, "functions: wanted a mapping, got int"),
        ({"functions": {"k": {}}}, TypeError, "functions.k: wanted a Launch, a list of them or a"),
        ({"functions": {"k": []}}, ValueError, "functions.k: the list of launches is empty"),
        ({"docs": {"k": "d"}}, ValueError, "docs: wanted a function's name and a str, got 'k'"),
        ({"further": 3}, TypeError, "further: wanted a mapping, got int"),
        ({"further": {"": 3}}, TypeError, r"further\[''\]: wanted a mapping, got int"),
        ({"further": {"": {"x": b""}}}, TypeError, r"further\[''\].x: wanted JSON values, got byt"),
    ],
)
def test_one_that_is_made_in_python_is_checked_too(fields, error, text: str):
    with pytest.raises(error, match=text):
        Description(**fields)


def test_an_image_without_a_name_cannot_be_written():
    description = Description(functions={"k": Launch(image=b"\x7fELF")})
    with pytest.raises(TypeError, match=r"functions.k.launches\[0\].image: an image has a name"):
        description.to_json()


def test_a_file_that_is_not_there_and_one_that_is_no_description_are_named(tmp_path: Path):
    with pytest.raises(FileNotFoundError):
        Description.read(tmp_path / "none.json")
    path = tmp_path / "odd.json"
    path.write_text('{"functions": {"k": {"block": 0}}}')
    with pytest.raises(ValueError, match="odd.json: functions.k: Launch: block.x is 0"):
        Description.read(path)


# Anything at all


KEYS = st.text(max_size=3) | st.sampled_from(
    [
        *("schema", "name", "bound_params", "functions", "images", "launches", "instances", "doc"),
        *("k", "args", "attributes", "grid", "block", "cluster", "box_dim", "path", "14"),
        *("TensorMap", "Scratch", "Bound", "Bytes", "Float", "\ud800"),
    ]
)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["n", "2.0", "nan", "((((n", "x.shape[0]", "a // 0", "k", "\ud800", "1" * 99])
    | st.text(max_size=5)
)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=12,
)


def kernel(name: str) -> KernelSignature:
    params = parse_params("const float* x, int rows, int columns")
    slots = tuple(Parameter(i, 8 * i, p.type.size or 0) for i, p in enumerate(params))
    own = Kernel(name, slots, 16, 0, 0, 1024)
    return KernelSignature(name, name, name, name, params, True, 1, own)


IMAGES = [Image("k", Cubin(b"", "sm_90"), tuple(map(kernel, ["stats", "apply", "wide"])))]


def use(source) -> None:
    """Read a description and bind it to kernels; only typed errors may come of it."""
    try:
        description = Description.read(source)
    except (TypeError, ValueError):
        return
    again = description.to_json()
    assert Description.read(again) == description
    assert Description.read(again).to_json() == again
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            resolve(read_functions(description), IMAGES, host_functions=(), has_host=False)
        except (TypeError, ValueError):
            return


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(KEYS, ANYTHING, max_size=4))
def test_any_json_is_a_description_or_a_typed_error(value):
    use(json.dumps(value).encode())


def objects(value) -> list:
    """Return every list and object within a value."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    own = [value] if isinstance(value, dict | list) else []
    return own + [x for item in inner for x in objects(item)]


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_a_description_with_anything_changed_is_one_or_a_typed_error(data):
    value = document(schema="2.0", bound_params=[])
    for _ in range(data.draw(st.integers(1, 3))):
        inside = data.draw(st.sampled_from([x for x in objects(value) if x]))
        where = data.draw(st.sampled_from([*inside] if isinstance(inside, dict) else [0]))
        if data.draw(st.booleans()):
            inside[where] = data.draw(ANYTHING)
        elif isinstance(inside, dict):
            inside[data.draw(KEYS)] = inside.pop(where)
    use(value)
    if isinstance(value.get("functions"), dict) and isinstance(value.get("images"), dict):
        use(without_facts(value))


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_text_with_bytes_changed_is_read_or_a_typed_error(data):
    text = bytearray(json.dumps(GOOD).encode())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text) - 1))
        text[at : at + data.draw(st.integers(0, 9))] = data.draw(st.binary(max_size=3))
    use(bytes(text))


@pytest.mark.parametrize(
    "expression", ["(" * 10_000 + "n", "-" * 10_000 + "n", "n" + "+n" * 10_000, "n" * 100_000]
)
def test_a_long_expression_is_a_typed_error_or_one(expression: str):
    use({"functions": {"k": {"kernel": "stats", "grid": expression, "block": 1}}})
    use({"functions": {"k": {"kernel": "stats", "when": f"{expression} == 0"}}})
    use({"functions": {"k": {"kernel": "stats", "params": f"float{expression} x"}}})
