"""What a launch can carry beyond its shape: CUDA's ``CUlaunchAttribute``, by `Launch`'s names."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any, NamedTuple

from .values import figure, figures, plain


class Attribute(NamedTuple):
    """One attribute."""

    # Its number in CUDA's enumeration ``CUlaunchAttributeID``.
    id: int
    # ``"dimensions"`` (blocks in x, y, z), ``"flag"``, ``"integer"`` or ``"event"``.
    kind: str
    # Names of an integer's values, from 0.
    choices: tuple[str, ...] = ()


ATTRIBUTES = {
    # In this order expressions are evaluated; the cluster comes first, because what can be
    # resident depends on it.
    "cluster": Attribute(4, "dimensions"),
    "preferred_cluster": Attribute(11, "dimensions"),
    "cluster_scheduling_policy": Attribute(5, "integer", ("default", "spread", "load_balancing")),
    "programmatic_dependent_launch": Attribute(6, "flag"),
    "programmatic_event": Attribute(7, "event"),
    "launch_completion_event": Attribute(12, "event"),
    "cooperative": Attribute(2, "flag"),
    "priority": Attribute(8, "integer"),
    "mem_sync_domain": Attribute(10, "integer", ("default", "remote")),
}
"""The attributes that have a field of their own, by its name."""


def checked(what: str, value: Any, *, attribute: Attribute) -> Any:
    """Return a value as `Launch` keeps it: dimensions as a tuple, choices as numbers."""
    if attribute.kind == "dimensions":
        return figures(what, value)
    value = plain(value)
    return attribute.choices.index(value) if value in attribute.choices else figure(what, value)


def checked_raw(what: str, value: Mapping[int, bytes]) -> dict[int, bytes]:
    """Check attributes by number: the launcher has 64 bytes for each, and a bit for its number."""
    try:
        found = {int(number): data for number, data in value.items()}
    except (AttributeError, TypeError, ValueError):
        raise TypeError(
            f"{what} maps numbers of CUlaunchAttributeID to the bytes of a value, got {value!r:.80}"
        ) from None
    for number, data in found.items():
        if not 0 < number < 55 or not isinstance(data, bytes) or not 0 < len(data) <= 64:
            raise ValueError(f"{what}[{number}] is {data!r}, wanted 1 to 64 bytes for 1 to 54")
    return found


def encode(name: str, value: Any, *, where: str) -> dict[int, bytes]:
    """Return the attributes that a value of a call stands for: numbers and the bytes of values."""
    what = f"{where}: {name}"
    if name == "attributes":
        return checked_raw(what, value)
    if name not in ATTRIBUTES:
        known = ("stream", "grid", "block", "dynamic_smem_bytes", *ATTRIBUTES, "attributes")
        raise TypeError(f"{where}: no option {name!r}; there are {', '.join(known)}")
    attribute = ATTRIBUTES[name]
    given = checked(what, value, attribute=attribute)
    numbers = (*given, 1, 1)[:3] if isinstance(given, tuple) else (given,)
    layout = {"event": "<Q8x", "dimensions": "<3I"}.get(attribute.kind, "<i")
    try:
        found = {attribute.id: struct.pack(layout, *numbers)}
    except struct.error as error:
        raise ValueError(f"{what} is {value!r}, at a call a number: {error}") from None
    # The launcher would divide by 0; the driver reads an event at any address, also in the first
    # page. A torch.cuda.Event has 0 until it is recorded.
    least = {"event": 4096, "dimensions": 1}.get(attribute.kind)
    if least is not None and min(numbers) < least:
        raise ValueError(f"{what} is {value!r}, wanted {least} or more")
    return found
