"""TVM's table in its JSON form, in every layout."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from .function_info import FunctionInfo
from .layouts import COOPERATIVE, PDL, Layout, flags_as_tags, tags_and_flags
from .tags import DYNAMIC_SMEM, read_tags

__all__ = ["FUNCTIONS", "JsonTable", "read_mapping", "written_functions"]

FUNCTIONS = "func_info"
"""The field that has the functions."""

_FLAGS = {
    DYNAMIC_SMEM: DYNAMIC_SMEM,
    PDL: PDL,
    "use_programtic_dependent_launch": PDL,
    COOPERATIVE: COOPERATIVE,
    "use_cooperative_groups": COOPERATIVE,
}
_LISTS = ("arg_types", "launch_param_tags", "arg_extra_tags", "cuda_launch_fields")
_KNOWN = {"name", "thread_axis_tags", "cuda_kernel_attrs", *_LISTS, *_FLAGS}


class JsonTable(NamedTuple):
    """A table as JSON has it: its functions, its layout, and what stands beside them."""

    functions: list[FunctionInfo]
    layout: str
    extra: dict[str, Any]


def read_mapping(data: Mapping[str, Any]) -> JsonTable:
    """Read a table as JSON has it, or the functions of one alone.

    Raises
    ------
    TypeError, ValueError
        It is none; the message names the function and the field.
    """
    rows, extra = data, {}
    if FUNCTIONS in data:
        rows = data[FUNCTIONS]
        extra = {name: value for name, value in data.items() if name != FUNCTIONS}
        if not isinstance(rows, Mapping):
            raise TypeError(f"func_info maps names to functions, got {type(rows).__name__}")
    for key, row in rows.items():
        if not isinstance(key, str):
            raise TypeError(f"a function's name is a str, got {type(key).__name__}")
        if not isinstance(row, Mapping):
            raise TypeError(
                f"function {key[:80]!r} is an object with name, arg_types and launch_param_tags, "
                f"got {type(row).__name__}"
            )
    functions = [_function(key, row) for key, row in rows.items()]
    return JsonTable(functions, _layout(rows.values(), functions), extra)


def _function(key: str, row: Mapping[str, Any]) -> FunctionInfo:
    where = f"function {key[:80]!r}"
    for name in ("name", "arg_types"):
        if name not in row:
            raise ValueError(f"{where} has no {name!r}")
    if row["name"] not in (key, ""):
        raise ValueError(f"{where} has another name in its own fields: {row['name']!r:.80}")
    if "launch_param_tags" in row and "thread_axis_tags" in row:
        raise ValueError(f"{where} has launch_param_tags and thread_axis_tags, its older name")
    lists = {name: _list(where, name, row[name]) for name in _LISTS if name in row}
    tags = lists.pop("launch_param_tags", [])
    if "thread_axis_tags" in row:
        tags = _list(where, "thread_axis_tags", row["thread_axis_tags"])
    flags = _flags(where, row)
    return FunctionInfo(
        name=key,
        launch_param_tags=flags_as_tags(tags, flags),  # type: ignore[arg-type]
        cuda_kernel_attrs=row.get("cuda_kernel_attrs", {}),
        extra={name: value for name, value in row.items() if name not in _KNOWN},
        is_named=row["name"] == key,
        **lists,  # type: ignore[arg-type]
    )


def _list(where: str, name: str, value: Any) -> list[Any]:
    if not isinstance(value, list | tuple):
        raise TypeError(f"{where}: {name} is a list, got {type(value).__name__}")
    return [*value]


def _flags(where: str, row: Mapping[str, Any]) -> dict[str, bool]:
    flags: dict[str, bool] = {}
    for name, meaning in _FLAGS.items():
        if name not in row:
            continue
        if meaning in flags:
            raise ValueError(f"{where} has {name!r} beside another spelling of it")
        flags[meaning] = _flag(where, name, row[name])
    return flags


def _flag(where: str, name: str, value: Any) -> bool:
    if isinstance(value, int) and value in (0, 1):
        return bool(value)
    raise TypeError(f"{where}: {name} is true or false, got {type(value).__name__}")


def _layout(rows: Iterable[Mapping[str, Any]], functions: list[FunctionInfo]) -> str:
    """Return the oldest layout that has all fields of a table."""
    there = {name for row in rows for name in row}
    flags = {flag for name, flag in _FLAGS.items() if name in there}
    if there & {"cuda_launch_fields", "cuda_kernel_attrs"}:
        return "v2"
    if "arg_extra_tags" in there:
        return "v1_flags" if flags else "v1"
    if flags:
        return "flag" if flags == {DYNAMIC_SMEM} else "flags"
    meanings = [tag for info in functions for _, tag in read_tags(info.launch_param_tags)]
    is_plain = all(tag.field in ("grid", "block") for tag in meanings)
    return "thread_axis" if "thread_axis_tags" in there and is_plain else "v0"


def written_functions(functions: Iterable[FunctionInfo], layout: Layout) -> dict[str, Any]:
    """Return functions as JSON has them.

    Raises
    ------
    ValueError
        A function says what the layout, or JSON, cannot.
    """
    return {info.name: _written(info, layout) for info in functions}


def _written(info: FunctionInfo, layout: Layout) -> dict[str, Any]:
    if "grid_constant" in info.arg_types:
        raise ValueError(
            f"function {info.name!r}: JSON has no name for a tensor map's type of TileLang's: "
            "give it as 'handle', with 1 in arg_extra_tags"
        )
    tags, flags = tags_and_flags(info, layout)
    row: dict[str, Any] = {"name": info.written_name, "arg_types": [*info.arg_types]}
    row[layout.tags] = tags
    if layout.has_extra_tags:
        row["arg_extra_tags"] = [*info.arg_extra_tags]
    # TVM writes these where there are any.
    if info.cuda_launch_fields:
        row["cuda_launch_fields"] = [*info.cuda_launch_fields]
    if info.cuda_kernel_attrs:
        row["cuda_kernel_attrs"] = dict(info.cuda_kernel_attrs)
    return {**row, **flags, **info.extra}
