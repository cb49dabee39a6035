"""`note`: which entries living processes have loaded, so that nobody removes those.

Each process has a file in ``uses`` of a cache folder, locked for as long as it lives: the kernel
unlocks it, however the process ends. A forked child has all that its parent has loaded, and so its
file, which stays locked until both have ended; what the child loads goes to a file of its own.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import fcntl
import os
import threading
import time

from .folder import open_made
from .lock import is_at

__all__ = ["leave", "living", "note", "touch"]

_FOLDER = "uses"

# In seconds. Another host's lock may not be seen from here; then age alone tells.
_OLD = 86_400.0

# In seconds: how exactly an entry's last use is known. To write it down costs more than a look.
_RARELY = 3600.0

# Other errors, such as too many open files, may be over soon.
_LASTING = (errno.EACCES, errno.EPERM, errno.EROFS, errno.EEXIST, errno.ENOTDIR, errno.ELOOP)

# How often somebody may remove a new file because it is not locked yet.
_TRIES = 3

# How many files of ended processes one that ends looks for: as many as it makes, and some more.
_MOST_REMOVED = 16


class _Notes:
    """The file of a process in one cache folder; which keys are in it, or in its parent's."""

    def __init__(self, path: str, descriptor: int, parent: _Notes | None) -> None:
        self.path = path
        self.descriptor = descriptor
        self.parent = parent
        self.owner = os.getpid()
        self.keys: set[str] = set()

    def add(self, keys: set[str]) -> None:
        # Space first: a key of which a full disk took half makes no part of the next.
        data = "".join(f" {key}" for key in keys).encode()
        if os.write(self.descriptor, data) == len(data):
            self.keys |= keys


_notes: dict[str, _Notes] = {}
# Folders that take no notes; who may not write there removes nothing there either.
_hopeless: set[str] = set()
_guard = threading.RLock()


def _forget_guard() -> None:
    global _guard
    _guard = threading.RLock()


# Another thread may have held it when the process was forked.
os.register_at_fork(after_in_child=_forget_guard)


def note(root: str, key: str) -> bool:
    """Write down that this process uses an entry, from now until it ends.

    Where that cannot be written, as on a full disk, the entry may be removed while it is in use:
    what is mapped from it stays, and what is looked for is built again.

    Parameters
    ----------
    root : str
        The cache folder.
    key : str
        The entry's name in it.

    Returns
    -------
    bool
        Whether it is the first time that this is written down.
    """
    notes = _notes.get(root)
    if (notes is not None and key in notes.keys) or root in _hopeless:
        return False
    try:
        with _guard:
            _note(root, key)
    except OSError as error:
        if error.errno in _LASTING:
            _hopeless.add(root)
        return False
    return True


def _note(root: str, key: str) -> None:
    notes = _notes.get(root)
    if notes is None:
        _start(root).add({key})
    elif not is_at(notes.descriptor, notes.path):
        # A daemon closes all that it has inherited, and somebody may have removed the file.
        _start(root).add({key, *notes.keys})
    elif notes.owner == os.getpid():
        notes.add({key})
    else:
        own = _start(root, parent=notes)
        own.keys |= notes.keys
        own.add({key})


def _start(root: str, *, parent: _Notes | None = None) -> _Notes:
    if not _notes:
        atexit.unregister(leave)
        atexit.register(leave)
    folder = os.path.join(root, _FOLDER)
    for _ in range(_TRIES):
        path = os.path.join(folder, f"{_host()}-{os.getpid()}-{os.urandom(8).hex()}")
        descriptor = _open(path)
        # Who removes what others have left may have been in between.
        if descriptor >= 0:
            notes = _notes[root] = _Notes(path, descriptor, parent)
            return notes
    raise FileNotFoundError(path)


def _open(path: str) -> int:
    descriptor = open_made(path, os.O_EXCL | os.O_APPEND)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return -1
    except OSError:
        pass  # some network file systems have no locks: then age alone tells
    if is_at(descriptor, path):
        return descriptor
    os.close(descriptor)
    return -1


def touch(path: str) -> None:
    """Have an entry's folder say when it was last used, to an hour."""
    with contextlib.suppress(OSError):
        used, now = os.stat(path).st_mtime, time.time()
        # A time that is yet to come is a wrong clock's.
        if not now - _RARELY < used <= now:
            os.utime(path)


def leave(only: str | None = None) -> None:
    """End this process's uses, and remove its files unless a forked child still lives.

    Parameters
    ----------
    only : str, optional
        In which cache folder. Default: in all.
    """
    with _guard:
        _hopeless.clear()
        for root in [x for x in _notes if only in (None, x)]:
            ended: _Notes | None = _notes.pop(root)
            paths = []
            while ended is not None:
                # Not one that was closed by somebody else, and is another file now.
                if is_at(ended.descriptor, ended.path):
                    os.close(ended.descriptor)
                paths.append(ended.path)
                ended = ended.parent
            with contextlib.suppress(OSError):
                for path in [*paths, *_files(root)][:_MOST_REMOVED]:
                    _read(path)


def living(root: str) -> set[str]:
    """Return the keys that living processes have noted; remove the files of others.

    Raises
    ------
    OSError
        The folder is there and cannot be read: nobody knows what is in use.
    """
    return {key for path in _files(root) for key in _read(path)}


def _read(path: str) -> list[str]:
    """Return the keys in a file; none, and remove it, where its process has ended."""
    flags = os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(path, os.O_RDWR | flags)
    except FileNotFoundError:
        return []
    except PermissionError:
        # Of another user, such as one who was root for once.
        try:
            descriptor = os.open(path, os.O_RDONLY | flags)
        except PermissionError:
            # What it uses is not known for a day.
            if os.stat(path).st_mtime < time.time() - _OLD:
                return []
            raise
    try:
        if _has_ended(descriptor, path):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
            return []
        with open(descriptor, "rb", closefd=False) as file:
            return file.read().decode("ascii", "replace").split()
    finally:
        os.close(descriptor)


def _has_ended(descriptor: int, path: str) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass
    else:
        if os.path.basename(path).rsplit("-", 2)[0] == _host():
            return True
    return os.fstat(descriptor).st_mtime < time.time() - _OLD


def _files(root: str) -> list[str]:
    try:
        with os.scandir(os.path.join(root, _FOLDER)) as entries:
            found = [entry for entry in entries if _is_name(entry.name)]
            return [entry.path for entry in found if entry.is_file(follow_symlinks=False)]
    except FileNotFoundError:
        return []


def _is_name(name: str) -> bool:
    process, _, digits = name.rpartition("-")
    return len(digits) == 16 and process.rpartition("-")[2].isdecimal()


def _host() -> str:
    return os.uname().nodename
