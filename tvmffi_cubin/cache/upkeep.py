"""What a cache folder holds, and less of it: its size limit, `prune`, `clear`, `verify`."""

from __future__ import annotations

import contextlib
import glob
import logging
import os
import re
import time
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from .. import config
from .entry import Damaged, check_entry, entry_path, read_manifest
from .files import remove, temporary_name
from .folder import make_folder
from .record import read_record

_SIZE = "TVMFFI_CUBIN_CACHE_SIZE"
_UNLIMITED = "unlimited"
# In seconds: what was used since is spared, since a process may be about to load it.
_RECENT = 3600.0
# In seconds: how long what failed or killed builds left in `tmp` stays. No build takes as long.
_OLD = 86_400.0

_HEX = "[0-9a-f]"
# TVMFFI_CUBIN_CACHE_DIR may name a folder with other things in it by mistake: these names decide
# what is the cache's own, by kind.
_PLACES = {
    "entry": f"entries/{_HEX * 2}/{_HEX * 64}",
    "build": f"tmp/[0-9]*-{_HEX * 16}",
    "record": f"records/{_HEX * 64}.json",
    "history": f"history/{_HEX * 64}.json",
    "identity": f"identity/{_HEX * 64}.json",
    "lock": f"locks/{_HEX * 64}.lock",
    "leftover": f"*/.[0-9]*-{_HEX * 16}.tmp",
}


class Item(NamedTuple):
    """A file or folder that the cache made and that is removed as a whole.

    `kind` is one of `_PLACES`; `size` is in bytes, and `used` when it was last used, to an hour, in
    seconds since the epoch.
    """

    kind: str
    path: str
    size: int
    used: float

    @property
    def name(self) -> str:
        """What it is called in its folder: the key, of an entry."""
        return os.path.basename(self.path)


class Removed(NamedTuple):
    """How many entries were removed, and how many bytes in all."""

    entries: int
    size: int


def contents(root: str, *kinds: str) -> list[Item]:
    """Return what a cache folder holds of some kinds, by default of all, least recent use first."""
    found = []
    for kind in kinds or _PLACES:
        for path in glob.iglob(f"{glob.escape(root)}/{_PLACES[kind]}"):
            with contextlib.suppress(FileNotFoundError):
                found.append(Item(kind, path, _size_of(path), os.stat(path).st_mtime))
    return sorted(found, key=lambda item: (item.used, item.path))


def _size_of(path: str) -> int:
    if not os.path.isdir(path) or os.path.islink(path):
        return os.lstat(path).st_size
    return sum(_size_of(f"{path}/{name}") for name in os.listdir(path))


# The limit


def capacity() -> int | None:
    """Return how many bytes the cache folder may take, None where there is no limit."""
    return read_size(config.get(_SIZE) or _UNLIMITED, what=_SIZE)


def read_size(text: str, *, what: str) -> int | None:
    """Return the bytes that a text such as ``500MB`` or ``2GiB`` says, None of ``unlimited``.

    `what` is whose value it is, for the ValueError where it says none.
    """
    if text.strip().lower() == _UNLIMITED:
        return None
    match = re.fullmatch(r"\s*(\d{1,18}(?:\.\d{1,9})?)\s*([kmgt]?)(i?)b?\s*", text.lower())
    unit = 1024 if match and match[3] else 1000
    size = int(float(match[1]) * unit ** " kmgt".index(match[2] or " ")) if match else 0
    if size <= 0:
        raise ValueError(
            f"{what}={text!r}: wanted a number of bytes above 0, such as 500MB, 2GiB or 5000000000,"
            f" or {_UNLIMITED}; to keep nothing at all, set TVMFFI_CUBIN_CACHE=off"
        )
    return size


def size_text(size: float) -> str:
    """Return a number of bytes for people, in units of 1000."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 999.95:
            return f"{size:.0f} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"


def keep_below_limit(root: str) -> None:
    """Remove what was used least recently where a cache folder holds too much, and say so.

    Its file ``looked`` says when this was done for the last time. A disk that takes no more is
    fine.
    """
    limit = capacity()
    with contextlib.suppress(OSError):
        with open(f"{root}/looked", "w"):
            os.utime(f"{root}/looked")
        removed = prune(root, limit, least_age=_RECENT)
        if removed.entries:
            logging.getLogger("tvmffi_cubin").info(
                "cache folder %s: %d entries that were not used for longest were removed, %s freed",
                *(root, removed.entries, size_text(removed.size)),
            )


# What people ask for


def prune(root: str, limit: int | None, *, least_age: float = 0.0) -> Removed:
    """Remove what was used least recently until a folder holds at most `limit` bytes.

    What was used in the last `least_age` seconds is spared. What builds left, and records that lead
    nowhere, go, too. Raises OSError.
    """
    found, moment = contents(root), time.time()
    left = ("build", "lock", "leftover")
    chosen = [x for x in found if x.kind in left and x.used < moment - _OLD]
    size = sum(x.size for x in found) - sum(x.size for x in chosen)
    for item in found:
        if limit is None or size <= limit:
            break
        if item.kind == "entry" and item.used <= moment - least_age:
            chosen.append(item)
            size -= item.size
    removed = _remove(root, chosen)
    if removed.entries or not least_age:
        rest = _remove(root, (x for x in found if x.kind == "record" and _leads_nowhere(root, x)))
        removed = removed._replace(size=removed.size + rest.size)
    return removed


def _leads_nowhere(root: str, record: Item) -> bool:
    if record.used > time.time() - _RECENT:
        return False  # somebody may be about to write to it
    known = read_record(root, record.name.removesuffix(".json"))
    return not any(os.path.isdir(entry_path(root, x.entry)) for x in known)


def clear(root: str) -> Removed:
    """Remove all that the cache has made in a folder, but for builds that run.

    Other processes may use the cache meanwhile: they find an entry whole or not at all. Raises
    OSError.
    """
    recent = time.time() - _RECENT
    return _remove(root, (x for x in contents(root) if x.kind != "build" or x.used < recent))


def _remove(root: str, items: Iterable[Item]) -> Removed:
    entries = size = 0
    for item in items:
        # So that nobody sees it half gone; whoever has mapped it keeps what is mapped.
        grave = f"{root}/tmp/{temporary_name()}"
        make_folder(f"{root}/tmp")
        with contextlib.suppress(FileNotFoundError):
            os.rename(item.path, grave)
            remove(grave)
            entries += item.kind == "entry"
            size += item.size
    return Removed(entries, size)


def verify(root: str) -> Iterator[tuple[str, str]]:
    """Compare every byte of the entries with what was published, and remove what is damaged.

    Yields for each its path, and what is wrong with it.
    """
    for item in contents(root, "entry"):
        problem = ""
        try:
            check_entry(item.path)
        except Damaged as error:
            problem = str(error)
            _remove(root, [item])
        except FileNotFoundError:
            continue  # removed meanwhile
        yield item.path, problem


class Listed(NamedTuple):
    """An entry as people see it.

    `name` is the module's, empty of what is no module's own; `file` is what the entry is for: a
    shared object, or a part of a build. `size` is in bytes; `built` and `used` are seconds since
    the epoch.
    """

    key: str
    name: str
    file: str
    archs: tuple[str, ...]
    size: int
    built: float
    used: float
    path: str


def listed(root: str, names: Collection[str] = ()) -> list[Listed]:
    """Return what is known of entries, of some names or all, the least recently used first.

    A ValueError where no entry has one of the names.
    """
    found = []
    for item in contents(root, "entry"):
        try:
            manifest = read_manifest(item.path)
        except (Damaged, FileNotFoundError):
            continue
        facts, file, built = manifest["facts"], manifest["loaded"][0], manifest["created"]
        about = facts.get("name", ""), file, tuple(facts.get("archs", ()))
        found.append(Listed(item.name, *about, item.size, built, item.used, item.path))
    for name in names:
        if not any(x.name == name for x in found):
            raise ValueError(f"no entry of {root} is called {name!r}; see tvmffi-cubin cache list")
    return [x for x in found if not names or x.name in names]
