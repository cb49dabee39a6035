"""`Dispatch`: several ways to launch under one name, of which a call takes the first that fits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .launch import Launch
from .values import Record

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
    given = (given,) if isinstance(given, Record) else given
    return tuple(instance for x in given for instance in instances_of(what, x))


@dataclass(repr=False, eq=False)
class Dispatch(Record, checks={"instances": _all_instances}):
    """Several instances of a function: a call launches the first that its arguments fit.

    An instance fits if every argument fits its parameter (type, dtype, rank, range, contiguity,
    alignment) and every `Launch.when` holds. Each has its own kernels and parameters.

    Parameters
    ----------
    instances : Launch, or iterable of Launch, sequence of Launch or Dispatch
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
