"""TVM's device-function tables: every layout, JSON and binary, read, written and refused."""

from __future__ import annotations

import contextlib
import json
import struct
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tvmffi_cubin import tvm
from tvmffi_cubin.tvm import CudaModule, FunctionInfo, FunctionTable, read_module, read_table

LAYOUTS = ("v2", "v1", "v0", "thread_axis", "flag", "flags", "v1_flags")


# What TVM's serializer writes, by hand: little-endian, lengths and counts of 8 bytes.


def number(value: int) -> bytes:
    return struct.pack("<Q", value)


def text(value: str | bytes) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return number(len(data)) + data


def several(*items: bytes) -> bytes:
    return number(len(items)) + b"".join(items)


HANDLE, INT32, FLOAT32 = b"\3\x40\1\0", b"\0\x20\1\0", b"\2\x20\1\0"
TYPES = several(HANDLE, FLOAT32, INT32)
AXES = (text("blockIdx.x"), text("threadIdx.x"))
EXTRA = several(*[struct.pack("<i", x) for x in (1, 0, 0)])
MARKER = text("__tvm_function_info_v2__")
FIELDS = several(text("grid.x"), text("block.x"))
ATTRIBUTES = several(text("max_registers") + struct.pack("<q", -1))


def one(*parts: bytes) -> bytes:
    return several(text("add") + b"".join(parts))


AXIS_TAGS = ("blockIdx.x", "threadIdx.x")
PDL, COOPERATIVE = "tir.use_programtic_dependent_launch", "tir.use_cooperative_launch"
SMEM = "tir.use_dyn_shared_memory"


def add(*tags: str, **fields) -> FunctionInfo:
    return FunctionInfo("add", ("handle", "float32", "int32"), tags, **fields)


BINARY = {
    "v2": (
        one(MARKER, text("add"), TYPES, several(), EXTRA, FIELDS, ATTRIBUTES),
        add(
            arg_extra_tags=(1, 0, 0),
            cuda_launch_fields=("grid.x", "block.x"),
            cuda_kernel_attrs={"max_registers": -1},
        ),
    ),
    "v1": (
        one(text("add"), TYPES, several(text(PDL), *AXES, text(SMEM)), EXTRA),
        add(PDL, *AXIS_TAGS, SMEM, arg_extra_tags=(1, 0, 0)),
    ),
    "v0": (one(text("add"), TYPES, several(*AXES)), add(*AXIS_TAGS)),
    "flag": (one(text("add"), TYPES, several(*AXES), b"\1"), add(*AXIS_TAGS, SMEM)),
    "flags": (
        one(text("add"), TYPES, several(*AXES), b"\1\0\1"),
        add(COOPERATIVE, *AXIS_TAGS, SMEM),
    ),
    "v1_flags": (
        one(text("add"), TYPES, several(*AXES), EXTRA, b"\1\0"),
        add(PDL, *AXIS_TAGS, arg_extra_tags=(1, 0, 0)),
    ),
}
ROW = {"name": "add", "arg_types": ["handle", "float32", "int32"]}
TAGS = [*AXIS_TAGS]
JSON = {
    "v2": (
        {
            **ROW,
            "launch_param_tags": [],
            "arg_extra_tags": [1, 0, 0],
            "cuda_launch_fields": ["grid.x", "block.x"],
            "cuda_kernel_attrs": {"max_registers": -1},
        },
        BINARY["v2"][1],
    ),
    "v1": (
        {**ROW, "launch_param_tags": [PDL, *TAGS, SMEM], "arg_extra_tags": [1, 0, 0]},
        BINARY["v1"][1],
    ),
    "v0": ({**ROW, "launch_param_tags": TAGS}, add(*AXIS_TAGS)),
    "thread_axis": ({**ROW, "thread_axis_tags": TAGS}, add(*AXIS_TAGS)),
    "flag": (
        {**ROW, "thread_axis_tags": TAGS, "use_dyn_shared_memory": True},
        add(*AXIS_TAGS, SMEM),
    ),
    "flags": (
        {
            **ROW,
            "thread_axis_tags": TAGS,
            "use_dyn_shared_memory": True,
            "use_programmatic_dependent_launch": False,
            "use_cooperative_launch": True,
        },
        add(COOPERATIVE, *AXIS_TAGS, SMEM),
    ),
}


@pytest.mark.parametrize("layout", BINARY)
def test_every_binary_layout_is_read_and_written_back_to_the_byte(layout):
    data, info = BINARY[layout]
    table = read_table(data)
    assert (table, table.layout) == ({"add": info}, layout)
    assert table.to_bytes() == data


@pytest.mark.parametrize("layout", JSON)
def test_every_json_layout_is_read_and_written_back(layout):
    row, info = JSON[layout]
    said = {"tvm_version": "0.1.0", "func_info": {"add": row}}
    table = read_table(said)
    assert (table, table.layout) == ({"add": info}, layout)
    assert table.to_json() == said
    assert list(table.to_json()["func_info"]["add"]) == list(row)
    assert read_table({"add": row}) == read_table(json.dumps(said)) == table


def test_a_function_whose_fields_leave_its_name_empty_has_that_of_the_table():
    # As TVM 0.17 writes it.
    data = one(text(""), TYPES, several(*AXES))
    said = {"tvm_version": "0.1.0", "func_info": {"add": {**JSON["v0"][0], "name": ""}}}
    assert read_table(data) == read_table(said) == {"add": add(*AXIS_TAGS)}
    assert read_table(data).to_bytes() == data
    assert read_table(said).to_json() == said


def test_what_older_tables_lack_is_off():
    plain = {**ROW, "launch_param_tags": TAGS}
    for data in (BINARY["v0"][0], json.dumps({"add": plain}).encode()):
        launch = read_table(data).launches()["add"]
        assert launch.programmatic_dependent_launch is launch.cooperative is False
        assert (launch.cluster, launch.dynamic_smem_bytes, launch.stream) == (None, 0, None)
    off = {**ROW, "thread_axis_tags": TAGS, "use_cooperative_groups": 0}
    assert read_table({"add": off}) == {"add": add(*AXIS_TAGS)}


FULL = FunctionTable(
    [
        add(*AXIS_TAGS),
        FunctionInfo("scale", ["handle", "float64"], [COOPERATIVE, "blockIdx.y", PDL, SMEM]),
        FunctionInfo("é", ["int64", "uint32", "bool", "bfloat16", "float8_e4m3fn", "float32x4"]),
        FunctionInfo("vectors", ["float8_e4m3fnx4", "float4_e2m1fnx2"]),
    ]
)


@pytest.mark.parametrize("form", ["to_json", "to_bytes"])
@pytest.mark.parametrize("layout", ["v2", "v1", "v0"])
def test_a_table_can_be_written_for_older_tvms(layout, form):
    table = read_table(getattr(FULL, form)(layout))
    assert table == FULL
    assert [*table] == [*FULL]


def test_flags_of_older_layouts_say_the_same_as_tags():
    tags = {"tir.use_dyn_shared_memory", PDL, COOPERATIVE}
    for data in (FULL.to_bytes("flags"), FULL.to_json("flags"), FULL.to_bytes("v1_flags")):
        again = read_table(data)
        assert set(again["scale"].launch_param_tags) == {"blockIdx.y", *tags}
        assert again["add"] == FULL["add"]


@pytest.mark.parametrize(
    ("info", "layout", "said"),
    [
        (add(cuda_launch_fields=["grid.x"]), "v1", "cuda_launch_fields"),
        (add(cuda_kernel_attrs={"max_registers": 9}), "v0", "cuda_kernel_attrs"),
        (add(arg_extra_tags=[0, 1]), "v0", "arg_extra_tags"),
        (add(SMEM), "thread_axis", SMEM),
        (add(COOPERATIVE), "flag", COOPERATIVE),
        (add("clusterCtaIdx.x"), "flag", "clusterCtaIdx.x"),
        (add(), "v3", "none of v2, v1, v0"),
    ],
)
def test_what_a_layout_cannot_say_is_refused(info, layout, said):
    for write in (FunctionTable([info]).to_json, FunctionTable([info]).to_bytes):
        with pytest.raises(ValueError, match=said):
            write(layout)


def test_the_prefix_of_tags_is_that_of_the_tvm_that_reads_them():
    newer = FULL.with_prefix("tirx")
    assert newer["scale"].launch_param_tags[-1] == "tirx.use_dyn_shared_memory"
    assert newer["scale"].launch() == FULL["scale"].launch()
    assert newer.with_prefix("tir") == FULL


def test_fields_that_are_not_known_are_kept():
    row = {**ROW, "launch_param_tags": TAGS, "owner": {"team": [1, None]}}
    said = {"tvm_version": "9.9", "func_info": {"add": row}, "made_by": "x"}
    table = read_table(said)
    assert table.to_json() == said
    with pytest.raises(ValueError, match=r"function 'add': the binary form has no 'owner'"):
        table.to_bytes()


def test_nesting_without_end_is_told(tmp_path):
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ValueError, match="nested too deeply"):
        read_table({"add": {**ROW, "owner": deep}}).write(tmp_path / "k.tvm_meta.json")
    with pytest.raises(ValueError, match="it is nested more than 64 deep"):
        read_table('{"func_info": ' + "[" * 100_000)


def row(**fields) -> dict:
    return {"add": {**ROW, **fields}}


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (row(launch_param_tags=["blokIdx.x"]), r"'blokIdx\.x', which .*; is 'blockIdx\.x' meant"),
        (row(launch_param_tags=["vthread"]), "'vthread', which is not known.*\n.*threadIdx.x|y|z"),
        (row(launch_param_tags=["blockIdx.x", "blockIdx.x"]), "'blockIdx.x' twice"),
        (row(launch_param_tags=["clusterCtaIdx.x", "tir.cluster_dim_x"]), "mean the same"),
        (row(launch_param_tags=[SMEM, "blockIdx.x"]), "before others: its value comes last"),
        (row(launch_param_tags=["blockIdx.x"], cuda_launch_fields=["grid.x"]), "the ones or the"),
        (row(cuda_launch_fields=["gird.x"]), r"'gird\.x', which is not known; is 'grid\.x' meant"),
        (row(cuda_launch_fields=["grid.x", "grid.x"]), "'grid.x' twice"),
        (row(arg_types=["flot32"]), "'flot32' is no type of TVM's"),
        (row(arg_types=["int32x0"]), "code 0, 32 bits and 0 lanes"),
        (row(arg_extra_tags=[0, 2]), r"arg_extra_tags\[1\] is 2, which is unknown"),
        (row(arg_extra_tags=[0] * 4), "4 tags for 3 arg_types"),
        (row(launch_param_tags=[], thread_axis_tags=[]), "its older name"),
        (row(cuda_kernel_attrs={"x": 2**63}), "beyond 64 bits"),
        (
            row(use_programmatic_dependent_launch=1, use_programtic_dependent_launch=0),
            "'use_programtic_dependent_launch' beside another spelling",
        ),
        (row(name="sub"), "function 'add' has another name in its own fields: 'sub'"),
        ({"add": {"name": "add"}}, "function 'add' has no 'arg_types'"),
        ('{"func_info": {"a": 1, "a": 2}}', "an object has the key 'a' twice"),
        ('{"func_info": ', "the table: it is no table's bytes, and it is no JSON: Expecting"),
        (b"\xff{}", "it is no table's bytes, and it is no JSON: 'utf-8' codec"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_table_is_told(said, message):
    with pytest.raises(ValueError, match=message):
        read_table(said)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"add": []}, "function 'add' is an object with name, arg_types"),
        ({"func_info": 3}, "func_info maps names to functions, got int"),
        (row(arg_types="handle"), "function 'add': arg_types is a list, got str"),
        (row(arg_types=[1]), r"function 'add': arg_types\[0\] is a str, got int"),
        (row(arg_extra_tags=[True]), r"arg_extra_tags\[0\] is an int, got bool"),
        (row(use_dyn_shared_memory="yes"), "use_dyn_shared_memory is true or false, got str"),
        (row(cuda_kernel_attrs={"x": 0.5}), r"cuda_kernel_attrs\['x'\] is an int, got float"),
        ("[]\n{", None),
        (7, "a table is a path, JSON text, bytes, or a mapping"),
    ],
)
def test_what_is_of_a_wrong_type_is_told(said, message):
    with pytest.raises(TypeError if message else OSError, match=message):
        read_table(said)


def test_a_table_cut_off_anywhere_is_told_with_the_byte():
    # Nothing marks the end of the older layouts: a table that ends where an older one would is one.
    older = {"v1": [20], "flag": [1], "flags": [2, 3], "v1_flags": [2, 22]}
    for layout, (data, _) in BINARY.items():
        for missing in range(1, len(data) + 1):
            if missing in older.get(layout, ()):
                assert read_table(data[:-missing]).layout != layout
                continue
            with pytest.raises(ValueError, match="^the table: .*(at byte|Expecting value)"):
                read_table(data[:-missing])
        with pytest.raises(ValueError, match="at byte"):
            read_table(data + bytes(9))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (number(2**60), r"the count of functions is 1152921504606846976, .*at byte 0"),
        (several(number(2**63) + bytes(40)), r"a function's name has 9223372036854775808 bytes"),
        (several(text("add") + text("add") + number(2**61) + bytes(9)), "arg_types.* at byte 30"),
        (several(text(b"\xff") + bytes(32)), "a function's name is no UTF-8, at byte 16"),
        (one(text("add"), several(b"\x63\x20\1\0"), several()), "code 99, 32 bits.* at byte 38"),
        (one(text("sub"), TYPES, several()), "calls function 'sub' by the name 'add'"),
        (one(MARKER, text("add"), TYPES, several()), "arg_extra_tags"),
        (several(*[text("add") + text("add") + several() + several()] * 2), "'add' is there twice"),
    ],
)
def test_bytes_that_are_no_table_are_told(data, message):
    with pytest.raises(ValueError, match=message):
        read_table(data)


CODE = text(b"\x7fELF")
V1_MODULE = text("cuda.module.v1") + text("cubin") + BINARY["v2"][0] + CODE
V1_MODULE += several(text("cuda") + text("// x"))
V0_MODULE = text("cubin") + BINARY["v0"][0] + CODE + text("// x")


@pytest.mark.parametrize(
    ("data", "layout", "source"),
    [
        (V1_MODULE, "v1", {"cuda": "// x"}),
        (text("cubin") + BINARY["v1"][0] + CODE, "plain", {}),
        (text("cubin") + BINARY["flag"][0] + CODE, "plain", {}),
        (V0_MODULE, "source", {"cuda": "// x"}),
    ],
)  # fmt: skip
def test_a_whole_module_is_read_and_written_back_to_the_byte(data, layout, source, tmp_path):
    module = read_module(data)
    assert (module.format, module.code, module.layout) == ("cubin", b"\x7fELF", layout)
    assert module.source == source
    assert module.to_bytes() == data
    (tmp_path / "k.bin").write_bytes(data)
    assert read_module(tmp_path / "k.bin") == module
    with pytest.raises(ValueError, match=r"the module: .* at byte \d+"):
        read_module(data[:-3])


def test_what_is_no_module_is_told_with_what_one_is():
    twice = several(*[text("cuda") + text("// x")] * 2)
    with pytest.raises(ValueError, match=r"the source 'cuda' is there twice, at byte \d+"):
        read_module(V1_MODULE[: -len(several(text("cuda") + text("// x")))] + twice)
    for data in (b"\x7fELF" + bytes(60), json.dumps(FULL.to_json()).encode()):
        with pytest.raises(ValueError, match=r"give the image's path: k\.cubin, with k\.tvm_meta"):
            read_module(data)
    table = FunctionTable()
    for fields in ({"source": {"cuda": 1}}, {"source": {1: "// x"}}, {"name": 5}):
        with pytest.raises(TypeError, match="kinds and texts of source, are str, got int"):
            CudaModule("cubin", table, b"", **fields)
    assert hash(CudaModule("cubin", table, b"")) == hash(CudaModule("cubin", table, b""))


def test_a_module_is_written_for_older_tvms():
    module = read_module(V1_MODULE)
    table = FunctionTable([add(*AXIS_TAGS)])
    older = CudaModule("cubin", table, b"code", {"cuda": "// x"})
    again = read_module(older.to_bytes("source", "v0"))
    assert (again.layout, again.table.layout, again.table) == ("source", "v0", table)
    with pytest.raises(ValueError, match="no room for the sources 'cuda'"):
        older.to_bytes("plain", "v0")
    with pytest.raises(ValueError, match="has no cuda_launch_fields"):
        module.to_bytes("plain", "v1")


def test_a_table_beside_its_cubin_is_found(tmp_path):
    (tmp_path / "k.cubin").write_bytes(b"code")
    with pytest.raises(FileNotFoundError, match=r"no table beside .*k\.cubin.*k\.tvm_meta\.json"):
        read_module(tmp_path / "k.cubin")
    FULL.write(tmp_path / "k.tvm_meta.json")
    module = read_module(str(tmp_path / "k.cubin"))
    assert (module.name, module.format, module.code) == ("k", "cubin", b"code")
    assert module.table == read_table(tmp_path / "k.tvm_meta.json") == FULL


@pytest.mark.parametrize(
    ("info", "message"),
    [
        (FunctionInfo("f", ["float32x4"]), r"'f': arg_types\[0\] is 'float32x4', a vector"),
        (FunctionInfo("f", ["int24"]), "'int24', which no kernel's parameter has"),
        (FunctionInfo("f", cuda_launch_fields=["shared_memory_mode"]), "'shared_memory_mode'"),
        (FunctionInfo("f", [], ["preferredClusterCtaIdx.x"]), "no cluster, its least size"),
    ],
)  # fmt: skip
def test_a_launch_that_there_is_none_of_is_refused_by_name(info, message):
    with pytest.raises(ValueError, match=message):
        FunctionTable([info]).launches()


# ---- Fuzzing: whatever comes, a table or a typed error ----


def poke(table: FunctionTable) -> None:
    """Do with a table all that can be done; ValueError and TypeError are answers."""
    for layout in (None, *LAYOUTS):
        for write in (table.to_json, table.to_bytes):
            try:
                again = read_table(write(layout))
            except (TypeError, ValueError):
                continue
            assert [*again] == [*table]
            if layout in (None, "v2"):
                assert again == table
    with contextlib.suppress(ValueError):
        table.launches()


def try_reading(read, data) -> None:
    try:
        found = read(data)
    except (TypeError, ValueError):
        return
    if isinstance(found, CudaModule):
        assert found.to_bytes() == data
        found = found.table
    elif isinstance(data, bytes) and b"\0" in data[:8]:
        assert found.to_bytes() == data
    poke(found)


WORDS = st.sampled_from(
    ["add", "handle", "int32", "float32x4", "", "blockIdx.x", "threadIdx.y", SMEM, PDL, "grid.x"]
)
LEAVES = WORDS | st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
VALUES = st.recursive(
    LEAVES, lambda x: st.lists(x, max_size=4) | st.dictionaries(WORDS, x, max_size=3), max_leaves=8
)
KEYS = st.sampled_from(
    [*JSON["v2"][0], *JSON["flags"][0], "use_cooperative_groups", "unknown", "func_info"]
)
ROWS = st.fixed_dictionaries(
    {"name": st.just("add") | VALUES, "arg_types": st.lists(WORDS, max_size=3) | VALUES}
).flatmap(
    lambda x: st.dictionaries(KEYS, st.lists(WORDS, max_size=3) | VALUES).map(lambda y: y | x)
)
TABLES = st.dictionaries(st.just("add") | st.text(max_size=3), ROWS | VALUES, max_size=2)


@settings(max_examples=400, deadline=None)
@given(TABLES | TABLES.map(lambda x: {"func_info": x}) | VALUES)
def test_any_json_is_a_table_or_a_typed_error(said):
    if isinstance(said, dict):
        try_reading(read_table, said)
    try_reading(read_table, json.dumps(said).encode())


GOOD = [*(data for data, _ in BINARY.values()), FULL.to_bytes(), FULL.to_bytes("flags"), V1_MODULE]
GOOD.append(text("ptx") + FULL.to_bytes("v1") + text("code") + text("source"))


@settings(max_examples=500, deadline=None)
@given(
    data=st.binary(max_size=64) | st.sampled_from(GOOD),
    changes=st.lists(
        st.tuples(st.integers(0, 400), st.sampled_from([0, 1, 2, 8, 0x7F, 0xFF])), max_size=4
    ),
    cut=st.integers(0, 400),
    tail=st.binary(max_size=4),
)
def test_any_bytes_are_a_table_or_a_typed_error(data, changes, cut, tail):
    changed = bytearray(data)
    for place, value in changes:
        if place < len(changed):
            changed[place] = value
    changed = bytes(changed[: cut or None]) + tail
    for read in (read_table, read_module):
        try_reading(read, changed)


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from([json.dumps(FULL.to_json(x)) for x in ("v2", "flags")]),
    st.integers(0),
    st.integers(0, 300),
)
def test_json_text_with_a_part_missing_is_a_table_or_a_typed_error(said, place, size):
    place %= len(said)
    try_reading(read_table, (said[:place] + said[place + size :]).encode())


def test_nothing_of_tvm_is_imported():
    assert "tvm" not in sys.modules
    assert set(tvm.__all__) <= set(dir(tvm))
