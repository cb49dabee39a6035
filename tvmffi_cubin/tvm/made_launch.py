"""From what TVM's table says of a kernel to the `Launch` that does it."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from ..launch import Launch
from .dtypes import parse_dtype
from .function_info import FunctionInfo
from .launch_fields import Field, read_fields
from .tags import Tag, read_tags

__all__ = ["made_launch", "made_launches"]

_PREFIX = re.compile(r"(?:tirx?|tilelang)\.(?:use_)?")


@dataclass
class _Told:
    """What is told of a launch: parameters for its values, conditions on them, its fields."""

    taken: Container[str] = ()
    params: list[str] = field(default_factory=list)
    conditions: list[str] = field(default_factory=list)
    dimensions: dict[str, dict[int, str]] = field(default_factory=dict)
    fields: dict[str, Any] = field(default_factory=dict)

    def value(self, word: str, declared: str = "int64_t") -> str:
        """Add a parameter for a value; return its name."""
        name = self.free(_PREFIX.sub("", word).replace(".", "_"))
        self.params.append(f"{declared} {name}")
        return name

    def free(self, name: str) -> str:
        """Return a name that is not taken."""
        while name in self.taken:
            name += "_"
        return name

    def shape(self, name: str) -> tuple[Any, ...]:
        """Return dimensions; axes that nothing is told of are 1."""
        axes = self.dimensions.get(name, {})
        return tuple(axes.get(axis, 1) for axis in range(max(axes, default=0) + 1))


def made_launches(
    functions: Iterable[FunctionInfo], taken: Container[str] = ()
) -> dict[str, Launch]:
    """Return how functions launch, by their names; see `made_launch`."""
    # A kernel's name that is the function's own is never taken for a part of another's.
    return {info.name: replace(made_launch(info, taken), kernel=None) for info in functions}


def made_launch(info: FunctionInfo, taken: Container[str] = ()) -> Launch:
    """Return how a function launches; its parameters have other names than those that are taken.

    Raises
    ------
    ValueError
        It has an argument or a launch that a `Launch` has not; the message names both.
    """
    where = f"function {info.name!r}"
    told = _Told(taken)
    for word, meaning in read_tags(info.launch_param_tags):
        _add_tag(told, word, meaning)
    _prefer_the_cluster(told)
    for word, what in read_fields(info.cuda_launch_fields):
        _add_field(told, word, what, where)
    if told.dimensions.get("preferred_cluster") and not told.dimensions.get("cluster"):
        raise ValueError(f"{where}: there is a preferred cluster, and no cluster, its least size")
    clusters: dict[str, Any] = {
        name: told.shape(name)
        for name in ("cluster", "preferred_cluster")
        if told.dimensions.get(name)
    }
    return Launch(
        kernel=info.name,
        params=", ".join([*_arguments(told, info, where), *told.params]),
        grid=told.shape("grid"),
        block=told.shape("block"),
        when=" and ".join(told.conditions) or None,
        **clusters,
        **told.fields,
    )


def _arguments(told: _Told, info: FunctionInfo, where: str) -> Iterator[str]:
    for index, text in enumerate(info.arg_types):
        dtype = parse_dtype(text)
        declared = "CUtensorMap" if info.is_tensor_map(index) else dtype.c_type
        if declared is None:
            what = "a vector" if dtype.lanes > 1 else "which no kernel's parameter has here"
            raise ValueError(
                f"{where}: arg_types[{index}] is {text!r}, {what}: it cannot be passed"
            )
        yield f"{declared} {told.free(f'arg{index}')}"


def _add_tag(told: _Told, word: str, meaning: Tag) -> None:
    if not meaning.has_value:
        if meaning.field != "required_block":  # the image says it, and is asked
            told.fields[meaning.field] = True
        return
    name = told.value(word)
    if meaning.axis is None:
        told.fields[meaning.field] = name
        return
    told.conditions.append(f"{name} >= 0")
    figure = f"max({name}, 1)"  # TVM takes 0, as of an empty tensor, for 1
    told.dimensions.setdefault(meaning.field, {})[meaning.axis] = figure


def _prefer_the_cluster(told: _Told) -> None:
    """Have tags that prefer 1, 1, 1, which stands for none, prefer the cluster itself."""
    preferred = told.dimensions.get("preferred_cluster", {})
    for axis, least in told.dimensions.get("cluster", {}).items():
        preferred[axis] = f"max({preferred[axis]}, {least})" if axis in preferred else least


def _add_field(told: _Told, word: str, what: Field, where: str) -> None:
    if what.kind == "other":
        raise ValueError(
            f"{where}: cuda_launch_fields has {word!r}, which a Launch has not; without it in the "
            "table it is as by default"
        )
    name = told.value(word, "void*" if what.field == "stream" else "int64_t")
    if what.kind == "dimension":
        told.dimensions.setdefault(what.field, {})[what.axis] = name
    elif what.kind == "flag":
        told.fields[what.field] = f"{name} != 0"
    elif what.kind == "zero":
        told.conditions.append(f"{name} == 0")
    else:
        told.fields[what.field] = name
