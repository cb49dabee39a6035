"""`Cache`: key → published folder; lookup, one builder at a time, atomic publishing."""

from __future__ import annotations

import contextlib
import errno
import functools
import logging
import os
import stat
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .. import config
from ..errors import CacheError
from .entry import Entry, Files, Reads, Roots, entry_path, read_record, verify, write_record
from .files import cache_folder, changed_ns, stamp

if TYPE_CHECKING:
    from .entry import Product

NOTHING = "nothing was built with these inputs"
"""The reason that a lookup gives when it finds no record."""

# How long to wait for another builder of the same key before building too, in seconds.
_PATIENCE = 120.0
# Resolution of an entry's last use, in seconds: recording it costs more than checking it.
_RARELY = 3600.0

_once_a_process = functools.cache(stamp)
_logger = logging.getLogger("tvmffi_cubin")
_warn_once = functools.lru_cache(maxsize=256)(_logger.warning)

counts: Counter[str] = Counter()
"""Module lookups of this process: how many hit and missed, and how many had each outcome."""
events: deque[tuple[str, str, str, float]] = deque(maxlen=100)
"""The most recent lookups: see `info.CacheEvent`."""
os.register_at_fork(after_in_child=counts.clear)
os.register_at_fork(after_in_child=events.clear)


def note(name: str, outcome: str, seconds: float, reason: str, *, is_hit: bool = False) -> None:
    """Record a lookup of a module."""
    outcome = "hit" if outcome == "cache" else outcome
    counts.update(("hits" if is_hit else "misses", outcome))
    events.append((name, outcome, reason, seconds))


MODES = ("on", "read", "require", "off")

# By cache folder and mode: the folder that takes this process's builds in its place.
stand_ins: dict[tuple[str, str], str] = {}
# A forked child must not rely on a folder that its parent removes.
os.register_at_fork(after_in_child=stand_ins.clear)


def default(roots: Roots = dict) -> Cache:
    """Return the user's cache, configured by the environment; raises CacheError and ValueError."""
    mode, root = config.get("TVMFFI_CUBIN_CACHE") or "on", cache_folder()
    if mode not in MODES:
        wanted = ", ".join(map(repr, MODES))
        raise ValueError(f"TVMFFI_CUBIN_CACHE must be unset or one of {wanted}, got {mode!r}")
    named = (config.get("TVMFFI_CUBIN_CACHE_PATH") or "").split(os.pathsep)
    found = dict.fromkeys(os.path.abspath(os.path.expanduser(x)) for x in named if x)
    layers = [layer for layer in found if layer != root]
    if mode == "off":
        return Cache(root, roots=roots, mode=mode)
    for folder in [root, *layers]:
        _check(folder, is_layer=folder != root)
    return Cache(root, roots=roots, layers=layers, mode=mode)


def _check(folder: str, *, is_layer: bool) -> None:
    """Raise CacheError if others can write to a folder; a layer may belong to another user."""
    try:
        info = os.stat(folder)
    except OSError:
        return  # the cache folder is created later, or a stand-in is
    is_ours = is_layer or info.st_uid in (os.geteuid(), 0)
    if not is_ours or info.st_mode & (stat.S_IWOTH | stat.S_IWGRP):
        raise CacheError(
            f"{'layer' if is_layer else 'cache folder'} {folder} is unsafe: it belongs to user "
            f"{info.st_uid}, its mode is {stat.S_IMODE(info.st_mode):04o}, and whoever can write "
            "to it can run code here; use a folder that only you can write to, or chmod go-w it"
        )


class Cache:
    """A cache folder, `root`, and the layers that are searched before it.

    Folders are created when something is published. Files under `roots`, which returns folders by
    token such as ``"$CUDA"``, are recorded by token, so the same header elsewhere gives the same
    entry. `mode` is ``"on"``; ``"read"``, which writes nothing there; ``"require"``, which builds
    nothing either; or ``"off"``, which looks up nothing.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        roots: Roots = dict,
        layers: Sequence[str] = (),
        mode: str = "on",
    ) -> None:
        self._root = os.path.abspath(root)
        self.root = Path(self._root)
        self.roots = roots
        self.layers = tuple(layers)
        self.mode = mode

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders to search, in order."""
        own = stand_ins.get((self._root, self.mode))
        lasting = () if self.mode == "off" else (*self.layers, self._root)
        return (*lasting, own) if own else lasting

    # Looking up

    def find(self, base_key: str, *, may_lack: bool = False) -> Entry | str:
        """Return the entry built from this key and the files as they are now, or why there is none.

        With `may_lack`, files that are missing on this machine are ignored.
        """
        # With "require", nothing can be built from changed headers, which many modules share.
        files = Files(self.roots, _once_a_process if self.mode == "require" else stamp)
        change = problem = ""
        # In reverse, as the last folder has the latest stamps; the folders' order is for entries.
        for folder in reversed(self.folders):
            for known in read_record(folder, base_key):
                current = known.check(files, may_lack=may_lack)
                if isinstance(current, str):
                    change = change or current
                    continue
                found = self._entry(base_key, known, current)
                if isinstance(found, Entry):
                    return found
                problem = problem or found
        nothing = "TVMFFI_CUBIN_CACHE=off" if self.mode == "off" else NOTHING
        return problem or change or nothing

    def _entry(self, base_key: str, known: Reads, current: Reads) -> Entry | str:
        """Return the entry that a record's row points to, or why there is none."""
        problem = "its entry was removed"
        for folder in self.folders:
            path = entry_path(folder, current.entry)
            try:
                is_copy = folder in self.layers
                verified = verify(path, current.loaded, current.verified, is_copy=is_copy)
            except (OSError, ValueError) as error:
                if os.path.lexists(path):
                    problem = f"its entry is damaged: {error}"
                    _warn_once("%s is damaged (%s) and is ignored", path, str(error))
                continue
            self._note_use(base_key, path, known, current._replace(verified=verified))
            return self._entry_of(f"{path}/{current.loaded[0]}")
        return problem

    def _note_use(self, base_key: str, path: str, known: Reads, now: Reads) -> None:
        """Save new stamps and the time of an entry's last use, to the hour."""
        if self.mode != "on":
            return
        with contextlib.suppress(OSError):
            if now != known:
                write_record(self._root, base_key, now)
            recently = time.time() - _RARELY
            if path.startswith(f"{self._root}/") and os.stat(path).st_mtime < recently:
                os.utime(path)

    # Building

    def obtain(
        self,
        base_key: str,
        make: Callable[[Path], Product],
        *,
        patience: float = _PATIENCE,
        name: str = "a file",
        is_shared: bool = False,
        reason: str = "",
    ) -> Entry:
        """Return the entry of a key, building and publishing it if there is none.

        `make` builds in the empty folder it is given. Of several processes, one builds and the
        others wait up to `patience` seconds; `name` tells them for what. With `is_shared`, the
        entry may come from the remote and goes to it. `reason` is why the caller found nothing.
        """
        from .publish import builder_lock

        if not reason:
            found = self.find(base_key)
            if isinstance(found, Entry):
                return found
            reason = found
        root = self.writable()
        with builder_lock(f"{root}/locks/{base_key}.lock", patience=patience, name=name):
            # Another process may have built it meanwhile.
            found = self.find(base_key)
            if isinstance(found, Entry):
                return found
            remote = None
            if is_shared and self.mode != "off" and config.get("TVMFFI_CUBIN_CACHE_REMOTE"):
                from .remote import sharing

                remote = sharing()
            entry = remote.take(base_key, root, self.roots) if remote else None
            if entry is None:
                if self.mode == "require":
                    raise CacheError(
                        f"{name} is not in the cache, and TVMFFI_CUBIN_CACHE=require forbids "
                        f"building it: {reason}"
                    )
                entry = self._build(root, base_key, make)
                if remote and entry.level == "cache":
                    remote.offer(base_key, entry)
        looked_ns = changed_ns(stamp(f"{self._root}/looked"))
        if self.mode == "on" and looked_ns < time.time_ns() - _RARELY * 1e9:
            from .upkeep import capacity, prune

            limit = capacity()
            with contextlib.suppress(OSError):
                (self.root / "looked").touch()
                prune(self._root, limit, least_age=_RARELY)  # processes may be about to load some
        return entry

    def _build(self, root: str, base_key: str, make: Callable[[Path], Product]) -> Entry:
        from .publish import build, stand_in

        try:
            return self._entry_of(build(root, base_key, make, self.roots))
        except OSError as error:
            if root != self._root or error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            root = stand_in(self._root, self.mode, error)
        # Outside the handler: the first error must not become the context of another.
        return self._entry_of(build(root, base_key, make, self.roots))

    def writable(self) -> str:
        """Return the folder that takes builds: this one, or its stand-in."""
        from .publish import private_folder, stand_in

        if self.mode == "on" and (self._root, self.mode) not in stand_ins:
            try:
                with private_folder(self._root) as folder:
                    folder.rmdir()
                return self._root
            except OSError as error:
                return stand_in(self._root, self.mode, error)
        return stand_in(self._root, self.mode)

    def _entry_of(self, so: str) -> Entry:
        """Return the entry that contains a shared object."""
        root = so.rsplit("/", 4)[0]
        level = "layer" if root in self.layers else "private"
        return Entry(Path(so), "cache" if root == self._root else level)
