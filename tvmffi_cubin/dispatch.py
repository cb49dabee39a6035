"""`Dispatch`: several ways to launch under one name, of which a call takes the first that fits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, fields
from itertools import islice
from typing import TYPE_CHECKING, Any, NoReturn

from .launch import Launch

__all__ = ["MAX_INSTANCES", "TOO_MANY", "Dispatch"]

MAX_INSTANCES = 1024
"""How many instances one function may have."""

TOO_MANY = (
    f"{MAX_INSTANCES} instances, the most that one function may have: each of them is compiled, "
    "and a call tries them in order; leave values out, or make several functions"
)


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
        An instance is something else, is empty, or repeats an earlier one, which would come first;
        there are more than 1024.
    """

    instances: Any

    def __post_init__(self) -> None:
        given = self.instances
        if isinstance(given, Launch | Dispatch | str | bytes | Mapping | Set) or not isinstance(
            given, Iterable
        ):
            raise TypeError(f"Dispatch: instances is a sequence, got {type(given).__name__}")
        each = (x for position, item in enumerate(given) for x in _each(position, item))
        instances = tuple(islice(each, MAX_INSTANCES + 1))
        if not instances:
            raise ValueError("Dispatch: there is no instance; give at least one Launch")
        if len(instances) > MAX_INSTANCES:
            raise ValueError(f"Dispatch: there are more than {TOO_MANY}")
        homes: dict[Any, int] = {}
        for position, instance in enumerate(instances):
            first = homes.setdefault(tuple(map(_hashable, instance)), position)
            if first != position:
                raise ValueError(
                    f"Dispatch: instance {position + 1} repeats instance {first + 1}, which always "
                    "comes first"
                )
        object.__setattr__(self, "instances", instances)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            hint = "; Launch.over takes all names at once: over(T=[...], W=[...])"
            raise AttributeError(
                f"'Dispatch' object has no attribute {name!r}{hint if name == 'over' else ''}"
            )

    @property
    def launches(self) -> tuple[Launch, ...]:
        """The launches of all instances, in order."""
        return tuple(launch for instance in self.instances for launch in instance)


def _hashable(launch: Launch) -> tuple[object, ...]:
    values = (getattr(launch, field.name) for field in fields(launch))
    return tuple(frozenset(x.items()) if isinstance(x, Mapping) else x for x in values)


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
