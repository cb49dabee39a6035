"""What a launch can carry beyond its shape: CUDA's ``CUlaunchAttribute``, by `Launch`'s names."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from .figures import check_condition, check_figure, dimensions, plain

RAW = "attributes"
"""The field for attributes by number."""

_VALUE_BYTES = 64  # sizeof(CUlaunchAttributeValue)
_ID_LIMIT = 64


class Attribute(NamedTuple):
    """One attribute."""

    # Its name in `Launch`.
    field: str
    # Its number in CUDA's enumeration ``CUlaunchAttributeID``.
    id: int
    # ``"dimensions"`` (blocks in x, y, z), ``"flag"``, ``"integer"`` or ``"event"``.
    kind: str
    # The range of an integer.
    least: int = 0
    most: int = 0
    # Names of an integer's values, from 0.
    choices: tuple[str, ...] = ()


_POLICIES = ("default", "spread", "load_balancing")
_DOMAINS = ("default", "remote")

ATTRIBUTES = {
    attribute.field: attribute
    for attribute in (
        # In this order expressions are evaluated; the cluster comes first, because what can be
        # resident depends on it.
        Attribute("cluster", 4, "dimensions"),
        Attribute("preferred_cluster", 11, "dimensions"),
        Attribute("cluster_scheduling_policy", 5, "integer", most=2, choices=_POLICIES),
        Attribute("programmatic_dependent_launch", 6, "flag"),
        Attribute("programmatic_event", 7, "event", most=2**63 - 1),
        Attribute("launch_completion_event", 12, "event", most=2**63 - 1),
        Attribute("cooperative", 2, "flag"),
        Attribute("priority", 8, "integer", least=-(2**31), most=2**31 - 1),
        Attribute("mem_sync_domain", 10, "integer", most=1, choices=_DOMAINS),
    )
}
"""The attributes that have a field of their own, by its name."""

_BY_ID = {attribute.id: attribute for attribute in ATTRIBUTES.values()}


def checked(field: str, value: Any, *, where: str) -> Any:
    """Return a value as `Launch` keeps it: dimensions as a tuple, choices as numbers."""
    what = f"{where}: {field}"
    if field == RAW:
        return _checked_raw(what, value)
    attribute = ATTRIBUTES[field]
    value = plain(value)
    if attribute.kind == "dimensions":
        return dimensions(what, value, least=1)
    if attribute.kind == "flag":
        if isinstance(value, str):
            check_condition(what, value)
        elif not isinstance(value, bool):
            raise TypeError(f"{what} is a bool or a condition, got {type(value).__name__}")
        return value
    if isinstance(value, str) and value in attribute.choices:
        return attribute.choices.index(value)
    try:
        check_figure(what, value, least=attribute.least, most=attribute.most)
    except (TypeError, ValueError) as error:
        if not attribute.choices:
            raise
        names = ", ".join(map(repr, attribute.choices))
        raise type(error)(f"{error}; its values have the names {names}") from None
    return value


def _checked_raw(where: str, value: object) -> dict[int, bytes]:
    if not isinstance(value, Mapping):
        raise TypeError(
            f"{where} maps numbers of CUlaunchAttributeID to the bytes of a value, got "
            f"{type(value).__name__}"
        )
    for number, data in value.items():
        what = f"{where}[{number!r}]"
        if isinstance(number, bool) or not isinstance(number, int):
            raise TypeError(f"{what}: a CUlaunchAttributeID is an int, got {type(number).__name__}")
        if not 0 < number < _ID_LIMIT:
            raise ValueError(f"{what}: a CUlaunchAttributeID is from 1 to {_ID_LIMIT - 1}")
        # An event's flags and trigger have no field: it may be given whole.
        if number in _BY_ID and _BY_ID[number].kind != "event":
            raise ValueError(f"{what}: this attribute is {_BY_ID[number].field}=")
        if not isinstance(data, bytes):
            raise TypeError(f"{what} is the bytes of its value, got {type(data).__name__}")
        if not 0 < len(data) <= _VALUE_BYTES:
            raise ValueError(
                f"{what} has {len(data)} bytes, a CUlaunchAttributeValue 1 to {_VALUE_BYTES}"
            )
    return dict(value)


def encode(field: str, value: Any, *, where: str) -> Iterator[tuple[int, bytes]]:
    """Yield the attributes that a value of a call stands for: number, and bytes of the value.

    The parameters are those of `checked`. Integers and bools may be NumPy's, events any library's.
    """
    if field == RAW:
        yield from checked(field, value, where=where).items()
        return
    attribute = ATTRIBUTES[field]
    what = f"{where}: {field}"
    given = _handle(what, value) if attribute.kind == "event" else value
    given = tuple(map(plain, given)) if isinstance(given, tuple | list) else plain(given)
    if isinstance(given, str) and given not in attribute.choices:
        names = f"; it has {', '.join(map(repr, attribute.choices))}" if attribute.choices else ""
        raise TypeError(f"{what}: at a call a value is given, got the str {given!r}{names}")
    given = checked(field, given, where=where)
    if attribute.kind == "dimensions":
        if any(isinstance(figure, str) for figure in given):
            raise TypeError(f"{what}: at a call values are given, got {value!r}")
        yield attribute.id, struct.pack("<3I", *given, *[1] * (3 - len(given)))
    elif attribute.kind == "event":
        yield attribute.id, struct.pack("<Qii", given, 0, 0)
    else:
        yield attribute.id, struct.pack("<i", given)


def _handle(what: str, event: Any) -> Any:
    """Return an event's handle, by torch's, CuPy's, cuda.core's name; of cuda.bindings' its own."""
    if isinstance(event, int):
        return event
    if hasattr(event, "__cuda_stream__") or "Stream" in type(event).__name__:
        raise TypeError(f"{what}: got a stream, {type(event).__name__}, wanted an event")
    found = (getattr(event, name, None) for name in ("cuda_event", "ptr", "handle"))
    handle = next((x for x in found if x is not None), event)
    if hasattr(handle, "__int__") and not isinstance(handle, bool | float | str):
        number = int(handle)
        if number == 0:
            raise ValueError(
                f"{what}: the event does not exist yet: record it once (torch makes an event when "
                "it is first recorded)"
            )
        return number
    raise TypeError(
        f"{what} is an event of torch, CuPy or cuda.core, or its handle as an int, got "
        f"{type(event).__name__}"
    )
