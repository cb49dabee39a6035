"""`Dispatched`: an exported function of several instances, each bound to its kernels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from .bound_binding import merged
from .exported import Exported
from .function import BoundLaunch, BoundParam, Function

__all__ = ["Dispatched", "dispatched"]


@dataclass(frozen=True)
class Dispatched:
    """An exported function; each of its `instances` is the function as one instance has it."""

    name: str
    instances: tuple[Function, ...]
    doc: str = ""

    @property
    def slots(self) -> tuple[BoundParam, ...]:
        """What is bound, for all instances alike."""
        params = [slot for instance in self.instances for slot in instance.slots]
        return merged(params, f"function {self.name!r}")

    @property
    def launches(self) -> tuple[BoundLaunch, ...]:
        """The launches of all instances, in order."""
        return tuple(bound for instance in self.instances for bound in instance.launches)

    @property
    def signatures(self) -> tuple[str, ...]:
        """Each instance as C++ would declare it, with its condition."""
        return tuple(map(_signature, self.instances))

    @property
    def signature(self) -> str:
        """The signatures of the instances, one a line."""
        return "\n".join(self.signatures)

    def facts(self) -> dict[str, Any]:
        """Return what a shared object says of the function, as JSON values."""
        instances = [instance.facts() for instance in self.instances]
        for facts, signature in zip(instances, self.signatures, strict=True):
            facts["signature"] = signature
            del facts["doc"], facts["bound"]
        columns = zip_longest(*(facts["params"] for facts in instances), fillvalue=())
        return {
            "instances": instances,
            "doc": self.doc,
            "signature": self.signature,
            "params": [
                [" | ".join(dict.fromkeys(x[part] for x in column if x)) for part in (0, 1)]
                for column in columns
            ],
            "bound": [slot.facts() for slot in self.slots],
            "fixes_block": all(facts["fixes_block"] for facts in instances),
            "callers_grid": _common_grid([facts["callers_grid"] for facts in instances]),
        }


def dispatched(name: str, instances: Iterable[Function], *, doc: str = "") -> Dispatched:
    """Make one function of several.

    Raises
    ------
    ValueError
        An instance is never launched, because an earlier one fits whatever it fits.
    """
    made = Dispatched(name, tuple(instances), doc)
    for position, instance in enumerate(made.instances):
        first = next((i for i in range(position) if _covers(made.instances[i], instance)), None)
        if first is not None:
            raise ValueError(
                f"function {name!r}: instance {position + 1} is never launched:\n"
                f"  {made.signatures[position]}\n"
                f"instance {first + 1} fits whatever it fits:\n"
                f"  {made.signatures[first]}\n"
                "give the latter a when=, put it last, or leave one out"
            )
    return made


def _common_grid(grids: list[dict[str, Any] | None]) -> dict[str, Any] | None:
    """Return what a caller's grid means for all instances; None where it is not all theirs.

    ``"meta"`` is None where they differ in it: which instance a call takes is not known before.
    """
    first, *others = grids
    if first is None or any(x is None or x["unit"] != first["unit"] for x in others):
        return None
    return first if all(x == first for x in others) else {**first, "meta": None}


def _covers(first: Function, second: Function) -> bool:
    if any(bound.when for bound in first.launches) or len(first.params) != len(second.params):
        return False
    return all(one.covers(two) for one, two in zip(first.params, second.params, strict=True))


def _signature(function: Function) -> str:
    kernels = " + ".join(bound.kernel.display for bound in function.launches)
    conditions = [bound.when.text for bound in function.launches if bound.when]
    if len(conditions) > 1:
        conditions = [f"({text})" for text in conditions]
    when = f" when {' and '.join(conditions)}" if conditions else ""
    assumed = ", ".join(_assumptions(function.params))
    where = f" where {assumed}" if assumed else ""
    return f"{kernels}({function.declared_params}){where}{when}"


def _assumptions(params: Iterable[Exported]) -> Iterator[str]:
    """Yield what tells instances of the same types apart."""
    multiples: dict[int, list[str]] = {}
    for param in params:
        if param.param.ndim is not None:
            yield f"{param.name} has rank {param.param.ndim}"
        if param.equal_to is not None:
            yield f"{param.name} is {param.equal_to}"
        elif param.multiple_of > 1:
            multiples.setdefault(param.multiple_of, []).append(param.name)
    for number, names in multiples.items():
        verb = "is a multiple" if len(names) == 1 else "are multiples"
        yield f"{' and '.join(names)} {verb} of {number}"
