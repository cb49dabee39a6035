"""TVM's device-function tables: every spelling in JSON, every binary version, and errors."""

from __future__ import annotations

import json

import pytest
from tvm_kit import module_bytes, number, table_bytes, table_json, text

from tvmffi_cubin.formats.tvm import FunctionInfo, FunctionTable, read_module, read_table

AXIS_TAGS = ("blockIdx.x", "threadIdx.x")
PDL, COOPERATIVE = "tir.use_programtic_dependent_launch", "tir.use_cooperative_launch"
SMEM = "tir.use_dyn_shared_memory"


def add(*tags: str, **fields) -> FunctionInfo:
    return FunctionInfo("add", ("handle", "float32", "int32"), tags, **fields)


NEWEST = add(
    arg_extra_tags=(1, 0, 0),
    cuda_launch_fields=("grid.x", "block.x"),
)
TAGGED = add(PDL, *AXIS_TAGS, SMEM, arg_extra_tags=(1, 0, 0))
OTHER = FunctionInfo("é", ("int64", "uint32", "bool", "float8_e4m3fn", "float32x4"), (COOPERATIVE,))


@pytest.mark.parametrize(
    ("version", "info"), [(2, NEWEST), (2, TAGGED), (1, TAGGED), (0, add(PDL, *AXIS_TAGS))]
)
def test_every_binary_version_is_read(version, info):
    assert read_table(table_bytes([info, OTHER], version)) == {"add": info, "é": OTHER}


ROW = {"name": "add", "arg_types": ["handle", "float32", "int32"]}
TAGS = [*AXIS_TAGS]


def row(**fields) -> dict:
    return {"add": {**ROW, **fields}}


@pytest.mark.parametrize(
    ("said", "info"),
    [
        (
            row(
                launch_param_tags=[],
                arg_extra_tags=[1, 0, 0],
                cuda_launch_fields=["grid.x", "block.x"],
            ),
            NEWEST,
        ),
        (row(launch_param_tags=[PDL, *TAGS, SMEM], arg_extra_tags=[1, 0, 0]), TAGGED),
        (row(launch_param_tags=TAGS, name="", owner={"team": 1}), add(*AXIS_TAGS)),
        (row(thread_axis_tags=TAGS, use_dyn_shared_memory=True), add(*AXIS_TAGS, SMEM)),
        (
            row(
                thread_axis_tags=TAGS,
                use_dyn_shared_memory=True,
                use_programmatic_dependent_launch=False,
                use_cooperative_groups=1,
            ),
            add(*AXIS_TAGS, "tir.use_cooperative_groups", SMEM),
        ),
    ],
)
def test_every_spelling_in_json_is_read(said, info):
    whole = {"tvm_version": "0.1.0", "func_info": said}
    for source in (said, whole, json.dumps(whole), json.dumps(said).encode()):
        assert read_table(source) == {"add": info}


def test_a_name_that_the_fields_leave_empty_is_the_table_s():
    assert read_table(table_bytes([add(*AXIS_TAGS)], 0, named=False)) == {"add": add(*AXIS_TAGS)}


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (row(launch_param_tags=["blokIdx.x"]), r"function 'add': a Launch has no 'blokIdx\.x'"),
        (row(cuda_launch_fields=["shared_memory_mode"]), "a Launch has no 'shared_memory_mode'"),
        (row(arg_types=["flot32"]), r"arg_types\[0\] is 'flot32', which no kernel's parameter"),
        (row(arg_types=["float32x4"]), r"arg_types\[0\] is 'float32x4', which no kernel's"),
        (row(arg_types="handle"), "function 'add': arg_types is a list, got 'handle'"),
        ({"add": {"name": "add"}}, "it is no table of TVM's"),
        ({"func_info": 3}, "it is no table of TVM's"),
        ('{"func_info": ', "table: it is no JSON: Expecting"),
        (b"\xff{}", "it is no JSON: 'utf-8' codec"),
        (b"\0" * 9, "1 bytes are left, at byte 8"),
        (number(2**60), "at byte 8"),
        (table_bytes([TAGGED], 1)[:-5], "are left, at byte"),
    ],
)
def test_what_is_wrong_with_a_table_is_told(said, message):
    with pytest.raises(ValueError, match=message):
        read_table(said).launches()


@pytest.mark.parametrize(
    ("data", "source"),
    [
        (module_bytes(b"\x7fELF", [NEWEST]), {"cuda": "// x"}),
        (module_bytes(b"\x7fELF", [NEWEST], newest=False), {}),
        (module_bytes(b"\x7fELF", [NEWEST], newest=False) + text("// x"), {"cuda": "// x"}),
    ],
)
def test_a_whole_module_is_read(data, source, tmp_path):
    module = read_module(data)
    assert (module.format, module.code, module.source) == ("cubin", b"\x7fELF", source)
    assert module.table["add"].arg_extra_tags == (1, 0, 0)
    (tmp_path / "k.bin").write_bytes(data)
    assert read_module(tmp_path / "k.bin") == module._replace(name="k")
    with pytest.raises(ValueError, match=r"the module: .* at byte \d+"):
        read_module(data[:-3])


def test_what_is_no_module_is_told_with_what_one_is():
    for data in (b"\x7fELF" + bytes(60), json.dumps(table_json(TAGGED)).encode()):
        with pytest.raises(ValueError, match=r"give the image's path: k\.cubin, with k\.tvm_meta"):
            read_module(data)


def test_a_table_beside_its_cubin_is_found(tmp_path):
    (tmp_path / "k.cubin").write_bytes(b"code")
    with pytest.raises(FileNotFoundError, match=r"k\.tvm_meta\.json"):
        read_module(tmp_path / "k.cubin")
    (tmp_path / "k.tvm_meta.json").write_text(json.dumps(table_json(TAGGED)))
    module = read_module(str(tmp_path / "k.cubin"))
    assert (module.name, module.format, module.code) == ("k", "cubin", b"code")
    assert module.table == FunctionTable([TAGGED])
