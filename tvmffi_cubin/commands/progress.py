"""`watched`, `weighed`: a progress bar for what takes long, where somebody watches; `say`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sized
from typing import TypeVar

from ..cache.upkeep import Item

__all__ = ["say", "watched", "weighed"]

_T = TypeVar("_T")


def watched(items: Iterable[_T], *, what: str) -> Iterable[_T]:
    """Return the items, and show how many have been taken on a terminal."""
    if not sys.stderr.isatty():
        return items
    from tqdm import tqdm

    total = len(items) if isinstance(items, Sized) else None
    shown: Iterable[_T] = tqdm(items, desc=what, total=total, leave=False, file=sys.stderr)
    return shown


def weighed(items: list[Item], *, what: str) -> Iterator[Item]:
    """Return the items, and show how many of their bytes have been gone through on a terminal."""
    if not sys.stderr.isatty():
        yield from items
        return
    from tqdm import tqdm

    size = sum(item.size for item in items)
    with tqdm(
        desc=what, total=size, unit="B", unit_scale=True, leave=False, file=sys.stderr
    ) as bar:
        for item in items:
            yield item
            bar.update(item.size)


def say(line: str) -> None:
    """Print a line, above the bar where one is shown."""
    if not sys.stderr.isatty():
        print(line, flush=True)
        return
    from tqdm import tqdm

    tqdm.write(line)
