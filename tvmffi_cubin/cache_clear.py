"""`clear`, `prune`: take away from a cache folder what the cache made, and nothing else."""

from __future__ import annotations

import errno
import math
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from . import inventory, uses
from .errors import CacheError
from .eviction import Removed, evict, least_used, unused_since
from .inventory import Inventory, Item
from .removal import remove
from .tally import Tally
from .tidying import drop_locks, drop_memos, drop_records, tidy
from .trim import REMOVABLE
from .workplace import is_claimed

__all__ = ["Plan", "Removed", "clear", "plan_prune", "prune"]


@dataclass(frozen=True)
class Plan:
    """What `prune` would remove.

    Attributes
    ----------
    found : Inventory
        What there is.
    items : tuple of Item
        What is to go.
    kept : int
        How many entries stay because living processes were given them.
    moment : float
        When it was made, in seconds since the epoch.
    """

    found: Inventory
    items: tuple[Item, ...]
    kept: int
    moment: float

    @property
    def size(self) -> int:
        """How many bytes are to go."""
        return sum(item.size for item in self.items)


def clear(folder: str) -> Removed:
    """Remove all that the cache has made in a folder, except what living processes use or build.

    Other processes may use the cache meanwhile: they find an entry whole or not at all.

    Parameters
    ----------
    folder : str
        The cache folder. It need not exist.

    Raises
    ------
    CacheError
        Something cannot be removed.
    """
    try:
        found = inventory.take(folder)
        removed = Removed(size=tidy(found))
        in_use = uses.living(folder)
        removed += Removed(kept=_kept(found, in_use))
        items = list(_there(found, in_use))
        removed += _evict(folder, items)
        size = sum(map(_remove_build, _abandoned(found)))
        keys = {item.name.removesuffix(".json") for item in found.of("record")}
        size += drop_records(found, keys) + drop_memos(found, most=0)
        removed += Removed(size=size + drop_locks(found, before=math.inf))
        Tally.forget(folder)
    except OSError as error:
        raise _unable(folder, error) from error
    return removed


def plan_prune(folder: str, *, max_size: int | None, max_age: float | None) -> Plan:
    """Return what is to go so that a cache folder is small enough and has nothing old.

    Parameters
    ----------
    folder : str
        The cache folder. It need not exist.
    max_size : int, optional
        How many bytes it may take.
    max_age : float, optional
        In seconds: what was not used for longer goes.

    Raises
    ------
    CacheError
        It cannot be read.
    """
    now = time.time()
    try:
        found = inventory.take(folder)
        in_use = uses.living(folder)
    except OSError as error:
        raise _unable(folder, error) from error
    items = list(_there(found, in_use))
    chosen = []
    if max_age is not None:
        chosen = unused_since(items, moment=now - max_age, in_use=in_use, now=now)
    if max_size is not None:
        rest = set(items).difference(chosen)
        excess = found.size - sum(item.size for item in chosen) - max_size
        chosen += least_used(rest, excess=excess, in_use=in_use, now=now)
    return Plan(found, tuple(chosen), _kept(found, in_use), now)


def prune(plan: Plan) -> Removed:
    """Remove what a plan says, and what leads nowhere.

    Raises
    ------
    CacheError
        Something cannot be removed.
    """
    root = plan.found.root
    try:
        removed = Removed(size=tidy(plan.found), kept=plan.kept)
        removed += _evict(root, plan.items)
        # Of all other records only those that no build may be about to use.
        removed += Removed(size=drop_records(plan.found, removed.base_keys))
        removed += Removed(size=drop_records(plan.found))
        if plan.found.items:
            Tally.write(root, plan.found.size - removed.size)
    except OSError as error:
        raise _unable(root, error) from error
    return removed


def _evict(root: str, items: Sequence[Item]) -> Removed:
    removed = evict(root, items) if items else Removed()
    if removed.failure is not None:
        raise removed.failure
    return removed


def _there(found: Inventory, in_use: set[str]) -> Iterator[Item]:
    for item in found.of(*REMOVABLE):
        if item.name not in in_use and os.path.lexists(item.path):
            yield item


def _kept(found: Inventory, in_use: set[str]) -> int:
    return sum(item.name in in_use for item in found.of("entry"))


def _unable(folder: str, error: OSError) -> CacheError:
    remedy = "check who owns it"
    if error.errno in (errno.ENOTDIR, errno.ELOOP, errno.EEXIST):
        remedy = "remove what is there in the place of a folder"
    return CacheError(
        f"cache folder {folder} cannot be emptied: {error}; "
        f"{remedy}, or set TVMFFI_CUBIN_CACHE_DIR to another folder"
    )


def _abandoned(found: Inventory) -> Iterator[Item]:
    for item in found.of("build"):
        if os.path.isdir(item.path):
            claimed = is_claimed(item.path)
            if not (_is_alive(int(item.name.partition("-")[0])) if claimed is None else claimed):
                yield item


def _remove_build(item: Item) -> int:
    remove(item.path)
    return 0 if os.path.lexists(item.path) else item.size


def _is_alive(process: int) -> bool:
    if process == os.getpid():
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True
