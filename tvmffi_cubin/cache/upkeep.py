"""The contents of a cache folder: size limit, `prune`, `clear`, `verify`, copies of entries."""

from __future__ import annotations

import contextlib
import glob
import os
import re
import shutil
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from .. import config
from .entry import MANIFEST, check_entry, entry_path, read_record
from .files import make_folder, read_sealed, remove, temporary_name
from .publish import adopt, private_folder

# In seconds: anything younger may be a running build.
_RECENT = 3600.0
# In seconds: how long leftovers of failed or killed builds stay in `tmp`. No build takes that long.
_OLD = 86_400.0

_HEX = "[0-9a-f]"
# TVMFFI_CUBIN_CACHE_DIR may mistakenly name a folder with other things in it: these patterns, by
# kind, identify what belongs to the cache.
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
    """Something that the cache creates and removes as a whole."""

    kind: str  # one of `_PLACES`
    path: str
    size: int  # in bytes
    used: float  # last, to the hour, in seconds since the epoch


def contents(root: str, *kinds: str) -> list[Item]:
    """Return a cache folder's items of some kinds, by default all, least recently used first."""
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
    """Return the size limit of the cache folder in bytes, or None if there is none."""
    size = "TVMFFI_CUBIN_CACHE_SIZE"
    return read_size(config.get(size) or "", what=size)


def read_size(text: str, *, what: str) -> int | None:
    """Parse the value of `what`, such as ``2GiB``, to bytes; ``unlimited`` gives None."""
    if text.strip().lower() == "unlimited":
        return None
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?\s*", text.lower())
    if match is None:
        raise ValueError(f"{what} must be a size in bytes (500MB, 2GiB) or unlimited, got {text!r}")
    unit = 1024 if match[3] else 1000
    return int(float(match[1]) * unit ** " kmgt".index(match[2] or " "))


def size_text(size: float) -> str:
    """Format a number of bytes for display, in units of 1000."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 999.95:
            return f"{size:.0f} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"


# What users ask for


def prune(root: str, limit: int | None, *, least_age: float = 0.0) -> tuple[int, int]:
    """Remove least recently used entries, unused for `least_age` seconds, down to `limit` bytes.

    Leftovers of builds and records without entries are removed, too. Raises OSError.
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
        records = (x for x in found if x.kind == "record")
        freed += _remove(root, (x for x in records if _leads_nowhere(root, x)))[1]
    return entries, freed


def _leads_nowhere(root: str, record: Item) -> bool:
    known = read_record(root, os.path.basename(record.path).removesuffix(".json"))
    return not any(os.path.isdir(entry_path(root, x.entry)) for x in known)


def clear(root: str) -> tuple[int, int]:
    """Remove everything that the cache made in a folder except running builds; raises OSError."""
    recent = time.time() - _RECENT
    return _remove(root, (x for x in contents(root) if x.kind != "build" or x.used < recent))


def _remove(root: str, items: Iterable[Item]) -> tuple[int, int]:
    """Remove items; return how many of them were entries, and the total bytes."""
    entries = size = 0
    for item in items:
        # Rename it first, so that nobody sees it half removed; existing mappings stay valid.
        grave = f"{root}/tmp/{temporary_name()}"
        make_folder(f"{root}/tmp")
        with contextlib.suppress(FileNotFoundError):
            os.rename(item.path, grave)
            remove(grave)
            entries += item.kind == "entry"
            size += item.size
    return entries, size


def verify(root: str) -> Iterator[tuple[str, str]]:
    """Remove damaged entries; yield each entry's path and what is wrong with it, if anything."""
    for item in contents(root, "entry"):
        problem = ""
        try:
            check_entry(item.path)
        except (OSError, ValueError) as error:
            problem = str(error)
            _remove(root, [item])
        yield item.path, problem


class Listed(NamedTuple):
    """An entry as users see it."""

    key: str
    name: str  # the module's; empty for what modules share
    file: str  # what the entry is for
    archs: tuple[str, ...]
    size: int
    built: float  # in seconds since the epoch, like `used`
    used: float
    path: str


def listed(root: str, names: Collection[str] = ()) -> list[Listed]:
    """Return the entries with some names, or all, least recently used first."""
    found = []
    for item in contents(root, "entry"):
        try:
            manifest = read_sealed(f"{item.path}/{MANIFEST}")
        except (OSError, ValueError):
            continue
        facts, file, built = manifest["facts"], manifest["loaded"][0], manifest["created"]
        about = facts.get("name", ""), file, tuple(facts.get("archs", ()))
        key = os.path.basename(item.path)
        found.append(Listed(key, *about, item.size, built, item.used, item.path))
    for name in names:
        if not any(x.name == name for x in found):
            raise ValueError(f"no entry in {root} is named {name!r}; see tvmffi-cubin cache list")
    return [x for x in found if not names or x.name in names]


# Copies


def copy(entries: Sequence[str], root: str) -> Iterator[tuple[str, str]]:
    """Copy entries to a cache folder; yield each one's key and, if it failed, why."""
    for path in entries:
        problem = ""
        try:
            with private_folder(root) as folder:
                shutil.copytree(path, folder, dirs_exist_ok=True)
                folder.chmod(0o700)  # a read-only folder cannot be moved
                adopt(root, folder)
        except (shutil.Error, ValueError) as error:
            problem = str(error)
        yield os.path.basename(path), problem


def let_all_read(layer: Path) -> None:
    """Make a folder of copies readable by everyone, for ``TVMFFI_CUBIN_CACHE_PATH``."""
    with contextlib.suppress(OSError):
        (layer / "tmp").rmdir()  # if it is empty: its contents are not ours
    layer.chmod(0o755)
    for name in ("entries", "history", "records"):
        for parent, _, files in os.walk(layer / name):
            os.chmod(parent, 0o755)
            for file in files:
                os.chmod(f"{parent}/{file}", 0o644)
