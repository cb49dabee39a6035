"""Which items a cache gives up, and how they go so that nobody who uses them notices."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from . import uses
from .entry import MANIFEST
from .inventory import Item
from .pch_shelf import unless_used
from .removal import move_away
from .workplace import Workplace, has_failed

__all__ = ["Removed", "evict", "least_used", "unused_since"]


@dataclass(frozen=True)
class Removed:
    """What was removed.

    Attributes
    ----------
    entries : int
        How many published entries, precompiled headers among them.
    size : int
        How many bytes, of all things.
    kept : int
        How many entries were not, because living processes use them.
    base_keys : frozenset of str
        The keys under which the removed entries were built.
    failure : OSError, optional
        Why something, or more, is still there that was to be removed.
    """

    entries: int = 0
    size: int = 0
    kept: int = 0
    base_keys: frozenset[str] = frozenset()
    failure: OSError | None = None

    def __add__(self, other: Removed) -> Removed:
        return Removed(
            self.entries + other.entries,
            self.size + other.size,
            self.kept + other.kept,
            self.base_keys | other.base_keys,
            self.failure or other.failure,
        )


def least_used(
    items: Iterable[Item], *, excess: int, in_use: Collection[str], now: float
) -> list[Item]:
    """Return the items to remove so that so many bytes are free: those used least recently.

    Parameters
    ----------
    items : iterable of Item
        What may be removed.
    excess : int
        How many bytes are to go. Where those not in use are fewer, all of them go.
    in_use : collection of str
        Names of items that stay.
    now : float
        The time, in seconds since the epoch. What was used later was so by a clock that was wrong,
        and counts as used now.

    Returns
    -------
    list of Item
        In the order in which they were last used.
    """
    chosen: list[Item] = []
    for item in _by_use(items, in_use, now):
        if excess <= 0:
            break
        chosen.append(item)
        excess -= item.size
    return chosen


def unused_since(
    items: Iterable[Item], *, moment: float, in_use: Collection[str], now: float
) -> list[Item]:
    """Return the items that were last used before a moment, in the order of their use."""
    return [item for item in _by_use(items, in_use, now) if min(item.used, now) < moment]


def _by_use(items: Iterable[Item], in_use: Collection[str], now: float) -> list[Item]:
    free = (item for item in items if item.name not in in_use)
    return sorted(free, key=lambda item: (min(item.used, now), item.path))


def evict(root: str, items: Iterable[Item], *, keep: Collection[str] = ()) -> Removed:
    """Remove entries, precompiled headers, failed builds and damaged entries that nobody uses.

    Parameters
    ----------
    root : str
        The cache folder.
    items : iterable of Item
        What to remove. What a process has noted or held meanwhile stays.
    keep : collection of str
        Names of items that stay all the same.

    Raises
    ------
    OSError
        The folder cannot be written. That one item cannot be removed, such as another user's, is
        in what is returned.
    """
    with Workplace.make(root, needs_room=False) as grave:
        moved: list[tuple[Item, str]] = []
        failure = None
        try:
            for number, item in enumerate(items):
                target = os.path.join(grave, str(number))
                try:
                    if _move(item, target):
                        moved.append((item, target))
                except OSError as error:
                    failure = error
            # A process notes an entry and then opens it. Who opened it before it was moved has
            # noted it by now; who comes later does not find it, and builds it again.
            in_use = {*uses.living(root), *keep} if moved else set()
        except BaseException:
            for item, target in moved:
                _put_back(target, item.path)
            raise
        gone = [
            (item, target)
            for item, target in moved
            if item.name not in in_use or not _put_back(target, item.path)
        ]
        return Removed(
            entries=sum(item.kind in ("entry", "header") for item, _ in gone),
            size=sum(item.size for item, _ in gone),
            kept=len(moved) - len(gone),
            base_keys=frozenset(key for item, target in gone for key in _base_keys(item, target)),
            failure=failure,
        )


def _move(item: Item, target: str) -> bool:
    with contextlib.suppress(FileNotFoundError), _held(item) as is_free:
        if is_free:
            move_away(item.path, target)
            return True
    return False


@contextlib.contextmanager
def _held(item: Item) -> Iterator[bool]:
    """Keep others from beginning to use an item, where something could tell them."""
    if item.kind == "build":
        yield has_failed(item.path)
    elif item.kind == "header":
        with unless_used(item.path) as is_free:
            yield is_free
    else:
        yield True


def _put_back(target: str, path: str) -> bool:
    try:
        os.rename(target, path)
    except OSError:
        return False  # somebody has built it anew meanwhile
    return True


def _base_keys(item: Item, folder: str) -> frozenset[str]:
    if item.kind in ("entry", "header"):
        # It may be damaged: then its record is found to lead nowhere at some other time.
        with contextlib.suppress(OSError, ValueError, TypeError, KeyError, RecursionError):
            data = Path(folder, MANIFEST).read_bytes()
            return frozenset({str(json.loads(data)["base_key"])})
    return frozenset()
