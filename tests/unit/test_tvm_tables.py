"""TVM's device-function tables: every spelling in JSON, every binary version, and errors."""

from __future__ import annotations

import json

import pytest
from tvm_kit import module_bytes, table_bytes, text

from tvmffi_cubin.formats.tvm import FunctionInfo, read_module, read_table

TAGS = ("blockIdx.x", "threadIdx.x")
PDL, COOPERATIVE = "tir.use_programtic_dependent_launch", "tir.use_cooperative_launch"
SMEM = "tir.use_dyn_shared_memory"
ARGS = ("handle", "float32", "int32")


def add(*tags: str, **fields) -> FunctionInfo:
    return FunctionInfo("add", ARGS, tags, **fields)


NEWEST = add(arg_extra_tags=(1, 0, 0), cuda_launch_fields=("grid.x", "block.x"))
TAGGED = add(PDL, *TAGS, SMEM, arg_extra_tags=(1, 0, 0))
OTHER = FunctionInfo("é", ("int64", "uint32", "bool", "float8_e4m3fn", "float32x4"), (COOPERATIVE,))


@pytest.mark.parametrize(
    ("version", "info", "named"),
    [(2, NEWEST, 1), (2, TAGGED, 1), (1, TAGGED, 1), (0, add(PDL, *TAGS), 1), (0, add(*TAGS), 0)],
)
def test_every_binary_version_is_read(version, info, named):
    data = table_bytes([info, OTHER], version, named=bool(named))
    assert read_table(data) == {"add": info, "é": OTHER}


@pytest.mark.parametrize(
    ("fields", "info"),
    [
        (
            {"arg_extra_tags": [1, 0, 0], "cuda_launch_fields": ["grid.x", "block.x"]},
            NEWEST,
        ),
        ({"launch_param_tags": [PDL, *TAGS, SMEM], "arg_extra_tags": [1, 0, 0]}, TAGGED),
        ({"launch_param_tags": list(TAGS), "name": "", "owner": {"team": 1}}, add(*TAGS)),
        (
            {
                "thread_axis_tags": list(TAGS),
                "use_dyn_shared_memory": True,
                "use_programmatic_dependent_launch": False,
                "use_cooperative_groups": 1,
            },
            add(*TAGS, "tir.use_cooperative_groups", SMEM),
        ),
    ],
)
def test_every_spelling_in_json_is_read(fields, info):
    said = {"add": {"name": "add", "arg_types": [*ARGS], **fields}}
    whole = {"tvm_version": "0.1.0", "func_info": said}
    for source in (said, whole, json.dumps(whole), json.dumps(said).encode()):
        assert read_table(source) == {"add": info}


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"launch_param_tags": ["blokIdx.x"]}, r"function 'add': a Launch has no 'blokIdx\.x'"),
        ({"arg_types": ["float32x4"]}, r"arg_types\[0\] is 'float32x4', which no kernel's"),
        ({"arg_type": []}, "it is no table of TVM's"),
        (table_bytes([TAGGED], 1)[:-5], "are left, at byte"),
    ],
)
def test_what_is_wrong_with_a_table_is_told(said, message):
    if isinstance(said, dict):
        said = {"add": {"arg_types": [], **said} if "arg_type" not in said else said}
    with pytest.raises(ValueError, match=message):
        read_table(said).launches()


@pytest.mark.parametrize(
    ("data", "source"),
    [
        (module_bytes(b"\x7fELF", [NEWEST]), {"cuda": "// x"}),
        (module_bytes(b"\x7fELF", [NEWEST], newest=False) + text("// x"), {"cuda": "// x"}),
    ],
)
def test_a_whole_module_is_read(data, source, tmp_path):
    module = read_module(data)
    assert (module.format, module.code, module.source) == ("cubin", b"\x7fELF", source)
    assert module.table["add"].arg_extra_tags == (1, 0, 0)
    (tmp_path / "k.bin").write_bytes(data)
    assert read_module(tmp_path / "k.bin") == module._replace(name="k")
    with pytest.raises(ValueError, match=r"the module: .* at byte \d+\n.*give the image's path"):
        read_module(data[:-3])
