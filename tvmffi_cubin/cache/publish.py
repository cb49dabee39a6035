"""Publishing: one builder at a time, in a private folder, moved into place, recorded by name."""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import logging
import os
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple
from weakref import WeakSet

from ..errors import BuildError
from .entry import (
    MANIFEST,
    Files,
    Key,
    Product,
    Reads,
    Roots,
    check_entry,
    entry_path,
    stamps_of,
    verify,
    write_record,
)
from .files import (
    changed_ns,
    digest_of,
    file_digest,
    make_folder,
    put_row,
    read_rows,
    remove,
    temporary_name,
    trusted,
    write_sealed,
)
from .store import stand_ins

_logger = logging.getLogger("tvmffi_cubin")
# Attempts to publish: others may remove or damage an entry in the meantime.
_TRIES = 5
# How many builds per name are remembered, and how many differing fields a message shows.
_MOST, _MOST_SHOWN = 8, 3
_NONE = ("", "not given")
# How often a waiting process polls, and when it logs what it is waiting for, in seconds.
_PAUSE, _TOLD = 0.02, 5.0


@contextlib.contextmanager
def private_folder(root: str) -> Iterator[Path]:
    """Create a folder for one build in a cache folder; all errors but a `BuildError` remove it."""
    make_folder(f"{root}/tmp")
    folder = Path(root, "tmp", temporary_name())
    folder.mkdir(0o700)
    try:
        yield folder
    except BaseException as error:
        if not isinstance(error, BuildError):
            remove(folder)
        raise


def stand_in(root: str, mode: str, error: OSError | None = None) -> str:
    """Return the folder that stands in for a cache folder until this process exits."""
    folder = stand_ins.get((root, mode))
    if folder is None:
        if error is not None:
            _logger.warning(
                "cannot use cache folder %s (%s); this process builds in a temporary folder, and "
                "the next one will build again: set TVMFFI_CUBIN_CACHE_DIR to a writable folder "
                "with free space",
                *(root, error),
            )
        folder = stand_ins[root, mode] = tempfile.mkdtemp(prefix="tvmffi_cubin-")
    return folder


@atexit.register
def _remove_stand_ins() -> None:
    for folder in stand_ins.values():
        remove(folder)


def build(root: str, base_key: str, make: Callable[[Path], Product], roots: Roots) -> str:
    """Build in a private folder and move it into place; return the shared object's path.

    If a file changed while it was read, the build may have read something else: the entry then
    serves only this call and is not found again.
    """
    with private_folder(root) as folder:
        started_ns = time.time_ns()
        product, files = make(folder), Files(roots)
        paths = outside((*product.dependencies, *product.absent), os.fspath(folder))
        names = sorted({*map(files.portable, paths)})
        # Stamps before digests: a change in between then outdates the stamp, not the digest.
        stamps = [trusted(files.stamp(name)) for name in names]
        read = {name: files.digest(name) for name in names}
        made = Reads.of(base_key, read, (product.so, *product.used))._replace(stamps=stamps)
        unfit = product.unfit
        for name in names:
            if changed_ns(files.stamp(name)) >= started_ns:
                unfit = f"{files.path(name)} changed during the build"
        if unfit:
            _logger.warning("%s; the result is used for this call only", unfit)
            made = made._replace(entry=os.urandom(32).hex())
        for other in {*os.listdir(folder)} - {product.so, *product.keep, *product.used}:
            remove(folder / other)
        manifest = {
            "key": made.entry,
            "base_key": base_key,
            "loaded": made.loaded,
            "files": {name: file_digest(folder / name) for name in os.listdir(folder)},
            "read": read,
            "created": int(started_ns / 1e9),
            "facts": dict(product.facts),
            "history": product.history,
        }
        write_sealed(f"{folder}/{MANIFEST}", manifest)
        return _place(root, folder, made, manifest, is_found=not unfit)


def adopt(root: str, folder: Path, base_key: str | None = None) -> str:
    """Publish a folder that was built elsewhere, from files that may differ here.

    Returns the shared object's path. Raises ValueError if the folder is not what was published, or
    belongs to another base key.
    """
    manifest = check_entry(os.fspath(folder))
    made = Reads.of(manifest["base_key"], manifest["read"], manifest["loaded"])
    # The key is derived from the files, so no entry can pose as another.
    if manifest["key"] != made.entry or base_key not in (None, manifest["base_key"]):
        raise ValueError("its key does not match its files: one changed during the build")
    return _place(root, folder, made, manifest, is_found=True)


def _place(
    root: str, folder: Path, made: Reads, manifest: Mapping[str, Any], *, is_found: bool
) -> str:
    """Move a folder into place; an intact entry that is already there is used, never replaced."""
    target = entry_path(root, made.entry)
    verified = stamps_of(os.fspath(folder), made.loaded)
    make_folder(os.path.dirname(target))
    for left in reversed(range(_TRIES)):
        try:
            os.rename(folder, target)
            break
        except OSError:
            if not left or not os.path.lexists(target):
                raise
        try:
            verified = verify(target, made.loaded)
            remove(folder)
            break
        except (OSError, ValueError):
            remove(target)
    if is_found:
        found = made._replace(verified=verified)
        write_record(root, manifest["base_key"], found)
        if history := manifest["history"]:
            name, built = history[0], Built(*history[1])
            write_record(root, built.purpose, found)
            # A full disk does no harm here.
            with contextlib.suppress(OSError):
                put_row(_history(root, name), built, most=_MOST)
    return f"{target}/{made.loaded[0]}"


def outside(paths: Sequence[str], directory: str) -> list[str]:
    """Return the paths outside a directory, as absolute paths."""
    own = (directory.rstrip("/") + "/", os.path.realpath(directory) + "/")
    absolute = (os.path.join(directory, path) for path in paths)
    return [path for path in absolute if not path.startswith(own)]


# Builds under a module's name: on a miss, they tell which fields of the key differ


class Built(NamedTuple):
    """The fields of a build's key: each field's digest and a readable text.

    `purpose` is the digest of the fields that say what is built, without those that name tools.
    """

    base_key: str
    purpose: str
    fields: Mapping[str, tuple[str, str]]

    @classmethod
    def of(cls, key: Key, tools: Collection[str]) -> Built:
        """Return the fields of a key; `tools` are the labels of the fields that name tools."""
        return cls(key.hexdigest(), key.hexdigest(without=tools), key.fields())

    def explain(self, others: Iterable[Built], *, without: Collection[str] = ()) -> str:
        """Return a readable description of how this differs from the nearest of the others."""
        differences = [self._differences(other, without) for other in others]
        if not differences:
            return "nothing was built under this name"
        nearest = min(differences, key=len)
        if not nearest:
            return "an identical build is no longer in the cache"
        shown = nearest[:_MOST_SHOWN]
        if len(nearest) > len(shown):
            shown.append(f"and {len(nearest) - len(shown)} more differ")
        return f"compared with the nearest entry, {'; '.join(shown)}"

    def _differences(self, other: Built, without: Collection[str]) -> list[str]:
        found = []
        for label in {**self.fields, **other.fields}:
            (digest, new), (known, old) = (x.fields.get(label, _NONE) for x in (self, other))
            if label not in without and digest != known:
                alike = f"{label} differs after {new}"
                found.append(f"{label} is {new}, was {old}" if new != old else alike)
        return found


def known(roots: Iterable[str], name: str) -> list[Built]:
    """Return the builds under a name in some cache folders, newest first."""
    return [Built(*row) for root in roots for row in read_rows(_history(root, name))]


def _history(root: str, name: str) -> str:
    return f"{root}/history/{digest_of(name)}.json"


# One builder


# This process's locked files. A forked child inherits them and, if its parent is killed, would hold
# the locks for as long as it lives.
_held: WeakSet[IO[str]] = WeakSet()


def _close_inherited() -> None:
    for file in _held:
        file.close()


os.register_at_fork(after_in_child=_close_inherited)


@contextlib.contextmanager
def builder_lock(path: str, *, patience: float, name: str = "a file") -> Iterator[bool]:
    """Hold the lock file at `path`, or proceed without it after `patience` seconds; yields which.

    The lock only saves work: two builders would publish the same thing. It is a `flock`, which the
    kernel releases when the holding process ends. `name` says what is being built.
    """
    file = _acquire(path, patience, name)
    try:
        yield file is not None
    finally:
        if file is not None and not file.closed:  # closed in a forked child
            with contextlib.suppress(OSError), file:
                # Before unlocking: afterwards the file may belong to another process.
                os.unlink(path)
                # Explicitly, since children that Python did not fork also have the file open.
                fcntl.flock(file, fcntl.LOCK_UN)


def _acquire(path: str, patience: float, name: str) -> IO[str] | None:
    """Return the locked file, or None if the lock cannot be acquired."""
    began, is_told = time.monotonic(), False
    # On an OSError: the file cannot be written, or its file system has no locks.
    with contextlib.suppress(OSError):
        make_folder(os.path.dirname(path))
        while True:
            file = open(path, "w")  # noqa: SIM115
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # The previous holder unlinks the file: locking an unlinked file excludes nobody.
                if os.fstat(file.fileno()).st_nlink:
                    _held.add(file)
                    return file
            file.close()
            waited = time.monotonic() - began
            if waited >= patience:
                break
            if waited >= _TOLD and not is_told:
                is_told = True
                _logger.warning("waiting for another build of %s", name)
            time.sleep(_PAUSE)
    return None
