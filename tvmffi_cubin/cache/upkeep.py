"""What a cache folder holds: its size limit, `prune`, `clear`, `verify`; and copies of entries."""

from __future__ import annotations

import contextlib
import glob
import logging
import os
import re
import shutil
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from .. import config
from .entry import Damaged, check_entry, entry_path, read_manifest, read_record
from .files import make_folder, remove, temporary_name
from .publish import adopt, cleared, make_directory

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
    """What the cache made and removes as a whole; `kind` is one of `_PLACES`, `size` in bytes.

    `used` is when it was last used, to an hour, in seconds since the epoch.
    """

    kind: str
    path: str
    size: int
    used: float

    @property
    def name(self) -> str:
        """What it is called in its folder: the key, of an entry."""
        return os.path.basename(self.path)


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
    """Return the bytes that the value of `what` says, such as ``2GiB``; None of ``unlimited``."""
    if text.strip().lower() == _UNLIMITED:
        return None
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?\s*", text.lower())
    if match is None:
        raise ValueError(f"{what}={text!r}: wanted bytes, such as 500MB or 2GiB, or {_UNLIMITED}")
    unit = 1024 if match[3] else 1000
    return int(float(match[1]) * unit ** " kmgt".index(match[2] or " "))


def size_text(size: float) -> str:
    """Return a number of bytes for people, in units of 1000."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 999.95:
            return f"{size:.0f} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"


def keep_below_limit(root: str) -> None:
    """Remove what was used least recently where a cache folder holds too much, and say so.

    Its file ``looked`` says when that was looked at for the last time.
    """
    limit = capacity()
    with contextlib.suppress(OSError):
        with open(f"{root}/looked", "w"):
            os.utime(f"{root}/looked")
        entries, freed = prune(root, limit, least_age=_RECENT)
        if entries:
            logging.getLogger("tvmffi_cubin").info(
                "cache folder %s: %d entries that were not used for longest were removed, %s freed",
                *(root, entries, size_text(freed)),
            )


# What people ask for


def prune(root: str, limit: int | None, *, least_age: float = 0.0) -> tuple[int, int]:
    """Remove what was used least recently, and `least_age` seconds ago, down to `limit` bytes.

    What builds left, and records that lead nowhere, go, too. Raises OSError.
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
    entries, freed = _remove(root, chosen)
    if entries or not least_age:
        left_over = (x for x in found if x.kind == "record" and _leads_nowhere(root, x))
        freed += _remove(root, left_over)[1]
    return entries, freed


def _leads_nowhere(root: str, record: Item) -> bool:
    if record.used > time.time() - _RECENT:
        return False  # somebody may be about to write to it
    known = read_record(root, record.name.removesuffix(".json"))
    return not any(os.path.isdir(entry_path(root, x.entry)) for x in known)


def clear(root: str) -> tuple[int, int]:
    """Remove all that the cache has made in a folder, but for builds that run; raises OSError."""
    recent = time.time() - _RECENT
    return _remove(root, (x for x in contents(root) if x.kind != "build" or x.used < recent))


def _remove(root: str, items: Iterable[Item]) -> tuple[int, int]:
    """Remove items; return how many entries that were, and how many bytes in all."""
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
    return entries, size


def verify(root: str) -> Iterator[tuple[str, str]]:
    """Remove entries that are not what was published; yield each one's path, and what is wrong."""
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
    """An entry as people see it; `built` and `used` are seconds since the epoch.

    `name` is the module's, empty for what modules share; `file` is what the entry is for.
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
    """Return the entries of some names or all, the least recently used first."""
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


# Elsewhere


def copy(entries: Sequence[str], root: str) -> Iterator[tuple[str, str]]:
    """Copy entries to a cache folder, each once it was verified.

    Yields for each its key, and what is wrong with it where it did not arrive.
    """
    for path in entries:
        problem = ""
        try:
            folder = make_directory(root)
            with cleared(folder):
                shutil.copytree(path, folder, dirs_exist_ok=True)
                os.chmod(folder, 0o700)  # a folder that is read alone cannot be moved
                adopt(root, folder)
        except (shutil.Error, ValueError) as error:
            problem = str(error)
        yield os.path.basename(path), problem


def let_all_read(layer: Path) -> None:
    """Make a folder of copies one for ``TVMFFI_CUBIN_CACHE_PATH``, which everybody may read."""
    with contextlib.suppress(OSError):
        (layer / "tmp").rmdir()  # what is in it is not ours
    layer.chmod(0o755)
    for name in ("entries", "history", "records"):
        for parent, _, files in os.walk(layer / name):
            os.chmod(parent, 0o755)
            for file in files:
                os.chmod(f"{parent}/{file}", 0o644)
