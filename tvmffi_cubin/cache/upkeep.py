"""What a cache folder holds, and less of it: its size limit, `prune`, `clear`, `verify`."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import stat
import time
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from .. import config
from ..errors import CacheError
from .entry import Damaged, check_entry, entry_path, read_manifest
from .files import make_folder, read_sealed, remove, share, temporary_name
from .private import sweep, unused
from .record import read_record

_SIZE = "TVMFFI_CUBIN_CACHE_SIZE"
_UNLIMITED = "unlimited"
# Of the limit this much is left filled, so that not every look has to remove something.
_FILLED = 0.9
# In seconds: what was used since is spared, since a process may be about to load it. As nothing
# younger is ever removed, nobody looks more often.
_RECENT = 3600.0

# TVMFFI_CUBIN_CACHE_DIR may name a folder with other things in it by mistake: these names decide
# what is the cache's own, by kind.
_PLACES = {
    "entry": r"entries/[0-9a-f]{2}/[0-9a-f]{64}",
    "build": r"tmp/.*\d+-[0-9a-f]{16}",
    "record": r"records/[0-9a-f]{64}\.json",
    "history": r"history/[0-9a-f]{32}\.json",
    "identity": r"identity/[0-9a-f]{64}\.json",
    "lock": r"locks/[0-9a-f]{64}\.lock",
    "leftover": r"(?:records|history|identity)/\.\d+-[0-9a-f]{16}\.tmp",
}
# What entries are whose first file is called so.
_KINDS = {
    "generated.json": "images",
    "tvmffi_cubin.host.o": "side",
    "tvmffi_cubin.device": "side",
    "tvmffi_cubin_precompiled.h": "headers",
}


class Item(NamedTuple):
    """A file or folder that the cache made and that is removed as a whole.

    `kind` is one of `_PLACES`; `size` is in bytes on the disk, and `used` when it was last used, to
    an hour, in seconds since the epoch. `root` is the cache folder.
    """

    kind: str
    path: str
    size: int
    used: float
    root: str

    @property
    def name(self) -> str:
        """What it is called in its folder: the key, of an entry."""
        return os.path.basename(self.path)


class Removed(NamedTuple):
    """How many entries were removed, and how many bytes in all."""

    entries: int = 0
    size: int = 0


def contents(root: str, *kinds: str) -> list[Item]:
    """Return what a cache folder holds of some kinds, by default of all; raises CacheError."""
    found = []
    for kind, place in _PLACES.items():
        if not kinds or kind in kinds:
            for path in _matching(root, place.split("/")):
                with contextlib.suppress(FileNotFoundError):
                    used = os.lstat(path).st_mtime
                    found.append(Item(kind, path, _size_of(path), used, root))
    return found


def _matching(folder: str, parts: list[str]) -> Iterator[str]:
    try:
        names = os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise CacheError(f"{folder} cannot be read: {error}; check who owns it") from error
    for name in sorted(names):
        if re.fullmatch(parts[0], name):
            path = os.path.join(folder, name)
            yield from _matching(path, parts[1:]) if parts[1:] else (path,)


def _size_of(path: str) -> int:
    info = os.lstat(path)
    # Of a file that is not written out yet, or is compressed, the blocks may be none.
    size = max(info.st_blocks * 512, info.st_size)
    if stat.S_ISDIR(info.st_mode):
        with contextlib.suppress(OSError), os.scandir(path) as inner:
            size += sum(_size_of(entry.path) for entry in inner)
    return size


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
    """Once an hour, remove what was used least recently where a cache folder holds too much."""
    limit = capacity()
    mark, moment = f"{root}/looked", time.time() - _RECENT
    try:
        if limit is None or (os.path.exists(mark) and os.stat(mark).st_mtime > moment):
            return
        with open(mark, "w"):
            os.utime(mark)
        share(mark)
        plan = plan_prune(root, max_size=limit, filled=_FILLED)
        chosen = [item for item in plan if item.used < moment]
        if chosen:
            removed = prune(root, chosen)
            logging.getLogger("tvmffi_cubin").info(
                "cache folder %s: %d entries that were not used for longest were removed, %s freed",
                *(root, removed.entries, size_text(removed.size)),
            )
    except (OSError, CacheError) as error:
        logging.getLogger("tvmffi_cubin").debug("%s is not kept below its limit: %s", root, error)


# What people ask for


def plan_prune(root: str, *, max_size: int | None, filled: float = 1.0) -> list[Item]:
    """Return what is to go so that a folder has at most `max_size` bytes.

    Where there is too much, `filled` is how much of `max_size` is left.
    """
    found = contents(root)
    items = [item for item in found if item.kind in ("entry", "build")]
    items.sort(key=lambda item: (item.used, item.path))
    size = sum(item.size for item in found)
    kept = size if max_size is None or size <= max_size else max_size * filled
    chosen = []
    for item in items:
        if size > kept:
            chosen.append(item)
            size -= item.size
    return chosen


def prune(root: str, items: Iterable[Item]) -> Removed:
    """Remove what `plan_prune` chose, and what leads nowhere."""
    removed = _evict(items)
    sweep(f"{root}/tmp")
    return removed._replace(size=removed.size + _drop_records(contents(root), _RECENT))


def clear(root: str) -> Removed:
    """Remove all that the cache has made in a folder, but for builds that run.

    Other processes may use the cache meanwhile: they find an entry whole or not at all.
    """
    found = contents(root)
    removed = _evict(x for x in found if x.kind in ("entry", "build"))
    return removed._replace(size=removed.size + _drop_records(found, 0.0, "history", "identity"))


def _evict(items: Iterable[Item]) -> Removed:
    entries = size = 0
    for item in items:
        # So that nobody sees it half gone; whoever has mapped it keeps what is mapped.
        grave = f"{item.root}/tmp/{temporary_name()}"
        is_build = item.kind == "build"
        try:
            make_folder(os.path.dirname(grave), item.root)
            with unused(item.path) if is_build else contextlib.nullcontext(True) as is_free:
                if not is_free:
                    continue
                os.rename(item.path, grave)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise CacheError(
                f"{item.path} cannot be removed: {error}; check who owns it, or set "
                "TVMFFI_CUBIN_CACHE_DIR to another folder"
            ) from error
        remove(grave)
        entries += item.kind == "entry"
        size += item.size
    return Removed(entries, size)


def _drop_records(found: Iterable[Item], least_age: float, *kinds: str) -> int:
    """Remove records whose entries are gone, and what killed processes left; return the bytes."""
    moment = time.time() - least_age
    gone = 0
    for item in found:
        if item.used > moment or item.kind not in ("record", "lock", "leftover", *kinds):
            continue
        known = read_record(item.path) if item.kind == "record" else []
        if not any(os.path.isdir(entry_path(item.root, x.entry)) for x in known):
            remove(item.path)
            gone += item.size
    return gone


def verify(items: Iterable[Item]) -> Iterator[tuple[str, str]]:
    """Compare every byte of some items with what was published, and remove what is damaged.

    Yields paths and reasons.
    """
    for item in items:
        # Twice: it may have been removed, or built anew, while it was read.
        if _problem(item) and (reason := _problem(item)):
            remove(item.path)
            yield item.path, reason


def _problem(item: Item) -> str:
    try:
        if item.kind == "entry":
            check_entry(item.path)
        else:
            read_sealed(item.path)
    except FileNotFoundError:
        return ""  # removed meanwhile
    except (OSError, ValueError) as error:
        return str(error)
    return ""


class Listed(NamedTuple):
    """An entry as people see it; of a damaged one nothing else is known.

    `size` is in bytes; `built` and `used` are seconds since the epoch.
    """

    key: str
    kind: str
    name: str
    archs: tuple[str, ...]
    size: int
    built: float
    used: float
    base_key: str
    path: str


def listed(items: Iterable[Item]) -> Iterator[Listed]:
    """Yield what is known of entries; those that are gone meanwhile are left out."""
    for item in items:
        try:
            manifest = read_manifest(item.path)
        except FileNotFoundError:
            continue
        except Damaged:
            yield Listed(item.name, "damaged", "?", (), item.size, item.used, item.used, "", "")
            continue
        facts, so = manifest["facts"], manifest["so"]
        kind = _KINDS.get(so, "module")
        # Images are called as their file is.
        file = so if kind != "images" else next(iter(manifest["used"]), "?")
        name = str(facts.get("name") or os.path.splitext(file)[0])
        yield Listed(
            key=item.name,
            kind=kind,
            # What was imported may have any text, which a terminal might obey.
            name=name if name.isprintable() else ascii(name),
            archs=tuple(x for x in map(str, facts.get("archs", ())) if x.isprintable()),
            size=item.size,
            built=float(manifest["created"]),
            used=item.used,
            base_key=str(manifest["base_key"]),
            path=item.path,
        )


def entries_named(root: str, names: Collection[str]) -> list[Listed]:
    """Return the modules of a cache folder by name; all without."""
    found = [x for x in listed(contents(root, "entry")) if x.kind != "headers"]
    for name in names:
        if not any(x.name == name for x in found):
            raise ValueError(f"no entry of {root} is called {name!r}; see tvmffi-cubin cache list")
    found = [x for x in found if not names or x.name in names]
    return sorted(found, key=lambda x: (x.name, x.key))
