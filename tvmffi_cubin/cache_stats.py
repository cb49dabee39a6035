"""`Stats`: how much a cache folder holds, of what, and how long it was not used."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from . import config, inventory, package_headers, uses
from .inventory import Item
from .limit import capacity
from .places import places
from .remote import without_secrets

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
    """What there is.

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
    mode : str
        See `Places`.
    layers : mapping of str to Part
        The entries of the folders that are looked through first.
    remote : str or None
        The URL of the second level, without secrets.
    beside_package : Part
        The precompiled headers that are kept there; no part of `size`.
    """

    folder: str
    size: int
    limit: int | None
    kinds: Mapping[str, Part]
    in_use: int
    last_used: Mapping[str, int]
    oldest: float
    mode: str
    layers: Mapping[str, Part]
    remote: str | None
    beside_package: Part

    @staticmethod
    def look() -> Stats:
        """Look through the cache folder of the environment, which need not exist.

        Raises
        ------
        CacheError, ValueError
            A variable has an impossible value, or others may write to the folder.
        OSError
            It cannot be read.
        """
        limit = capacity()
        known = places()
        folder = known.root
        url = config.get("TVMFFI_CUBIN_CACHE_REMOTE")
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
            mode=known.mode,
            layers={layer: _part(inventory.take(layer).of("entry")) for layer in known.layers},
            remote=None if url is None else without_secrets(url),
            beside_package=_part(package_headers.held()),
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
