"""What is built: by one process at a time, in a folder of its own, which is moved into place."""

from __future__ import annotations

import atexit
import contextlib
import errno
import fcntl
import logging
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ..errors import BuildError
from .entry import (
    Damaged,
    Files,
    Product,
    Reads,
    Roots,
    check_entry,
    entry_path,
    stamps_of,
    verify,
    write_manifest,
    write_record,
)
from .files import changed_ns, make_folder, remove, temporary_name
from .history import Built, note
from .store import stand_ins

# Where others remove, or cannot be kept from damaging, what is published.
_TRIES = 5
_FIRST_PAUSE, _LONGEST_PAUSE = 0.002, 0.05
# After how many seconds those who wait are told for what.
_TOLD = 5.0


def make_directory(root: str) -> str:
    """Make a folder for one build in ``tmp`` of a cache folder; raises OSError."""
    parent = f"{root}/tmp"
    make_folder(parent)
    path = f"{parent}/{temporary_name()}"
    os.mkdir(path, 0o700)
    return path


def root_of(directory: str) -> str:
    """Return the cache folder that a folder of `make_directory` is in."""
    return os.path.dirname(os.path.dirname(directory))


def stand_in(root: str, mode: str, error: object = None) -> str:
    """Return the folder that stands in for a cache folder in this process, and goes with it.

    Where one is needed because of an error, people are told. An OSError where none can be made.
    """
    folder = stand_ins.get((root, mode))
    if folder is None:
        if error is not None:
            logging.getLogger("tvmffi_cubin").warning(
                "cache folder %s cannot be used (%s); this process keeps what it builds in a "
                "temporary folder, and the next one will build again: set TVMFFI_CUBIN_CACHE_DIR "
                "to a folder with room that can be written",
                *(root, error),
            )
        folder = stand_ins[root, mode] = tempfile.mkdtemp(prefix="tvmffi_cubin-")
        atexit.register(_remove_own, folder, os.getpid())
    return folder


def _remove_own(folder: str, owner: int) -> None:
    if os.getpid() == owner:
        remove(folder)


@contextlib.contextmanager
def cleared(directory: str) -> Iterator[Path]:
    """Remove a build's folder where it fails.

    After a `BuildError` it stays, for a day as what killed builders leave: see `upkeep`.
    """
    owner = os.getpid()
    try:
        yield Path(directory)
    except BaseException as error:
        # Of a forked child that leaves this block as well, the folder is its parent's.
        if not isinstance(error, BuildError) and os.getpid() == owner:
            remove(directory)
        raise


def says_no(error: OSError | BuildError, root: str) -> str:
    """Return how an error, or what a compiler printed, says that a cache folder takes nothing."""
    if isinstance(error, OSError):
        kinds = (errno.EACCES, errno.EPERM, errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        is_here = f"{error.filename or root}/".startswith(f"{root}/")
        return str(error) if error.errno in kinds and is_here else ""
    # A compiler knows its files here by relative names; others are in TMPDIR.
    texts = "No space left on device|Disk quota exceeded|File too large|File size limit"
    found = re.search(rf"( /[^\n:]*: )?({texts})", error.output)
    return found[2] if found and not found[1] else ""


def build(directory: str, base_key: str, make: Callable[[Path], Product], roots: Roots) -> str:
    """Build in a folder and move it into place; return the shared object's path.

    A file that changed while it was read may not be what the build read: the entry then serves this
    call and is not found again.
    """
    with cleared(directory) as folder:
        started_ns = time.time_ns()
        product, files = make(folder), Files(roots)
        read = outside((*product.dependencies, *product.absent), directory)
        loaded = (product.so, *product.used)
        made = Reads.observe(base_key, map(files.portable, read), files, loaded)
        unfit = product.unfit
        for name in made.read:
            if changed_ns(files.stamp(name)) >= started_ns:
                unfit = f"{files.path(name)} changed while it was read"
        if unfit:
            logger = logging.getLogger("tvmffi_cubin")
            logger.warning("%s; what was built serves this call alone", unfit)
            made = made._replace(entry=os.urandom(32).hex())
        for other in {*os.listdir(directory)} - {product.so, *product.keep}:
            remove(f"{directory}/{other}")
        write_manifest(directory, product, made, base_key)
        root, history = root_of(directory), product.history
        return _place(root, base_key, made, directory, history, is_found=not unfit)


def adopt(root: str, directory: str, base_key: str | None = None) -> str:
    """Publish a folder that was built elsewhere, in a cache folder on whose file system it is.

    Whether the files that it was built from are those of this machine is for the next look-up to
    see. Returns the shared object's path. A ValueError where the folder is not what was published,
    or not of that base key.
    """
    manifest = check_entry(directory)
    made = Reads.elsewhere(manifest["base_key"], manifest["read"], manifest["loaded"])
    # The key follows from the files: no entry can claim to be another.
    if manifest["key"] != made.entry or base_key not in (None, manifest["base_key"]):
        raise ValueError("it is not found by its key: a file changed while it was built")
    return _place(root, manifest["base_key"], made, directory, manifest["history"], is_found=True)


def _place(
    root: str, base_key: str, made: Reads, directory: str, history: Any, *, is_found: bool
) -> str:
    """Move a folder into place; what is there already is used, never replaced."""
    target = entry_path(root, made.entry)
    verified = stamps_of(directory, made.loaded)
    make_folder(os.path.dirname(target))
    for attempt in range(_TRIES):
        try:
            os.rename(directory, target)
            break
        except OSError as error:
            is_there = error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR)
            if not is_there or attempt == _TRIES - 1:
                raise
        try:
            verified = verify(target, made.loaded)
            remove(directory)
            break
        except (FileNotFoundError, Damaged):
            remove(target)
    if is_found:
        found = made._replace(verified=verified)
        write_record(root, base_key, found)
        if history is not None:
            note(root, *history)
            write_record(root, Built(*history[1]).purpose, found)
    return f"{target}/{made.loaded[0]}"


def outside(paths: Sequence[str], directory: str) -> list[str]:
    """Return the paths, made absolute, that do not lie in a folder."""
    if not paths:
        return []
    own = (directory.rstrip("/") + "/", os.path.realpath(directory) + "/")
    absolute = (os.path.join(directory, path) for path in paths)
    return [path for path in absolute if not path.startswith(own)]


# One builder


# The descriptors whose locks this process holds or waits for. A forked child has them, too, and
# would keep what they lock for ever where its parent is killed.
_held: set[int] = set()


def _close_inherited() -> None:
    for descriptor in _held:
        os.close(descriptor)
    _held.clear()


os.register_at_fork(after_in_child=_close_inherited)


@contextlib.contextmanager
def builder_lock(path: str, *, patience: float, name: str = "a file") -> Iterator[bool]:
    """Hold the lock file at `path`, or after `patience` seconds go on without; yields which.

    The lock saves work and guards nothing: what two builders publish is the same. It is a `flock`,
    which the kernel drops with the process that holds it. `name` says what is built.
    """
    owner, descriptor = os.getpid(), _acquire(path, patience, name)
    try:
        yield descriptor >= 0
    finally:
        # Of a forked child that leaves this block as well, the lock is its parent's.
        if descriptor >= 0 and os.getpid() == owner:
            # Before it is unlocked: after that it may be another's.
            with contextlib.suppress(OSError):
                os.unlink(path)
            _release(descriptor)


def _release(descriptor: int) -> None:
    _held.discard(descriptor)
    # For children that were not forked by Python as well, which have the same lock.
    with contextlib.suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)


def _acquire(path: str, patience: float, name: str) -> int:
    """Return the descriptor of the locked file; -1 where it is not to be had."""
    began, pause, is_told = time.monotonic(), _FIRST_PAUSE, False
    while True:
        descriptor, is_locked = -1, False
        try:
            make_folder(os.path.dirname(path))
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            _held.add(descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Who held it before has removed it: to lock a file that nobody finds excludes nobody.
            is_locked = os.fstat(descriptor).st_nlink > 0
            if is_locked:
                return descriptor
        except BlockingIOError:
            pass  # another holds it
        except OSError:
            # It cannot be written, or the file system has no locks.
            remove(path)
            return -1
        finally:
            if descriptor >= 0 and not is_locked:
                _release(descriptor)
        waited = time.monotonic() - began
        if waited >= patience:
            return -1
        if waited >= _TOLD and not is_told:
            is_told = True
            until = "" if patience == float("inf") else f"; after {patience:.0f} s this one begins"
            logger = logging.getLogger("tvmffi_cubin")
            logger.warning("waiting for another build of %s%s", name, until)
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)
