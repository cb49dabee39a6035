"""`Store`: the precompiled headers of one process, in a folder that goes with it."""

from __future__ import annotations

import atexit
import contextlib
import errno
import fcntl
import os
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from ..cache.files import remove
from ..cache.lock import is_at
from ..cache.record import Files, Reads
from ..cuda.program import Nvrtc
from ..errors import CubinError
from ..pch import has_room

__all__ = ["Kept", "Store"]

# Each takes 50 to 150 MB.
_MOST = 4

_PREFIX = "tvmffi_cubin-nvrtc-"

_guard = threading.Lock()
_stores: dict[str, Store] = {}


class Seen(NamedTuple):
    """The headers of one prefix as they were: the user's, and those of packages, which are many."""

    own: Reads
    packages: Reads

    def check_own(self) -> Seen | None:
        """Return the same with today's stamps, None where one of the user's headers changed."""
        own = self.own.check(Files({}))
        return None if own is None else self._replace(own=own)

    def check_packages(self) -> Seen | None:
        """Return the same with today's stamps, None where a header of a package changed."""
        packages = self.packages.check(Files({}))
        return None if packages is None else self._replace(packages=packages)


@dataclass(eq=False)
class Kept:
    """The folder of one set of headers: those of one prefix with the same options.

    `path` is what NVRTC calls it, see `_Shelf`; `seen` the headers as they were when they were
    precompiled, None while that is under way, by one user; `users` how many compilations are under
    way with it; `is_stale` whether it was used although a header had changed.
    """

    folder: str
    path: str
    seen: Seen | None = None
    users: int = 0
    is_stale: bool = False


@dataclass(eq=False)
class Store:
    """What one process keeps for one NVRTC. Made by `of`."""

    library: Nvrtc
    _lock: threading.Condition = field(default_factory=threading.Condition)
    _kept: dict[str, Kept] = field(default_factory=dict)
    _retired: list[Kept] = field(default_factory=list)
    _shelf: _Shelf | None = None
    _made: int = 0
    _heap: int = 0

    @staticmethod
    def of(library: Nvrtc) -> Store:
        """Return this process's store for a library."""
        with _guard:
            return _stores.setdefault(os.fspath(library.path), Store(library))

    def take(self, key: str) -> Kept | None:
        """Return the folder for a key, to be given back; None where there is no room for one.

        Where another thread precompiles these headers, this waits for it: NVRTC reads for one
        thread at a time anyway. Where one of the user's headers has changed, the folder is new.
        """
        with self._lock:
            while (kept := self._kept.get(key)) is not None and kept.seen is None:
                self._lock.wait()
            self._grow_heap()
            kept = self._kept.pop(key, None)
            if kept is not None and kept.seen is not None:
                seen = kept.seen.check_own()
                if seen is None:
                    self._retire(kept)
                    kept = None
                else:
                    kept.seen = seen
            kept = kept or self._new()
            if kept is None:
                return None
            kept.users += 1
            self._kept[key] = kept  # the last in order is the one used last
            self._trim()
            return kept

    def give_back(self, kept: Kept, seen: Seen | None) -> None:
        """End a use; `seen` are the headers as they are.

        None where they are not, or may not be, those that were precompiled: then the next
        compilation precompiles them again.
        """
        with self._lock:
            kept.users -= 1
            if seen is not None:
                kept.seen = seen
            else:
                # What was made just now is no older than what a compilation without would read.
                kept.is_stale = kept.is_stale or kept.seen is not None
                if kept in self._kept.values():
                    self._kept = {k: other for k, other in self._kept.items() if other is not kept}
                    self._retire(kept)
            self._lock.notify_all()
            self._remove_retired()

    def note_heap(self, missing: int) -> None:
        """Have the memory for precompiled headers grown to some bytes before the next is made."""
        with self._lock:
            self._heap = max(self._heap, missing)

    def abandon(self) -> None:
        """Leave the folder to the process that made it; in a forked child, which has no locks."""
        if self._shelf is not None:
            with contextlib.suppress(OSError):
                os.close(self._shelf.descriptor)

    def _grow_heap(self) -> None:
        # The addresses change with the memory, so nobody may be using it, and all are made anew.
        if self._heap and not any(kept.users for kept in (*self._kept.values(), *self._retired)):
            # Some more, for the next source that includes a little more.
            size, self._heap = self._heap + self._heap // 2, 0
            for kept in self._kept.values():
                self._retire(kept)
            self._kept.clear()
            with contextlib.suppress(CubinError):
                self.library.grow_pch_heap(size)

    def _new(self) -> Kept | None:
        try:
            if self._shelf is None:
                self._shelf = _make_shelf()
            if not has_room(Path(self._shelf.folder)):
                return None
            self._made += 1
            # Never a name of the parent's: its path may lead here by the same descriptor.
            name = f"{os.getpid()}-{self._made}"
            kept = Kept(f"{self._shelf.folder}/{name}", f"{self._shelf.path}/{name}")
            os.mkdir(kept.folder)
        except OSError:
            return None
        return kept

    def _trim(self) -> None:
        for key, kept in list(self._kept.items())[:-_MOST]:
            if not kept.users:
                self._retire(self._kept.pop(key))

    def _retire(self, kept: Kept) -> None:
        self._retired.append(kept)
        self._remove_retired()

    def _remove_retired(self) -> None:
        for kept in [kept for kept in self._retired if not kept.users]:
            self._retired.remove(kept)
            remove(kept.folder)


class _Shelf(NamedTuple):
    """The folder of a store, and the path for NVRTC.

    At the end of a process NVRTC removes what it has made, by its path, and a forked child inherits
    the list of that. So the path goes by way of a descriptor that a forked child closes.
    """

    folder: str
    path: str
    descriptor: int


def _make_shelf() -> _Shelf:
    import tempfile

    parent = tempfile.gettempdir()
    _remove_abandoned(parent)
    folder = tempfile.mkdtemp(prefix=_PREFIX, dir=parent)
    # It is never released: so it is held for as long as this process lives, however it ends.
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    with contextlib.suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    if not is_at(descriptor, folder):  # another process has just taken it for abandoned
        os.close(descriptor)
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), parent)
    atexit.register(_remove, folder, os.getpid())
    path = f"/proc/self/fd/{descriptor}"
    return _Shelf(folder, path if os.path.isdir(path) else folder, descriptor)


def _remove_abandoned(parent: str) -> None:
    for path in Path(parent).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                if os.fstat(descriptor).st_uid == os.getuid():
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    remove(os.fspath(path))
            finally:
                os.close(descriptor)


def _remove(folder: str, owner: int) -> None:
    if os.getpid() == owner:
        remove(folder)


def _forget() -> None:
    """In a forked child: what the parent keeps is the parent's, and its locks may be held."""
    global _guard
    _guard = threading.Lock()
    for store in _stores.values():
        store.abandon()
    _stores.clear()


os.register_at_fork(after_in_child=_forget)
