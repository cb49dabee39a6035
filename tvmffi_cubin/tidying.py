"""What nobody needs in a cache: records that lead nowhere, and what killed processes left."""

from __future__ import annotations

import contextlib
import os
import time
from collections import defaultdict
from collections.abc import Collection, Iterable

from . import uses
from .dependency_set import read_sets
from .folder import HEADERS
from .inventory import Inventory, Item
from .lock import unless_held
from .workplace import sweep

__all__ = ["drop_locks", "drop_memos", "drop_records", "tidy"]

# In seconds: what is younger may be about to be locked, or to be renamed into its place.
_YOUNG = 3600.0

_MOST_IDENTITIES = 512


def tidy(found: Inventory) -> int:
    """Remove halves of files, locks that nobody holds and memos of tools that are long gone.

    What killed builds have left goes as well, and notes of processes that have ended.

    Returns
    -------
    int
        How many bytes were removed.
    """
    for root in (found.root, os.path.join(found.root, HEADERS)):
        sweep(os.path.join(root, "tmp"))
        with contextlib.suppress(OSError):
            uses.living(root)
    old = time.time() - _YOUNG
    halves = [item for item in found.of("half") if item.used < old]
    size = _unlink(halves) + drop_memos(found) + drop_locks(found, before=old)
    return size + _gone(found.of("build", "use"))


def drop_locks(found: Inventory, *, before: float) -> int:
    """Remove lock files from before a moment that nobody holds; return how many bytes that were."""
    locks = [item for item in found.of("lock") if item.used < before]
    for item in locks:
        # Who has held it removes it.
        with unless_held(item.path):
            pass
    return _gone(locks)


def drop_memos(found: Inventory, *, most: int = _MOST_IDENTITIES) -> int:
    """Remove all but the newest memos of what tools are; return how many bytes that were."""
    memos = sorted(found.of("identity"), key=lambda item: item.used, reverse=True)
    return _unlink(memos[most:])


def drop_records(found: Inventory, base_keys: Collection[str] | None = None) -> int:
    """Remove records whose entries are gone.

    Parameters
    ----------
    found : Inventory
        What there was.
    base_keys : collection of str, optional
        Whose records to look at. Default: all but those of the last hour.

    Returns
    -------
    int
        How many bytes were removed.
    """
    old = time.time() - _YOUNG
    records = defaultdict(list)
    for item in found.of("record"):
        base_key = item.name.removesuffix(".json")
        if item.used < old if base_keys is None else base_key in base_keys:
            records[_root_of(item), base_key].append(item)
    size = 0
    for (root, base_key), items in records.items():
        if _leads_nowhere(root, base_key):
            # Who builds it now writes a new one.
            with unless_held(os.path.join(root, "locks", f"{base_key}.lock")) as is_free:
                if is_free and _leads_nowhere(root, base_key):
                    size += _unlink(items)
                    _remove_empty(items)
    return size


def _remove_empty(items: Iterable[Item]) -> None:
    # A folder of fields for each name that something ever had would be left.
    for folder in {os.path.dirname(item.path) for item in items}:
        if os.path.basename(os.path.dirname(folder)) == "fields":
            with contextlib.suppress(OSError):
                os.rmdir(folder)


def _root_of(item: Item) -> str:
    folder = os.path.dirname(item.path)
    return os.path.dirname(
        folder if os.path.basename(folder) == "deps" else os.path.dirname(folder)
    )


def _leads_nowhere(root: str, base_key: str) -> bool:
    sets = read_sets(os.path.join(root, "deps", f"{base_key}.json"))
    entries = os.path.join(root, "entries")
    return not any(os.path.isdir(os.path.join(entries, x.entry[:2], x.entry)) for x in sets)


def _unlink(items: Iterable[Item]) -> int:
    size = 0
    for item in items:
        with contextlib.suppress(OSError):
            os.unlink(item.path)
            size += item.size
    return size


def _gone(items: Iterable[Item]) -> int:
    return sum(item.size for item in items if not os.path.lexists(item.path))
