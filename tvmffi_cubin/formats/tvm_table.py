"""The rows of TVM's tables, JSON and binary, and the launches that they stand for."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Mapping
from io import BytesIO
from typing import Any, Final, NamedTuple

from ..launches.launch import Launch

# By what TVM writes for the type of an argument.
_C_TYPES: Final = {
    **{f"{sign}int{bits}": f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "handle": "void*",
    "bool": "bool",
    "float16": "__half",
    "bfloat16": "__nv_bfloat16",
    "float32": "float",
    "float64": "double",
    "float8_e4m3fn": "__nv_fp8_e4m3",
    "float8_e5m2": "__nv_fp8_e5m2",
    "float8_e8m0fnu": "__nv_fp8_e8m0",
    "grid_constant": "CUtensorMap",  # TileLang's mark of a tensor map, in the binary form alone
}
# What tags stand for; with TVM's own spelling of the second, and TileLang's of clusters.
_FLAGS: Final = {
    "use_programmatic_dependent_launch": "programmatic_dependent_launch",
    "use_programtic_dependent_launch": "programmatic_dependent_launch",
    "use_cooperative_launch": "cooperative",
    "use_cooperative_groups": "cooperative",
}
_AXES: Final = {
    "blockIdx": "grid",
    "threadIdx": "block",
    "clusterCtaIdx": "cluster",
    "cluster_dim": "cluster",
    "preferredClusterCtaIdx": "preferred_cluster",
}
_VALUES: Final = {
    "use_dyn_shared_memory": "dynamic_smem_bytes",
    "programmatic_stream_serialization": "programmatic_dependent_launch",
    "programmatic_event.event": "programmatic_event",
    "launch_completion_event.event": "launch_completion_event",
    "dynamic_smem_bytes": "dynamic_smem_bytes",
    "cluster_scheduling_policy": "cluster_scheduling_policy",
    "priority": "priority",
    "mem_sync_domain": "mem_sync_domain",
    "stream": "stream",
    "cooperative": "cooperative",
}


class FunctionInfo(NamedTuple):
    """A row of a table: a kernel's arguments, and those of its launch."""

    name: str  # the kernel, and the function that is exported for it
    arg_types: tuple[str, ...] = ()  # "handle", "int32", "float32", ...
    # What a call passes after the kernel's arguments, in order: "blockIdx.x", "threadIdx.x", at
    # the end "tir.use_dyn_shared_memory"; and flags that it does not: "tir.use_cooperative_launch".
    launch_param_tags: tuple[str, ...] = ()
    arg_extra_tags: tuple[int, ...] = ()  # 1 for a tensor map, else 0; may be shorter
    cuda_launch_fields: tuple[str, ...] = ()  # the newest tables' tags: "grid.x", "cooperative"


def json_rows(values: Any) -> list[FunctionInfo]:
    """Return the rows of a JSON table, or of its ``func_info`` alone."""
    rows = values.get("func_info", values) if isinstance(values, Mapping) else {}
    is_table = isinstance(rows, Mapping) and len(rows) > 0
    if not is_table or not all(isinstance(x, Mapping) and "arg_types" in x for x in rows.values()):
        raise ValueError(
            "it is not one of TVM's tables: wanted func_info, functions with arg_types"
        )
    return [_json_row(name, row) for name, row in rows.items()]


def _json_row(name: str, row: Mapping[str, Any]) -> FunctionInfo:
    # The latter is the older name; older tables have booleans in place of tags, too.
    tags = [*row.get("launch_param_tags", ()), *row.get("thread_axis_tags", ())]
    tags += [f"tir.{flag}" for flag in (*_FLAGS, "use_dyn_shared_memory") if row.get(flag)]
    names = ("arg_extra_tags", "cuda_launch_fields")
    others = {key: tuple(row[key]) for key in names if key in row}
    return FunctionInfo(name, tuple(row["arg_types"]), tuple(tags), **others)


def make_launches(rows: Iterable[FunctionInfo]) -> dict[str, Launch]:
    """Return how functions launch.

    They take the kernel's arguments and then the values of the launch, in the order of the tags or
    fields; flags take none. A ValueError names what a `Launch` has no counterpart of.
    """
    return {row.name: _launch(row) for row in rows}


def _launch(info: FunctionInfo) -> Launch:
    params = [f"{_c_type(info, i)} arg{i}" for i in range(len(info.arg_types))]
    conditions: list[str] = []
    fields: dict[str, Any] = {}
    sizes: dict[str, dict[str, str]] = {"grid": {}, "block": {}}
    is_newest = bool(info.cuda_launch_fields)
    for text in info.cuda_launch_fields or info.launch_param_tags:
        word = re.sub(r"^(tirx?|tilelang)\.", "", text)
        if word in _FLAGS:
            fields[_FLAGS[word]] = True
            continue
        if word == "use_required_block_dimension":  # the image says it, and is asked
            continue
        name = word.removeprefix("use_").replace(".", "_")
        params.append(f"{'void*' if word == 'stream' else 'int64_t'} {name}")
        field_, _, axis = word.replace("cluster_dim_", "cluster_dim.").partition(".")
        field_ = _AXES.get(field_, field_)
        if word in _VALUES:
            fields[_VALUES[word]] = name
        elif field_ in ("programmatic_event", "launch_completion_event"):  # their flags
            conditions.append(f"{name} == 0")
        elif field_ not in _AXES.values() or axis not in ("x", "y", "z"):
            raise ValueError(f"function {info.name!r}: a Launch has no {text!r}")
        elif is_newest:
            sizes.setdefault(field_, {})[axis] = name
        else:  # TVM takes 0, as of an empty tensor, for 1
            conditions.append(f"{name} >= 0")
            sizes.setdefault(field_, {})[axis] = f"max({name}, 1)"
    preferred = sizes.get("preferred_cluster", {})
    if preferred and not is_newest:
        # Tags that prefer 1, 1, 1 prefer nothing, which is the cluster itself.
        for axis, least in sizes.get("cluster", {}).items():
            preferred[axis] = f"max({preferred[axis]}, {least})" if axis in preferred else least
    for field_, axes in sizes.items():
        fields[field_] = tuple(axes.get(axis, 1) for axis in "xyz")
    return Launch(params=", ".join(params), when=" and ".join(conditions) or None, **fields)


def _c_type(info: FunctionInfo, index: int) -> str:
    if info.arg_extra_tags[index : index + 1] == (1,):
        return "CUtensorMap"
    type_ = info.arg_types[index]
    if type_ not in _C_TYPES:
        raise ValueError(
            f"function {info.name!r}: arg_types[{index}] is {type_!r}, an unknown type"
        )
    return _C_TYPES[type_]


# Layouts are texts, `struct`'s formats, tuples of layouts, and lists: a count and as many of one.
_DTYPE, _SIZE = "<BBH", "<Q"
# A function in the newest tables and in older ones. Only the newest is marked.
_MARKER = "__tvm_function_info_v2__"
_FUNCTIONS: tuple[tuple[Any, ...], ...] = (
    # name, marker, name, types, tags, tags of types, fields, how it was compiled
    ("text", "text", "text", [_DTYPE], ["text"], ["<i"], ["text"], [("text", "<q")]),
    ("text", "text", [_DTYPE], ["text"], ["<i"]),
    ("text", "text", [_DTYPE], ["text"]),
)
# What is before a table and behind it: a module has a format, then the code.
_TABLE: tuple[tuple[Any, Any], ...] = (((), ()),)
_MODULES: tuple[tuple[Any, Any], ...] = (
    (("text", "text"), ("bytes", [("text", "text")])),  # marked, with what it was made from
    (("text",), ("bytes", "text")),
    (("text",), ("bytes",)),
)

# By DLPack's code of a kind; those of the first are written with their bits.
_SIZED = {0: "int", 1: "uint", 2: "float", 4: "bfloat"}
_WHOLE = {
    3: "handle",
    6: "bool",
    30: "grid_constant",
    10: "float8_e4m3fn",
    12: "float8_e5m2",
    14: "float8_e8m0fnu",
}


def binary_rows(data: bytes) -> list[FunctionInfo]:
    """Read a table; raises ValueError where it is none."""
    _, rows, _ = _read(data, _TABLE)
    return rows


def binary_module(data: bytes) -> tuple[bytes, list[FunctionInfo]]:
    """Read a module's image and table; raises ValueError where it is none."""
    _, rows, (code, *_) = _read(data, _MODULES)
    return code, rows


def _read(data: bytes, wholes: tuple[tuple[Any, Any], ...]) -> tuple[Any, list[FunctionInfo], Any]:
    """Return what is before a table, its rows, and what is behind, by the layout that fits."""
    for function in _FUNCTIONS:
        for before, after in wholes:
            rest = BytesIO(data)
            try:
                head, rows, tail = _parsed((before, [function], after), rest)
                found = head, [*map(_row, rows)], tail
            except (ValueError, OverflowError, struct.error):
                continue
            if not rest.read(1):
                return found
    raise ValueError("it is damaged, or in none of TVM's binary forms, versions 0 to 2")


def _parsed(layout: Any, data: BytesIO) -> Any:
    if isinstance(layout, list):
        return [_parsed(layout[0], data) for _ in range(_parsed(_SIZE, data))]
    if isinstance(layout, tuple):
        return tuple(_parsed(x, data) for x in layout)
    if layout in ("text", "bytes"):
        found = data.read(size := _parsed(_SIZE, data))
        if len(found) < size:
            raise ValueError("the data ends")
        return found if layout == "bytes" else found.decode()
    values = struct.unpack(layout, data.read(struct.calcsize(layout)))
    return values if layout == _DTYPE else values[0]


def _row(values: tuple[Any, ...]) -> FunctionInfo:
    key, name, *rest = values
    is_newest = isinstance(rest[0], str)
    inner = rest.pop(0) if is_newest else name
    if (name == _MARKER) != is_newest or inner not in (key, ""):  # older TVMs leave it empty
        raise ValueError(f"function {key!r} is of another version")
    types, *others = rest[:4]
    return FunctionInfo(key, tuple(map(_type_name, types)), *map(tuple, others))


def _type_name(dtype: tuple[int, int, int]) -> str:
    code, bits, lanes = dtype
    name = _WHOLE.get(code) or f"{_SIZED.get(code, f'type{code}_')}{bits}"
    return name if lanes == 1 else f"{name}x{lanes}"
