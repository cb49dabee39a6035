"""`trim`: a cache folder stays below its limit, less what living processes use."""

from __future__ import annotations

import contextlib
import logging
import os
import time
from collections.abc import Collection

from . import inventory, uses
from .eviction import Removed, evict, least_used
from .inventory import Inventory
from .limit import size_text
from .lock import unless_held
from .tally import Tally
from .tidying import drop_records, tidy

__all__ = ["REMOVABLE", "trim"]

REMOVABLE = ("entry", "header", "build", "damaged")
"""The kinds of items that go by when they were last used."""

# How much of the limit is left filled, so that not every build has to remove something.
_FILLED = 0.9

_logger = logging.getLogger("tvmffi_cubin")


def trim(root: str, *, limit: int, keep: Collection[str] = ()) -> Removed:
    """Where a cache folder takes more than a limit, remove what was used least recently.

    Several may do it at once, where there are no locks: they choose the same.

    Parameters
    ----------
    root : str
        The folder.
    limit : int
        How many bytes it may take. A tenth less is left of it.
    keep : collection of str
        Keys of entries that stay, beside those that living processes have loaded.

    Raises
    ------
    OSError
        The folder cannot be read or written.
    """
    with unless_held(os.path.join(root, "locks", "trim.lock")) as is_free:
        if not is_free:
            return Removed()
        found = inventory.take(root)
        removed = Removed()
        try:
            if found.size > limit:
                removed = _shrink(found, target=int(limit * _FILLED), keep=keep)
        finally:
            # Else each build would look through the folder where nothing can be removed.
            Tally.write(root, found.size - removed.size)
    if removed.size:
        text = "cache folder %s: %d entries that were not used for longest were removed, %s freed"
        _logger.info(text, root, removed.entries, size_text(removed.size))
    return removed


def _shrink(found: Inventory, *, target: int, keep: Collection[str]) -> Removed:
    removed = Removed(size=tidy(found))
    now = time.time()
    for item in found.of(*REMOVABLE):
        # By a clock that was wrong. Otherwise it would stay until then, whatever else there is.
        if item.used > now:
            with contextlib.suppress(OSError):
                os.utime(item.path)
    # Another user's folders cannot be moved: something else has to go in their place.
    items = [item for item in found.of(*REMOVABLE) if os.access(item.path, os.W_OK)]
    in_use = {*uses.living(found.root), *keep}
    excess = found.size - removed.size - target
    chosen = least_used(items, excess=excess, in_use=in_use, now=now)
    removed += evict(found.root, chosen, keep=keep)
    if removed.failure is not None:
        text = "cache folder %s keeps what cannot be removed: %s"
        _logger.debug(text, found.root, removed.failure)
    removed += Removed(size=drop_records(found, removed.base_keys))
    if found.size - removed.size > target:
        removed += Removed(size=drop_records(found))
    return removed
