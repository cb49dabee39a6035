"""Folders of one build, and the one that stands in for a cache folder that cannot be written."""

from __future__ import annotations

import atexit
import contextlib
import errno
import fcntl
import logging
import os
import time
from collections.abc import Iterator
from pathlib import Path

from ..errors import BuildError, CacheError
from .files import make_folder, remove, temporary_name
from .lock import is_at

# What went wrong, in a folder that is kept for inspection, and how many such there are.
_ERROR, _MOST_FAILED = "error.txt", 8
# In seconds: where nothing tells whether a build folder is in use, age does.
_OLD = 86_400.0


@contextlib.contextmanager
def directory(root: str) -> Iterator[Path]:
    """Make a folder for one build in ``tmp`` of a cache folder; removed if not published.

    After a `BuildError` it stays, with the error, among the last few. An OSError where it cannot be
    made.
    """
    path, descriptor = _make(root)
    owner, is_kept = os.getpid(), False
    try:
        yield Path(path)
    except BuildError as error:
        is_kept = True
        with contextlib.suppress(OSError):
            Path(path, _ERROR).write_text(str(error), "utf-8", "backslashreplace")
        raise
    finally:
        if not is_kept and os.getpid() == owner:
            remove(path)
        os.close(descriptor)


def _make(root: str) -> tuple[str, int]:
    """Return a new folder in ``tmp``, and the descriptor that holds its lock."""
    parent = f"{root}/tmp"
    sweep(parent)
    while True:
        path = f"{parent}/{_host()}-{temporary_name()}"
        make_folder(path, root)
        # Who removes what killed builders left may take it for one of those until it is locked.
        with contextlib.suppress(FileNotFoundError):
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            if _lock(descriptor) is not False and is_at(descriptor, path):
                return path, descriptor
            os.close(descriptor)


def _lock(descriptor: int) -> bool | None:
    """Lock a folder; False where another has, None where its file system locks no folders."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return False if error.errno == errno.EWOULDBLOCK else None
    return True


def sweep(parent: str) -> None:
    """Remove folders whose builders were killed, and of those that failed all but the last few."""
    failed = []
    for name in os.listdir(parent) if os.path.isdir(parent) else ():
        path = f"{parent}/{name}"
        with contextlib.suppress(OSError):
            if os.path.exists(f"{path}/{_ERROR}"):
                failed.append((os.stat(path).st_mtime_ns, path))
            else:
                with unused(path) as is_free:
                    if is_free:
                        remove(path)
    for _, path in sorted(failed)[:-_MOST_FAILED]:
        remove(path)


@contextlib.contextmanager
def unused(path: str) -> Iterator[bool]:
    """Tell whether no living build uses a private folder, and keep others off it meanwhile.

    Who removes it does so while this holds its lock: a builder that has just made it would lock
    it, and work in a folder that goes. Raises OSError.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        is_locked = _lock(descriptor)
        # Locks of other hosts do not show everywhere.
        is_known = is_locked is True and os.path.basename(path).startswith(f"{_host()}-")
        is_old = os.fstat(descriptor).st_mtime < time.time() - _OLD
        yield is_locked is not False and (is_known or is_old)
    finally:
        os.close(descriptor)


def _host() -> str:
    return os.uname().nodename


def says_full(error: OSError | BuildError) -> str:
    """Return how an error, or what a compiler printed, says that the disk is full, if it does."""
    if isinstance(error, OSError):
        is_full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        return str(error) if is_full else ""
    texts = ("No space left on device", "Disk quota exceeded", "File too large", "File size limit")
    return next((text for text in texts if text in error.output), "")


# By cache folder and process: a forked child must not rely on a folder that its parent removes.
_roots: dict[tuple[str, int], str] = {}


def known_root(root: str) -> str | None:
    """Return the folder that stands in for a cache folder in this process, if there is one."""
    return _roots.get((root, os.getpid())) if _roots else None


def temporary_root(root: str, error: object = None) -> str:
    """Return the folder that stands in for a cache folder in this process, and goes with it.

    Where one is needed because of an error, people are told. Raises CacheError.
    """
    folder = known_root(root)
    if folder is not None and os.path.isdir(folder):
        return folder
    import tempfile

    try:
        folder = tempfile.mkdtemp(prefix="tvmffi_cubin-")
    except OSError as second:
        raise CacheError(
            f"neither the cache folder {root} ({error or 'which is not written'}) nor the folder "
            f"for temporary files ({second}) can be written; set TVMFFI_CUBIN_CACHE_DIR, or "
            "TMPDIR, to one with room"
        ) from second
    if error is not None:
        logging.getLogger("tvmffi_cubin").warning(
            "cache folder %s cannot be used (%s); this process keeps what it builds in %s, and "
            "the next one will build again: set TVMFFI_CUBIN_CACHE_DIR to a folder with room that "
            "can be written",
            *(root, error, folder),
        )
    atexit.register(_remove_own, folder, os.getpid())
    _roots[root, os.getpid()] = folder
    return folder


def _remove_own(folder: str, owner: int) -> None:
    if os.getpid() == owner:
        remove(folder)
