"""TVM's device-function tables: every spelling in JSON, every binary version, and errors."""

from __future__ import annotations

import json

import pytest
from tvm_kit import FunctionInfo, module_bytes, table_bytes, text

from tvmffi_cubin.formats.tvm import read_table
from tvmffi_cubin.formats.tvm_table import make_launch, read_binary

TAGS = ("blockIdx.x", "threadIdx.x")
PDL, COOPERATIVE = "tir.use_programtic_dependent_launch", "tir.use_cooperative_launch"
SMEM = "tir.use_dyn_shared_memory"
ARGS = ("handle", "float32", "int32")


def add(*tags: str, **fields) -> FunctionInfo:
    return FunctionInfo("add", ARGS, tags, **fields)


NEWEST = add(arg_extra_tags=(1, 0, 0), cuda_launch_fields=("grid.x", "block.x"))
TAGGED = add(PDL, *TAGS, SMEM, arg_extra_tags=(1, 0, 0))
OTHER = FunctionInfo("é", ("int64", "uint32", "bool", "float64"), (COOPERATIVE,))


@pytest.mark.parametrize(
    ("version", "info", "named"),
    [(2, NEWEST, 1), (2, TAGGED, 1), (1, TAGGED, 1), (0, add(PDL, *TAGS), 1), (0, add(*TAGS), 0)],
)
def test_every_binary_version_is_read(version, info, named):
    data = table_bytes([info, OTHER], version, named=bool(named))
    assert read_table(data) == {x.name: make_launch(*x) for x in (info, OTHER)}


@pytest.mark.parametrize(
    ("fields", "info"),
    [
        ({"arg_extra_tags": [1, 0, 0], "cuda_launch_fields": ["grid.x", "block.x"]}, NEWEST),
        ({"launch_param_tags": [PDL, *TAGS, SMEM], "arg_extra_tags": [1, 0, 0]}, TAGGED),
        ({"launch_param_tags": list(TAGS), "name": "", "owner": {"team": 1}}, add(*TAGS)),
    ],
)
def test_every_spelling_in_json_is_read(fields, info):
    said = {"add": {"name": "add", "arg_types": [*ARGS], **fields}}
    whole = {"tvm_version": "0.1.0", "func_info": said}
    for source in (said, whole, json.dumps(whole), json.dumps(said).encode()):
        assert read_table(source) == {"add": make_launch(*info)}


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"launch_param_tags": ["blokIdx.x"]}, r"'add': Launch does not support 'blokIdx\.x'"),
        ({"arg_types": ["float32x4"]}, r"unknown type 'float32x4' in arg_types\[0\]"),
        ({"arg_type": []}, "table: not one of TVM's tables"),
        ('{"func_info": [1]}', "table: not one of TVM's tables"),
        (table_bytes([TAGGED], 1)[:-5], "damaged, or not in one of TVM's binary formats"),
    ],
)
def test_what_is_wrong_with_a_table_is_told(said, message):
    if isinstance(said, dict):
        said = {"add": {"arg_types": [], **said} if "arg_type" not in said else said}
    with pytest.raises(ValueError, match=message):
        read_table(said)


@pytest.mark.parametrize(
    ("data", "info"),
    [
        (module_bytes(b"\x7fELF", [NEWEST]), NEWEST),
        (module_bytes(b"\x7fELF", [TAGGED], newest=False) + text("// x"), TAGGED),
    ],
)
def test_a_whole_module_is_read(data, info):
    assert read_binary(data) == (b"\x7fELF", {"add": make_launch(*info)})
