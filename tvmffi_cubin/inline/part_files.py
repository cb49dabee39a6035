"""What a part of a module was made of, as its entry in the cache keeps it for the module's own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ..cache.entry import Entry
from ..cache.record import Files

if TYPE_CHECKING:
    from .tools import Toolset


class PartFiles(NamedTuple):
    """The files that a part of a module read, and those that it would have read instead.

    Attributes
    ----------
    read, absent : tuple of str
        Paths.
    unknown : tuple of str
        See `Product`.
    """

    read: tuple[str, ...]
    absent: tuple[str, ...]
    unknown: tuple[str, ...] = ()

    def facts(self, tools: Toolset) -> dict[str, Any]:
        """Return them as JSON values that hold wherever the tools lie."""
        observer = Files(tools.roots)

        def portable(paths: Iterable[str]) -> list[str]:
            return [observer.portable(path) for path in dict.fromkeys(paths)]

        return {
            "read": portable(self.read),
            "absent": portable(self.absent),
            "unknown": [*self.unknown],
        }

    @classmethod
    def of(cls, entry: Entry, tools: Toolset) -> PartFiles:
        """Return those of an entry whose facts have them."""
        observer = Files(tools.roots)
        facts: Mapping[str, Any] = entry.facts["files"]
        read, absent = (
            tuple(observer.path(name) for name in facts[what]) for what in ("read", "absent")
        )
        return cls(read, absent, tuple(facts["unknown"]))
