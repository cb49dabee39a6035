"""`verify`: compare all that a cache folder holds with what was published."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .damage import set_aside
from .entry import check_entry
from .inventory import Inventory, Item
from .sealed import read_sealed
from .verification import Damaged

__all__ = ["Found", "checkable", "verify"]


@dataclass(frozen=True)
class Found:
    """Something damaged: where it lies, what is wrong with it, and whether it was put aside."""

    path: str
    reason: str
    is_repaired: bool


def checkable(found: Inventory) -> list[Item]:
    """Return what can be compared: entries, precompiled headers, and records, which have a seal."""
    return found.of("entry", "header", "record", "identity")


def verify(items: Iterable[Item], *, repair: bool) -> Iterator[Found]:
    """Read every byte of some items and compare it.

    Parameters
    ----------
    items : iterable of Item
        From `checkable`.
    repair : bool
        Set damaged entries aside, into ``damaged``, and remove damaged records: both are made
        again when they are wanted.

    Yields
    ------
    Found
        What is damaged.
    """
    for item in items:
        # Twice: it may have been removed, or built anew, while it was read.
        reason = _problem(item) and _problem(item)
        if reason:
            yield Found(item.path, reason, repair and _repair(item, reason))


def _problem(item: Item) -> str:
    try:
        _check(item)
    except FileNotFoundError:
        return ""  # removed meanwhile
    except (Damaged, ValueError) as error:
        return str(error)
    except OSError as error:
        return f"it cannot be read: {error.strerror}"
    return ""


def _check(item: Item) -> None:
    if item.kind in ("entry", "header"):
        check_entry(item.path, key=item.name)
    else:
        read_sealed(item.path, _sealed_name(item))


def _sealed_name(item: Item) -> str:
    folder = os.path.dirname(item.path)
    # The same record of fields lies in several folders, and in its entry.
    if os.path.basename(os.path.dirname(folder)) == "fields":
        return f"fields/{item.name.removesuffix('.json')}"
    return f"{os.path.basename(folder)}/{item.name}"


def _repair(item: Item, reason: str) -> bool:
    with contextlib.suppress(OSError):
        if item.kind not in ("entry", "header"):
            os.unlink(item.path)
            return True
        # Another may have built it anew while the rest was read.
        try:
            _check(item)
        except (FileNotFoundError, Damaged):
            pass
        else:
            return True
        root = os.path.dirname(os.path.dirname(os.path.dirname(item.path)))
        set_aside(root, item.path, reason)
        return True
    return False
