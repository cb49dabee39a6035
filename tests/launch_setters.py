"""LaunchConfig's setters as tests write them down, and what a launch must then have."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable

import numpy as np

Row = tuple[str, tuple[int, ...]]


def _pack(layout: str) -> Callable[..., bytes]:
    return lambda *values: struct.pack("<" + layout, *values).ljust(64, b"\0")


RAW = 11
# Setter: its number in configure.h, the attribute's number, how its value is laid out. What has no
# setter of its own goes through SetAttribute.
ATTRIBUTES: dict[str, tuple[int, int, Callable[..., bytes]]] = {
    "cluster": (4, 4, _pack("3I")),
    "preferred_cluster": (RAW, 11, _pack("3I")),
    "cluster_scheduling_policy": (6, 5, _pack("i")),
    "programmatic_dependent_launch": (7, 6, _pack("i")),
    "programmatic_event": (RAW, 7, _pack("Qii")),
    "launch_completion_event": (RAW, 12, _pack("Qi")),
    "cooperative": (10, 2, _pack("i")),
}
SHAPE = {"grid": 0, "block": 1, "dynamic_smem_bytes": 2, "stream": 3, "device": 12}
FLAGS = ("programmatic_dependent_launch", "cooperative")


def rows(setters: Iterable[Row]) -> np.ndarray:
    """The table that configure.h reads."""
    numbers = {**SHAPE, "raw": RAW}
    numbers |= {name: number for name, (number, _, _) in ATTRIBUTES.items()}
    table = []
    for name, values in setters:
        words = values
        if numbers[name] == RAW and name != "raw":
            _, attribute, pack = ATTRIBUTES[name]
            words = (attribute, *struct.unpack_from("<qq", pack(*values)))
        table.append([numbers[name], *words, *(0,) * (3 - len(words))])
    return np.array(table, dtype=np.int64).reshape(-1, 4)


def expected_attributes(setters: Iterable[Row]) -> dict[int, bytes]:
    """The attributes, in order, of a configuration on which these setters were called."""
    attributes: dict[int, bytes] = {}
    for name, values in setters:
        if name == "raw":
            attributes[values[0]] = _pack("qq")(*values[1:])
        elif name in ATTRIBUTES and not (name in FLAGS and values[0] == 0):
            _, number, pack = ATTRIBUTES[name]
            attributes[number] = pack(*values)
    return attributes
