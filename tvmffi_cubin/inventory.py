"""`Inventory`: what a cache folder holds that the cache itself has made, and how large it is."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass

from .folder import HEADERS
from .tally import entries_of, size_of, taken

__all__ = ["Inventory", "Item", "take"]

# TVMFFI_CUBIN_CACHE_DIR may name a folder with other things in it by mistake: these names decide
# what is the cache's own.
_KEY = re.compile(r"[0-9a-f]{32,}\Z")
_GROUP = re.compile(r"[0-9a-f]{2}\Z")
_FIELDS = re.compile(r"[0-9a-f]{16}\Z")
_RECORD = re.compile(r"[0-9a-f]{32,}\.json\Z")
_LOCK = re.compile(r"([0-9a-f]{32,}|trim)\.lock\Z")
_USE = re.compile(r".+-\d+-[0-9a-f]{16}\Z")
_TEMPORARY = re.compile(r"\d+-[0-9a-f]{16}\Z")
_DAMAGED = re.compile(r"\d{20}-[0-9a-f]{32,}\Z")
# What a killed process has left of a file that it was about to replace.
_HALF = re.compile(r"\.\d+-[0-9a-f]{16}\.tmp\Z")


@dataclass(frozen=True)
class Item:
    """A file or folder that is removed as a whole.

    Attributes
    ----------
    kind : str
        ``"entry"``, ``"header"`` (a precompiled one), ``"build"`` (a private folder of one that
        runs or has failed), ``"damaged"``, ``"record"`` (of files or fields that entries were built
        from), ``"identity"``, ``"lock"``, ``"use"`` or ``"half"`` (of a file).
    path : str
        Where it lies.
    size : int
        Bytes that it takes on the disk.
    used : float
        When it was last used, in seconds since the epoch.
    """

    kind: str
    path: str
    size: int
    used: float

    @property
    def name(self) -> str:
        """What it is called in its folder: the key, of an entry."""
        return os.path.basename(self.path)


@dataclass(frozen=True)
class Inventory:
    """What there was in a cache folder when it was looked at.

    Attributes
    ----------
    root : str
        The folder.
    items : tuple of Item
        All that the cache has made in it.
    """

    root: str
    items: tuple[Item, ...]

    @property
    def size(self) -> int:
        """Bytes that all of it takes on the disk."""
        return sum(item.size for item in self.items)

    def of(self, *kinds: str) -> list[Item]:
        """Return the items of some kinds."""
        return [item for item in self.items if item.kind in kinds]


def take(root: str) -> Inventory:
    """Look through a cache folder; other processes may use it meanwhile.

    Parameters
    ----------
    root : str
        The folder. It need not exist.

    Raises
    ------
    OSError
        It is no folder, or one in it cannot be read.
    """
    if os.path.lexists(root) and not os.path.isdir(root):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), root)
    return Inventory(root, tuple(_all(root)))


def _all(root: str) -> Iterator[Item]:
    for folder, kind in ((root, "entry"), (os.path.join(root, HEADERS), "header")):
        for group in _folders(os.path.join(folder, "entries"), _GROUP):
            yield from _items(kind, _folders(group.path, _KEY))
        yield from _items("build", _folders(os.path.join(folder, "tmp"), _TEMPORARY))
        yield from _items("damaged", _folders(os.path.join(folder, "damaged"), _DAMAGED))
        yield from _records(folder)


def _records(folder: str) -> Iterator[Item]:
    places = (
        ("record", "deps", _RECORD),
        ("identity", "identity", _RECORD),
        ("lock", "locks", _LOCK),
        ("use", "uses", _USE),
    )
    for kind, name, pattern in places:
        path = os.path.join(folder, name)
        yield from _items(kind, _files(path, pattern))
        yield from _items("half", _files(path, _HALF))
    for group in _folders(os.path.join(folder, "fields"), _FIELDS):
        yield from _items("record", _files(group.path, _RECORD))
        yield from _items("half", _files(group.path, _HALF))


def _items(kind: str, found: Iterator[os.DirEntry[str]]) -> Iterator[Item]:
    for entry in found:
        try:
            info = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            continue  # gone meanwhile
        size = size_of(entry.path) if entry.is_dir(follow_symlinks=False) else taken(info)
        yield Item(kind, entry.path, size, info.st_mtime)


def _folders(path: str, pattern: re.Pattern[str]) -> Iterator[os.DirEntry[str]]:
    for entry in entries_of(path):
        if pattern.match(entry.name) and entry.is_dir(follow_symlinks=False):
            yield entry


def _files(path: str, pattern: re.Pattern[str]) -> Iterator[os.DirEntry[str]]:
    for entry in entries_of(path):
        if pattern.match(entry.name) and entry.is_file(follow_symlinks=False):
            yield entry
