"""`Limit`: how much a cache folder may take, and who sees to it that it takes no more."""

from __future__ import annotations

import logging
import os

from .capacity import capacity
from .entry import Entry
from .folder import HEADERS

__all__ = ["Limit"]

_logger = logging.getLogger("tvmffi_cubin")


class Limit:
    """The limit of a cache folder.

    Attributes
    ----------
    root : str
        The folder.
    size : int or None
        How many bytes it may take; None: any number.
    """

    def __init__(self, root: str, size: int | None) -> None:
        self.root = root
        self.size = size

    @staticmethod
    def of(root: str) -> Limit:
        """Return the limit that the user has set.

        Raises
        ------
        ValueError
            It is no number of bytes.
        """
        # Precompiled headers count as part of the cache that they are in.
        return Limit(root.removesuffix(f"/{HEADERS}"), capacity())

    def count(self, entry: Entry) -> None:
        """Count a new entry; where the folder may hold too much now, remove what was used least."""
        if self.size is None or entry.level != "cache":
            return
        from .disk_size import size_of
        from .tally import Tally

        try:
            tally = Tally.add(self.root, size_of(os.fspath(entry.path)))
            if tally is None or tally.exceeds(self.size):
                from .trim import trim

                trim(self.root, limit=self.size, keep={entry.key})
        except OSError as error:
            _logger.debug("cache folder %s is not kept below its limit: %s", self.root, error)
