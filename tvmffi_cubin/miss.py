"""`Miss`: why a look-up in the cache found nothing, and what is in its way."""

from __future__ import annotations

import contextlib
from typing import NamedTuple

from .damage import set_aside

__all__ = ["NOTHING", "Miss"]


class Miss(NamedTuple):
    """Why a look-up found nothing.

    Attributes
    ----------
    reason : str
        For people.
    changed : tuple of str
        The first few files that are not what they were when something was built with this key.
    damaged : tuple of tuples
        Entries that lie in the way and are to be set aside: cache folder, path, what is wrong.
    """

    reason: str
    changed: tuple[str, ...] = ()
    damaged: tuple[tuple[str, str, str], ...] = ()

    def clear_way(self) -> None:
        """Set damaged entries aside; with the lock of the key held, so that no whole one goes."""
        for root, path, reason in self.damaged:
            # Where it cannot be, publishing finds it in the way, and says so.
            with contextlib.suppress(OSError):
                set_aside(root, path, reason)


NOTHING = "nothing was built with these inputs"
"""The reason of a look-up that met no record."""
