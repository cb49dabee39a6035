"""`Dispatch`: several ways to launch under one name, of which a call takes the first that fits.

And `over`, which makes one instance for each combination of some names' values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from .expression import NAME
from .launch import Launch
from .tensor_map import TensorMap
from .values import Record, Scratch, plain

Instances = tuple[tuple[Launch, ...], ...]
"""The launches of each instance of a function."""


def instances_of(what: str, function: Any) -> Instances:
    """Return the instances of a function that is a Launch, a list of them or a Dispatch."""
    if isinstance(function, Dispatch):
        found: Instances = function.instances
        return found
    launches = [function] if isinstance(function, Launch) else function
    is_list = isinstance(launches, list | tuple) and all(isinstance(x, Launch) for x in launches)
    if not is_list or not launches:
        raise TypeError(f"{what} is a Launch, a list of them or a Dispatch, got {function!r:.300}")
    return (tuple(launches),)


def _all_instances(what: str, given: Any) -> Instances:
    return tuple(instance for x in given for instance in instances_of(what, x))


@dataclass(repr=False, eq=False)
class Dispatch(Record, checks={"instances": _all_instances}):
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
        An instance is something else, or there is none.
    """

    instances: Any

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.instances:
            raise ValueError("Dispatch: there is no instance; give at least one Launch")

    @property
    def launches(self) -> tuple[Launch, ...]:
        """The launches of all instances, in order."""
        return tuple(launch for instance in self.instances for launch in instance)


def over(launch: Launch, names: Mapping[str, Iterable[str | int | bool]]) -> Dispatch:
    """Return what `Launch.over` documents."""
    import re

    known = re.findall(NAME, launch.kernel or "")
    for name, given in names.items():
        if name not in known:
            raise ValueError(
                f"over: the kernel {launch.kernel!r} does not contain the name {name!r}"
            )
        if isinstance(given, str):
            raise TypeError(f"over: {name} is a sequence of values, got the str {given!r}")

    def swapped(value: Any, texts: Mapping[str, str]) -> Any:
        if isinstance(value, str):
            return re.sub(NAME, lambda found: texts.get(found[0], found[0]), value)
        if isinstance(value, tuple):
            return tuple(swapped(x, texts) for x in value)
        if isinstance(value, dict):
            return {name: swapped(x, texts) for name, x in value.items()}
        if isinstance(value, TensorMap | Scratch):
            return type(value)(**swapped(value.changed(), texts))
        return value

    def instance(chosen: tuple[Any, ...]) -> Launch:
        values = dict(zip(names, chosen, strict=True))
        source = {x: str(y).lower() if isinstance(y, bool) else str(y) for x, y in values.items()}
        # As it would be written: -1 might follow another operator.
        numbers = {x: f"({y})" if str(y).startswith("-") else str(y) for x, y in values.items()}
        fields = launch.changed()
        for field in fields.keys() - {"strided", "image", "meta"}:
            texts = source if field in ("kernel", "params") else numbers
            fields[field] = swapped(fields[field], texts)
        return Launch(**fields)

    return Dispatch(map(instance, product(*(map(plain, given) for given in names.values()))))
