"""`Stats`: how much a cache folder holds, of what, and how long it was not used."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from . import inventory, uses
from .capacity import capacity
from .inventory import Item

__all__ = ["Part", "Stats"]

_KINDS = {
    "entries": "entry",
    "precompiled_headers": "header",
    "builds": "build",
    "damaged": "damaged",
    "records": "record",
    "memos": "identity",
    "locks": "lock",
    "processes": "use",
    "leftovers": "half",
}
_SINCE = {
    "in_the_last_hour": 3600.0,
    "in_the_last_day": 86_400.0,
    "in_the_last_week": 604_800.0,
    "before_that": float("inf"),
}


@dataclass(frozen=True)
class Part:
    """How many things of one kind there are, and how many bytes they take on the disk."""

    count: int
    size: int


@dataclass(frozen=True)
class Stats:
    """What `take` found.

    Attributes
    ----------
    folder : str
        The cache folder.
    size : int
        Bytes that all of it takes on the disk.
    limit : int or None
        How many it may take; None: any number.
    kinds : mapping of str to Part
        What there is, by what people call it.
    in_use : int
        How many entries living processes were given.
    last_used : mapping of str to int
        How many entries were last used in each time, every one counted once.
    oldest : float
        For how many seconds the entry was not used that was used least recently.
    """

    folder: str
    size: int
    limit: int | None
    kinds: Mapping[str, Part]
    in_use: int
    last_used: Mapping[str, int]
    oldest: float

    @staticmethod
    def of(folder: str) -> Stats:
        """Look through a cache folder, which need not exist.

        Raises
        ------
        OSError
            It cannot be read.
        ValueError
            The limit is none.
        """
        limit = capacity()
        found = inventory.take(folder)
        now = time.time()
        entries = found.of("entry")
        ages = [max(now - item.used, 0.0) for item in entries]
        in_use = uses.living(folder)
        return Stats(
            folder=folder,
            size=found.size,
            limit=limit,
            kinds={name: _part(found.of(kind)) for name, kind in _KINDS.items()},
            in_use=sum(item.name in in_use for item in entries),
            last_used=_by_age(ages),
            oldest=max(ages, default=0.0),
        )


def _part(items: Sequence[Item]) -> Part:
    return Part(len(items), sum(item.size for item in items))


def _by_age(ages: Sequence[float]) -> dict[str, int]:
    counted = {}
    begin = -1.0
    for name, end in _SINCE.items():
        counted[name] = sum(begin < age <= end for age in ages)
        begin = end
    return counted
