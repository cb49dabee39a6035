"""`carry`: what a description says and this version does not know, put into a module's manifest."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from .launch_json import TAGGED

__all__ = ["carry"]

_STEP = re.compile(r"\.?(?P<name>[^.\[]+)|\[(?P<index>\d+)\]")


def carry(manifest: Any, further: Mapping[str, Mapping[str, Any]]) -> None:
    """Add fields to the objects of a manifest that are at their places.

    Parameters
    ----------
    manifest : dict
        What the module says of itself; nothing of it is replaced.
    further : mapping of str to mapping
        Fields by place, such as ``"functions.k.launches[0]"``.
    """
    for place, fields in further.items():
        target = manifest
        for step in _steps(place):
            target = target[step]
        if not isinstance(target, dict):
            continue  # a bound parameter that is told by its name alone
        # A value of a class is in an object of its own, {"TensorMap": {...}}.
        if len(target) == 1 and target.keys() <= TAGGED.keys():
            (target,) = target.values()
        for name, value in fields.items():
            target.setdefault(name, value)


def _steps(place: str) -> Iterator[str | int]:
    for match in _STEP.finditer(place):
        yield match["name"] or int(match["index"])
