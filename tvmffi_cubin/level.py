"""`Level`: one of the folders that are looked through, and where things lie in it."""

from __future__ import annotations

import os
from typing import NamedTuple

__all__ = ["Level"]


class Level(NamedTuple):
    """A cache folder as a look-up sees it.

    Attributes
    ----------
    root : str
        The folder.
    kind : str
        ``"cache"``, the user's; ``"layer"``, made elsewhere and never written; or ``"private"``,
        which this process made and removes.
    is_writable : bool
        Whether anything may be changed in it.
    """

    root: str
    kind: str = "cache"
    is_writable: bool = True

    def deps_path(self, base_key: str) -> str:
        """Return the path of the record of what builds with a base key read."""
        return os.path.join(self.root, "deps", f"{base_key}.json")

    def entry_path(self, key: str) -> str:
        """Return the path of the folder that is published under a key."""
        return os.path.join(self.root, "entries", key[:2], key)

    def lock_path(self, base_key: str) -> str:
        """Return the path of the file that who builds a key locks."""
        return os.path.join(self.root, "locks", f"{base_key}.lock")
