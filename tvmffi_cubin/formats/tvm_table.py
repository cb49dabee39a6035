"""The rows of TVM's tables, JSON and binary, and the launches that they stand for."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable
from io import BytesIO
from itertools import product
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
    "grid_constant": "CUtensorMap",  # TileLang's mark of a tensor map, in the binary form alone
}
# What tags stand for, with TVM's own spelling of the second.
_FLAGS: Final = {
    "use_programmatic_dependent_launch": "programmatic_dependent_launch",
    "use_programtic_dependent_launch": "programmatic_dependent_launch",
    "use_cooperative_launch": "cooperative",
}
# Others are called as a `Launch` calls them.
_FIELDS: Final = {
    "blockIdx": "grid",
    "threadIdx": "block",
    "clusterCtaIdx": "cluster",
    "cluster_dim": "cluster",  # TileLang's
    "preferredClusterCtaIdx": "preferred_cluster",
    "use_dyn_shared_memory": "dynamic_smem_bytes",
    "programmatic_stream_serialization": "programmatic_dependent_launch",
}


class FunctionInfo(NamedTuple):
    """A row of a table: a kernel's arguments, and those of its launch."""

    name: str  # the kernel, and the function that is exported for it
    arg_types: tuple[str, ...]  # "handle", "int32", "float32", ...
    # What a call passes after the kernel's arguments, in order: "blockIdx.x", "threadIdx.x", at
    # the end "tir.use_dyn_shared_memory"; and flags that it does not: "tir.use_cooperative_launch".
    launch_param_tags: tuple[str, ...] = ()
    arg_extra_tags: tuple[int, ...] = ()  # 1 for a tensor map, else 0; may be shorter
    cuda_launch_fields: tuple[str, ...] = ()  # the newest tables' tags: "grid.x", "cooperative"


def json_rows(values: Any) -> list[FunctionInfo]:
    """Return the rows of a JSON table, or of its ``func_info`` alone."""
    try:
        return [
            FunctionInfo(name, **{x: tuple(row[x]) for x in FunctionInfo._fields[1:] if x in row})
            for name, row in values.get("func_info", values).items()
        ]
    except (AttributeError, TypeError):
        raise ValueError("it is not one of TVM's tables: wanted functions with arg_types") from None


def make_launches(rows: Iterable[FunctionInfo]) -> dict[str, Launch]:
    """Return how functions launch; a ValueError names what a `Launch` has no counterpart of."""
    return {row.name: _launch(row) for row in rows}


def _launch(info: FunctionInfo) -> Launch:
    params, conditions = [], []
    fields: dict[str, Any] = {}
    sizes: dict[str, dict[str, str]] = {"grid": {}, "block": {}}
    for index, type_ in enumerate(info.arg_types):
        is_map = info.arg_extra_tags[index : index + 1] == (1,)
        c_type = _C_TYPES.get("grid_constant" if is_map else type_)
        if c_type is None:
            raise ValueError(f"function {info.name!r}: arg_types[{index}] {type_!r} is unknown")
        params.append(f"{c_type} arg{index}")
    for text in info.cuda_launch_fields or info.launch_param_tags:
        word = re.sub(r"^(tirx?|tilelang)\.", "", text)
        if word in _FLAGS:
            fields[_FLAGS[word]] = True
            continue
        if word == "use_required_block_dimension":  # the image says it, and is asked
            continue
        name = word.removeprefix("use_").replace(".", "_")
        params.append(f"{'void*' if word == 'stream' else 'int64_t'} {name}")
        field, _, part = word.replace("cluster_dim_", "cluster_dim.").partition(".")
        field = _FIELDS.get(field, field)
        if field in ("grid", "block", "cluster", "preferred_cluster") and part in ("x", "y", "z"):
            # As a tag 0, of an empty tensor, is 1.
            is_tag = not info.cuda_launch_fields
            sizes.setdefault(field, {})[part] = f"max({name}, 1)" if is_tag else name
        elif field in Launch.__dataclass_fields__ and part in ("", "event"):
            fields[field] = name
        elif field in ("programmatic_event", "launch_completion_event"):  # their flags
            conditions.append(f"{name} == 0")
        else:
            raise ValueError(f"function {info.name!r}: a Launch has no {text!r}")
    for field, axes in sizes.items():
        fields[field] = tuple(axes.get(axis, 1) for axis in "xyz")
    return Launch(params=", ".join(params), when=" and ".join(conditions) or None, **fields)


# Layouts are texts, `struct`'s formats, tuples of layouts, and lists: a count and as many of one.
_DTYPE, _SIZE = "<BBH", "<Q"
# A function in the newest tables and in older ones.
_FUNCTIONS: tuple[tuple[Any, ...], ...] = (
    # name, marker, name, types, tags, tags of types, fields, how it was compiled
    ("text", "text", "text", [_DTYPE], ["text"], ["<i"], ["text"], [("text", "<q")]),
    ("text", "text", [_DTYPE], ["text"], ["<i"]),
    ("text", "text", [_DTYPE], ["text"]),
)
# What is before a table and behind it: a module has a format, then the code.
_WHOLES: tuple[tuple[Any, Any], ...] = (
    ((), ("0s",)),  # a table alone
    (("text", "text"), ("bytes", [("text", "text")])),  # marked, with what it was made from
    (("text",), ("bytes", "text")),
    (("text",), ("bytes",)),
)

# By DLPack's code of a kind.
_KINDS = {0: "int", 1: "uint", 2: "float", 3: "handle", 4: "bfloat", 6: "bool", 30: "grid_constant"}


def read_binary(data: bytes) -> tuple[bytes, list[FunctionInfo]]:
    """Return a module's image, empty of a table alone, and the rows.

    The layout is the one that uses every byte.
    """
    for function, (before, after) in product(_FUNCTIONS, _WHOLES):
        rest = BytesIO(data)
        try:
            _, rows, (code, *_) = _parsed((before, [function], after), rest)
        except (ValueError, OverflowError, struct.error):
            continue
        if not rest.read(1):
            return code, [*map(_row, rows)]
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
    dtypes, *others = [x for x in values if isinstance(x, list)][:4]
    types = []
    for code, bits, lanes in dtypes:
        kind = _KINDS.get(code, f"type{code}_")
        name = kind if kind in _C_TYPES else f"{kind}{bits}"
        types.append(name if lanes == 1 else f"{name}x{lanes}")
    return FunctionInfo(values[0], tuple(types), *map(tuple, others))
