"""`Launch.over`: the product of the values of names in a launch, as a `Dispatch`."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Mapping, Set, Sized
from dataclasses import replace
from itertools import islice, product
from math import prod
from typing import Any

from .dispatch import MAX_INSTANCES, TOO_MANY, Dispatch
from .launch import Launch
from .launch_attributes import ATTRIBUTES
from .scratch import Scratch
from .tensor_map import TensorMap

__all__ = ["instances_over"]

Value = str | int | bool

_IDENTIFIER = re.compile(r"(?<!\w)[^\W\d]\w*")
_CONDITIONS = {"when"} | {x.field for x in ATTRIBUTES.values() if x.kind == "flag"}
# In an expression, what follows a dot is no name of its own: x.shape.
_NAME = re.compile(r"(?<![\w.])[^\W\d]\w*")


def instances_over(launch: Launch, names: Mapping[str, Iterable[Value]]) -> Dispatch:
    """Return what `Launch.over` documents.

    Raises
    ------
    TypeError, ValueError
        See there.
    """
    if not names:
        raise ValueError("over: there is no name; give some, as in over(T=['float', 'double'])")
    if launch.kernel is None:
        raise ValueError("over: names are replaced in the Launch's kernel=, which is not given")
    values = {name: _values(name, given) for name, given in names.items()}
    known = _IDENTIFIER.findall(launch.kernel)
    for name in names:
        if name not in known:
            raise ValueError(
                f"over: the kernel {launch.kernel!r} does not contain the name {name!r}; it has "
                f"{', '.join(dict.fromkeys(known)) or 'none'}"
            )
    count = prod(map(len, values.values()))
    if count > MAX_INSTANCES:
        each = " x ".join(f"{len(given)} of {name}" for name, given in values.items())
        raise ValueError(f"over: {count} instances ({each}) are more than {TOO_MANY}")
    return Dispatch(
        [
            _instance(launch, dict(zip(values, chosen, strict=True)))
            for chosen in product(*values.values())
        ]
    )


def _values(name: str, given: object) -> tuple[Value, ...]:
    if isinstance(given, str | bytes | Mapping | Set) or not isinstance(given, Iterable):
        raise TypeError(
            f"over: {name} is a sequence of values, got {type(given).__name__} {given!r}"
        )
    # What has no end, such as itertools.count(), is not read to it.
    values = tuple(_value(name, value) for value in islice(given, MAX_INSTANCES + 1))
    if not values:
        raise ValueError(f"over: {name} has no values")
    if len(values) > MAX_INSTANCES:
        number = len(given) if isinstance(given, Sized) else f"{MAX_INSTANCES + 1} or more"
        raise ValueError(f"over: {number} values of {name} are more than {TOO_MANY}")
    return values


def _value(name: str, value: object) -> Value:
    if isinstance(value, str):
        if not value.strip():
            raise ValueError(f"over: {name} holds an empty str")
        # Not str(value), which a member of an Enum answers with its own name.
        return str.__str__(value)
    if isinstance(value, bool) or _is_numpy_bool(value):
        return bool(value)
    try:
        # An IntEnum and a number of numpy's are spelled as the int that they are.
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(
            f"over: {name} holds str, int and bool, got {type(value).__name__} {value!r}"
        ) from None


def _is_numpy_bool(value: object) -> bool:
    return type(value).__module__ == "numpy" and type(value).__name__ in ("bool", "bool_")


def _instance(launch: Launch, chosen: Mapping[str, Value]) -> Launch:
    def in_source(text: str | None) -> str | None:
        if text is None:
            return None
        return _IDENTIFIER.sub(lambda match: _source_text(chosen.get(match[0], match[0])), text)

    def in_expression(what: str, value: Any) -> Any:
        if isinstance(value, TensorMap | Scratch):
            return value.with_figures(lambda name, x: in_expression(f"{name} of {what}", x))
        if not isinstance(value, str):
            return value
        return _NAME.sub(
            lambda match: (
                _constant(what, match[0], chosen[match[0]]) if match[0] in chosen else match[0]
            ),
            value,
        )

    def in_figure(name: str, value: Any) -> Any:
        text = in_expression(name, value)
        # What is a number now is a constant: it can be checked, and told, before any call.
        return int(text) if isinstance(text, str) and text.isdecimal() else text

    def figures(name: str) -> tuple[Any, ...] | None:
        given = getattr(launch, name)
        return None if given is None else tuple(in_figure(name, figure) for figure in given)

    def attribute(name: str) -> Any:
        given = getattr(launch, name)
        if isinstance(given, tuple):
            return tuple(in_figure(name, figure) for figure in given)
        return in_figure(name, given) if name not in _CONDITIONS else in_expression(name, given)

    return replace(
        launch,
        kernel=in_source(launch.kernel),
        params=in_source(launch.params),
        grid=figures("grid"),
        block=figures("block"),
        dynamic_smem_bytes=in_figure("dynamic_smem_bytes", launch.dynamic_smem_bytes),
        args={name: in_expression(f"args[{name!r}]", x) for name, x in launch.args.items()},
        when=in_expression("when", launch.when),
        stream=in_figure("stream", launch.stream),
        device=in_figure("device", launch.device),
        **{name: attribute(name) for name in ATTRIBUTES},
    )


def _source_text(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _constant(what: str, name: str, value: Value) -> str:
    if isinstance(value, str):
        raise ValueError(
            f"over: {what} reads {name}, which stands for {value!r}; an expression can only read "
            "what stands for an int or a bool"
        )
    if isinstance(value, bool) and what in _CONDITIONS:
        return str(value)
    # As it would be written: -1 might follow another operator.
    return str(int(value)) if value >= 0 else f"({value})"
