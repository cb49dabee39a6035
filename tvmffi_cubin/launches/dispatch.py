"""`Dispatch`: several ways to launch under one name, of which a call takes the first that fits.

And `over`, which makes one instance for each combination of some names' values.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Any

from .attributes import ATTRIBUTES
from .figures import plain
from .launch import Launch
from .tensor_map import TensorMap
from .values import Scratch

_MOST = 1024
_TOO_MANY = (
    f"{_MOST} instances, the most that one function may have: each of them is compiled, and a call "
    "tries them in order; leave values out, or make several functions"
)

Value = str | int | bool

_CONDITIONS = {"when"} | {x.field for x in ATTRIBUTES.values() if x.kind == "flag"}
_IDENTIFIER = r"(?<!\w)[^\W\d]\w*"
# In an expression, what follows a dot is no name of its own: x.shape.
_NAME = r"(?<![\w.])[^\W\d]\w*"


@dataclass(frozen=True)
class Dispatch:
    """Several instances of a function: a call launches the first that its arguments fit.

    An instance fits where every argument goes with its parameter (type, dtype, rank, range,
    contiguity, alignment) and every `Launch.when` holds. What each takes is up to its own kernels.

    Parameters
    ----------
    instances : iterable of Launch, sequence of Launch or Dispatch
        In the order in which they are tried. A sequence of launches is one instance that runs them
        all; another `Dispatch` stands for its instances.

    Raises
    ------
    TypeError, ValueError
        An instance is something else or is empty; there are more than 1024.
    """

    instances: Any

    def __post_init__(self) -> None:
        given = self.instances
        if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
            raise TypeError(f"Dispatch: instances is a sequence, got {type(given).__name__}")
        instances = tuple(x for number, item in enumerate(given) for x in _each(number, item))
        if not instances:
            raise ValueError("Dispatch: there is no instance; give at least one Launch")
        if len(instances) > _MOST:
            raise ValueError(f"Dispatch: {len(instances)} instances are more than {_TOO_MANY}")
        object.__setattr__(self, "instances", instances)

    @property
    def launches(self) -> tuple[Launch, ...]:
        """The launches of all instances, in order."""
        return tuple(launch for instance in self.instances for launch in instance)


def _each(position: int, item: object) -> Iterator[tuple[Launch, ...]]:
    if isinstance(item, Launch):
        yield (item,)
    elif isinstance(item, Dispatch):
        yield from item.instances
    elif isinstance(item, list | tuple) and all(isinstance(x, Launch) for x in item):
        if not item:
            raise ValueError(f"Dispatch: instance {position + 1} is an empty list of launches")
        yield tuple(item)
    else:
        raise TypeError(
            f"Dispatch: instance {position + 1} is a Launch, a list of them or a Dispatch, got "
            f"{item!r}"
        )


def over(launch: Launch, names: Mapping[str, Iterable[Value]]) -> Dispatch:
    """Return what `Launch.over` documents."""
    if not names:
        raise ValueError("over: there is no name; give some, as in over(T=['float', 'double'])")
    if launch.kernel is None:
        raise ValueError("over: names are replaced in the Launch's kernel=, which is not given")
    values = {name: _values(name, given) for name, given in names.items()}
    known = re.findall(_IDENTIFIER, launch.kernel)
    for name in names:
        if name not in known:
            raise ValueError(
                f"over: the kernel {launch.kernel!r} does not contain the name {name!r}; it has "
                f"{', '.join(dict.fromkeys(known)) or 'none'}"
            )
    count = prod(map(len, values.values()))
    if count > _MOST:
        each = " x ".join(f"{len(given)} of {name}" for name, given in values.items())
        raise ValueError(f"over: {count} instances ({each}) are more than {_TOO_MANY}")
    return Dispatch(
        _instance(launch, dict(zip(values, chosen, strict=True)))
        for chosen in product(*values.values())
    )


def _values(name: str, given: object) -> tuple[Value, ...]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise TypeError(
            f"over: {name} is a sequence of values, got {type(given).__name__} {given!r}"
        )
    values = tuple(map(plain, given))
    if not values:
        raise ValueError(f"over: {name} has no values")
    for value in values:
        if not isinstance(value, str | int):
            raise TypeError(
                f"over: {name} holds str, int and bool, got {type(value).__name__} {value!r}"
            )
    return values


def _instance(launch: Launch, chosen: Mapping[str, Value]) -> Launch:
    def in_source(text: str | None) -> str | None:
        if text is None:
            return None
        return re.sub(_IDENTIFIER, lambda x: _source_text(chosen.get(x[0], x[0])), text)

    def in_expression(what: str, value: Any) -> Any:
        if isinstance(value, TensorMap | Scratch):
            return value.with_figures(lambda name, x: in_expression(f"{name} of {what}", x))
        if not isinstance(value, str):
            return value
        return re.sub(
            _NAME, lambda x: _constant(what, x[0], chosen[x[0]]) if x[0] in chosen else x[0], value
        )

    def in_figure(name: str, value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(in_figure(name, figure) for figure in value)
        text = in_expression(name, value)
        # What is a number now is a constant: it can be checked, and told, before any call.
        return int(text) if isinstance(text, str) and text.isdecimal() else text

    names = ("grid", "block", "dynamic_smem_bytes", "stream", "device", "when", *ATTRIBUTES)
    changed: dict[str, Any] = {
        name: (in_expression if name in _CONDITIONS else in_figure)(name, getattr(launch, name))
        for name in names
    }
    return replace(
        launch,
        kernel=in_source(launch.kernel),
        params=in_source(launch.params),
        args={name: in_expression(f"args[{name!r}]", x) for name, x in launch.args.items()},
        **changed,
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
