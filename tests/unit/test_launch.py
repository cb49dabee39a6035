"""`Launch`: accepted in every form that it documents, refused by field name otherwise."""

import dataclasses
import enum
import itertools
import pickle
from pathlib import Path, PurePosixPath

import numpy as np
import pytest

from tvmffi_cubin import Cubin, Launch


def test_a_launch_without_a_shape_leaves_it_to_the_caller():
    launch = Launch()
    assert not launch.is_shaped
    assert list(launch.figures()) == [("dynamic_smem_bytes", 0)]


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (4, (4,)),
        ("n", ("n",)),
        ((4, "n"), (4, "n")),
        ([1, 2, 3], (1, 2, 3)),
        (0, (0,)),
        (2**32 - 1, (2**32 - 1,)),
    ],
)
def test_a_grid_becomes_a_tuple(given, kept):
    assert Launch(grid=given, block=1).grid == kept


def test_figures_are_named_by_axis():
    launch = Launch(grid=("n", 2), block=(32, 4, 2), dynamic_smem_bytes="4 * n")
    assert dict(launch.figures()) == {
        "grid.x": "n",
        "grid.y": 2,
        "block.x": 32,
        "block.y": 4,
        "block.z": 2,
        "dynamic_smem_bytes": "4 * n",
    }


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"grid": 1}, ValueError, "a grid goes together with a block"),
        ({"block": 1, "meta": [("B", 1)]}, TypeError, "meta maps names to constants, got list"),
        ({"block": 1, "meta": 3}, TypeError, "meta maps names to constants, got int"),
        ({"block": 1, "blocks_per_program": "n"}, TypeError, "blocks_per_program is an int, got"),
        ({"block": 1, "blocks_per_program": 0}, ValueError, "blocks_per_program is 0, wanted 1"),
        ({"grid": 1, "block": 1, "meta": {"B": 1}}, ValueError, "are for a grid that callers give"),
        ({"blocks_per_program": 2}, ValueError, "are for a grid that callers give"),
        ({"grid": (), "block": 1}, ValueError, "grid has 1 to 3 dimensions, got 0"),
        ({"grid": (1, 2, 3, 4), "block": 1}, ValueError, "grid has 1 to 3 dimensions, got 4"),
        ({"grid": -1, "block": 1}, ValueError, "grid.x is -1, wanted 0 to 4294967295"),
        ({"grid": (1, 2**32), "block": 1}, ValueError, "grid.y is 4294967296, wanted 0 to"),
        ({"grid": 1, "block": (1, 0)}, ValueError, "block.y is 0, wanted 1 to"),
        ({"grid": 1, "block": 1025}, ValueError, "block.x is 1025, wanted 1 to 1024"),
        ({"grid": True, "block": 1}, TypeError, "grid.x is an int or an expression, got bool"),
        ({"grid": 1.0, "block": 1}, TypeError, "up to 3 of them, got float"),
        ({"grid": (1.0,), "block": 1}, TypeError, "grid.x is an int or an expression, got float"),
        ({"grid": 1, "block": b"x"}, TypeError, "block is an int, an expression"),
        ({"grid": "n /2", "block": 1}, ValueError, "grid.x: wanted one of"),
        ({"grid": "n /2", "block": 1}, ValueError, r"\n  n /2\n    \^"),
        ({"grid": 1, "block": ""}, ValueError, "block.x: an expression is empty"),
        ({"dynamic_smem_bytes": -1}, ValueError, "dynamic_smem_bytes is -1"),
        ({"dynamic_smem_bytes": None}, TypeError, "dynamic_smem_bytes is an int"),
        ({"dynamic_smem_bytes": "n**2"}, ValueError, "dynamic_smem_bytes: wanted one of"),
        ({"args": [("n", 1)]}, TypeError, "args maps parameter names to values, got list"),
        ({"args": {"n m": 1}}, ValueError, "args: 'n m' is not a parameter's name"),
        ({"args": {1: 1}}, ValueError, "args: 1 is not a parameter's name"),
        ({"args": {"n": [1]}}, TypeError, r"args\['n'\] is an expression, .* got list"),
        ({"args": {"n": "1 +"}}, ValueError, r"args\['n'\]: not an expression"),
        ({"params": 3}, TypeError, "params is a str, got int"),
        ({"kernel": b"k"}, TypeError, "kernel is a str, got bytes"),
        ({"kernel": ""}, ValueError, "kernel is empty"),
        ({"strided": 3}, TypeError, "strided is a sequence of names, got int"),
        ({"strided": ["x y"]}, ValueError, "strided: 'x y' is not a parameter's name"),
        ({"strided": [3]}, ValueError, "strided: 3 is not a parameter's name"),
        ({"stream": -1}, ValueError, "stream is -1, wanted 0 to 9223372036854775807"),
        ({"stream": 1.0}, TypeError, "stream is an int or an expression, got float"),
        ({"stream": ""}, ValueError, "stream: an expression is empty"),
        ({"device": True}, TypeError, "device is an int or an expression, got bool"),
        ({"device": 2**31}, ValueError, "device is 2147483648, wanted 0 to 2147483647"),
        ({"device": "d ="}, ValueError, "device: not an expression"),
        ({"when": ""}, ValueError, "when: an expression is empty"),
        ({"when": True}, TypeError, "when: an expression is a str, got bool"),
        ({"when": "n % 4"}, ValueError, "when: wanted a condition"),
    ],
)
def test_a_wrong_field_is_refused_by_name(options, error, text):
    with pytest.raises(error, match=text) as caught:
        Launch(**options)
    assert str(caught.value).startswith("Launch: ")


@pytest.mark.parametrize("value", [1, -(2**70), 1.5, True, b"\0", None, "n", "x.numel * 2"])
def test_constants_expressions_and_names_are_args(value):
    assert Launch(args={"n": value}).args == {"n": value}


def test_a_launch_is_a_value():
    options = {"grid": ("n", 1), "block": [32], "args": {"n": "x.numel"}, "strided": "x"}
    one, same = Launch(**options), Launch(**options)
    assert one == same
    assert hash(one) == hash(same)
    assert pickle.loads(pickle.dumps(one)) == one
    assert one != dataclasses.replace(one, args={"n": 3})
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.grid = 1


def test_later_changes_of_what_was_given_do_not_reach_a_launch():
    args, strided, grid = {"n": 1}, ["x"], [1, 2]
    launch = Launch(grid=grid, block=1, args=args, strided=strided)
    args["n"], grid[0] = 2, 9
    strided.append("y")
    assert (launch.args, launch.strided, launch.grid) == ({"n": 1}, ("x",), (1, 2))


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
        cooperative=np.bool_(True),
        cluster_scheduling_policy=Text.N,
    )
    assert launch == Launch(
        grid=(4, 8, "n"),
        block=32,
        dynamic_smem_bytes=4,
        cluster=2,
        priority=4,
        cooperative=True,
        cluster_scheduling_policy="n",
    )
    values = (*launch.grid, *launch.block, *launch.cluster, launch.priority, launch.cooperative)
    assert {type(value) for value in values} == {int, str, bool}


def test_attributes_are_kept_by_their_numbers():
    launch = Launch(cluster=2, cluster_scheduling_policy="spread", mem_sync_domain="remote")
    assert (launch.cluster, launch.cluster_scheduling_policy, launch.mem_sync_domain) == (
        (2,),
        1,
        1,
    )


def test_an_image_is_a_name_bytes_a_cubin_or_a_path():
    cubin = Cubin(b"x", "sm_90", lowered_names={"a": "b"}, signatures={"b": "int n"})
    for given, kept in (
        ("name", "name"),
        (b"x", b"x"),
        (bytearray(b"x"), b"x"),
        (memoryview(b"x"), b"x"),
        (cubin, cubin),
        (Path("k.cubin"), Path("k.cubin")),
        (PurePosixPath("k.cubin"), Path("k.cubin")),
    ):
        launch = Launch(image=given)
        assert launch.image == kept
        assert hash(launch) == hash(Launch(image=kept))
        assert dataclasses.replace(launch, kernel="k").image == kept
        assert pickle.loads(pickle.dumps(launch)) == launch


@pytest.mark.parametrize(
    ("image", "error", "text"),
    [
        (3, TypeError, "image is a name, bytes, a Cubin or a pathlib.Path, got int 3"),
        ([b"x"], TypeError, "got list"),
        ("k.cubin", ValueError, r"'k.cubin' is no image's name; .* pathlib.Path\('k.cubin'\)"),
        ("", ValueError, "image '' is no image's name"),
        (".version 8.0\n", ValueError, "image is text and no name: give it as bytes"),
    ],
)
def test_what_cannot_be_an_image_is_refused(image, error, text):
    with pytest.raises(error, match=text):
        Launch(image=image)


def test_an_image_is_not_printed():
    assert len(repr(Launch(image=bytes(10_000)))) < 1000


@pytest.mark.parametrize("grid", [{2, 4}, itertools.count(), {1: 2}])
def test_dimensions_are_a_sequence(grid):
    with pytest.raises(TypeError, match="an int, an expression or up to 3 of them"):
        Launch(grid=grid, block=1)
