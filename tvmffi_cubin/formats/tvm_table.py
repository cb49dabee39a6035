"""The rows of TVM's tables, JSON and binary, and the launches they describe."""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from io import BytesIO
from itertools import product
from typing import Any, Final

from ..launches.launch import Launch

# C++ types by TVM's names for argument types.
_C_TYPES: Final = {
    **{f"{sign}int{bits}": f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "handle": "void*",
    "bool": "bool",
    "float16": "__half",
    "bfloat16": "__nv_bfloat16",
    "float32": "float",
    "float64": "double",
    "grid_constant": "CUtensorMap",  # TileLang's mark of a tensor map, binary only
}
# The fields that flags set; "programtic" is TVM's own spelling.
_FLAGS: Final = {
    "use_programmatic_dependent_launch": "programmatic_dependent_launch",
    "use_programtic_dependent_launch": "programmatic_dependent_launch",
    "use_cooperative_launch": "cooperative",
}
# Other names are those of a `Launch`.
_FIELDS: Final = {
    "blockIdx": "grid",
    "threadIdx": "block",
    "clusterCtaIdx": "cluster",
    "cluster_dim": "cluster",  # TileLang's
    "preferredClusterCtaIdx": "preferred_cluster",
    "use_dyn_shared_memory": "dynamic_smem_bytes",
    "programmatic_stream_serialization": "programmatic_dependent_launch",
}


# The fields of a JSON table's row that `make_launch` takes.
_ROW = ("arg_types", "launch_param_tags", "arg_extra_tags", "cuda_launch_fields")


def json_launches(values: Any) -> dict[str, Launch]:
    """Return the launches of a JSON table, or of just its ``func_info``, by function."""
    try:
        return {
            name: make_launch(name, **{x: row[x] for x in _ROW if x in row})
            for name, row in values.get("func_info", values).items()
        }
    except (AttributeError, TypeError):
        raise ValueError("not one of TVM's tables: expected functions with arg_types") from None


def make_launch(
    name: str,  # of the kernel, and of its exported function
    arg_types: Sequence[str],  # "handle", "int32", "float32", ...
    # What a call passes after the kernel's arguments, in order: "blockIdx.x", "threadIdx.x",
    # finally "tir.use_dyn_shared_memory"; and flags, not passed: "tir.use_cooperative_launch".
    launch_param_tags: Sequence[str] = (),
    arg_extra_tags: Sequence[int] = (),  # 1 for a tensor map, else 0; may be shorter
    cuda_launch_fields: Sequence[str] = (),  # the newest tables' tags: "grid.x", "cooperative"
) -> Launch:
    """Return a function's launch; a ValueError names what has no counterpart in a `Launch`."""
    params, conditions = [], []
    fields: dict[str, Any] = {}
    sizes: dict[str, dict[str, str]] = {"grid": {}, "block": {}}
    for index, type_ in enumerate(arg_types):
        is_map = 1 in arg_extra_tags[index : index + 1]
        c_type = _C_TYPES.get("grid_constant" if is_map else type_)
        if c_type is None:
            raise ValueError(f"function {name!r}: unknown type {type_!r} in arg_types[{index}]")
        params.append(f"{c_type} arg{index}")
    for text in cuda_launch_fields or launch_param_tags:
        word = re.sub(r"^(tirx?|tilelang)\.", "", text)
        if word in _FLAGS:
            fields[_FLAGS[word]] = True
            continue
        if word == "use_required_block_dimension":  # it is read from the image
            continue
        param = word.removeprefix("use_").replace(".", "_")
        params.append(f"{'void*' if word == 'stream' else 'int64_t'} {param}")
        field, _, part = word.replace("cluster_dim_", "cluster_dim.").partition(".")
        field = _FIELDS.get(field, field)
        if field in ("grid", "block", "cluster", "preferred_cluster") and part in ("x", "y", "z"):
            # In a tag, 0 (of an empty tensor) counts as 1.
            size = param if cuda_launch_fields else f"max({param}, 1)"
            sizes.setdefault(field, {})[part] = size
        elif field in Launch.__dataclass_fields__ and part in ("", "event"):
            fields[field] = param
        elif field in ("programmatic_event", "launch_completion_event"):  # the events' flags
            conditions.append(f"{param} == 0")
        else:
            raise ValueError(f"function {name!r}: Launch does not support {text!r}")
    for field, axes in sizes.items():
        fields[field] = tuple(axes.get(axis, 1) for axis in "xyz")
    return Launch(params=", ".join(params), when=" and ".join(conditions) or None, **fields)


# Layouts are texts, `struct` formats, tuples of layouts, and lists: a count, then that many items.
_DTYPE, _SIZE = ("<B", "<B", "<H"), "<Q"
# Layouts of a function, in the newest tables and in older ones.
_FUNCTIONS: tuple[tuple[Any, ...], ...] = (
    # name, marker, name, types, tags, tags of types, fields, how it was compiled
    ("text", "text", "text", [_DTYPE], ["text"], ["<i"], ["text"], [("text", "<q")]),
    ("text", "text", [_DTYPE], ["text"], ["<i"]),
    ("text", "text", [_DTYPE], ["text"]),
)
# What comes before and after a table: in a module, a format, and the code.
_WHOLES: tuple[tuple[Any, Any], ...] = (
    ((), ("0s",)),  # a table alone
    (("text", "text"), ("bytes", [("text", "text")])),  # marked, and with what it was made from
    (("text",), ("bytes", "text")),
    (("text",), ("bytes",)),
)

# Kinds by DLPack's type codes.
_KINDS = {0: "int", 1: "uint", 2: "float", 3: "handle", 4: "bfloat", 6: "bool", 30: "grid_constant"}


def read_binary(data: bytes) -> tuple[bytes, dict[str, Launch]]:
    """Return a module's image, empty for a table alone, and the launches by function.

    The right layout is the one that consumes every byte.
    """
    for function, (before, after) in product(_FUNCTIONS, _WHOLES):
        rest = BytesIO(data)
        try:
            _, rows, (code, *_) = _parsed((before, [function], after), rest)
        except (ValueError, OverflowError, struct.error):
            continue
        if not rest.read(1):
            return code, dict(map(_function, rows))
    raise ValueError("damaged, or not in one of TVM's binary formats, versions 0 to 2")


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
    return struct.unpack(layout, data.read(struct.calcsize(layout)))[0]


def _function(values: tuple[Any, ...]) -> tuple[str, Launch]:
    dtypes, *others = [x for x in values if isinstance(x, list)][:4]
    types = []
    for code, bits, lanes in dtypes:
        kind = _KINDS.get(code, f"type{code}_")
        name = kind if kind in _C_TYPES else f"{kind}{bits}"
        types.append(name if lanes == 1 else f"{name}x{lanes}")
    return values[0], make_launch(values[0], types, *others)
