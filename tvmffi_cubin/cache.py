"""`Cache`: key → published folder; look-up and atomic publishing.

Layout, of which other versions of this package may read every part::

    deps/<base key>.json        which files earlier builds of this key read → entry keys
    entries/<2 hex>/<key>/      what was published: the .so, manifest.json, images, sources
    headers/                    precompiled headers: the same again, and never more than a few
    identity/<hash>.json        what compilers and libraries said about themselves
    locks/<base key>.lock       held while a key is built
    tmp/<pid>-<random>/         where a build runs, or ran and failed

The base key covers all inputs but the contents of the files that the build finds by itself
(headers); those are known only afterwards, and together with it make the entry key.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from . import private_folder
from .atomic import temporary_name
from .dependency_set import (
    DependencySet,
    read_sets,
    refresh_sets,
    start_ns,
    write_sets,
    youngest_ns,
)
from .entry import MANIFEST, Entry, Product, read_entry, write_manifest
from .errors import BuildError, CacheError
from .fallback import fallback_folder, known_fallback
from .folder import cache_folder, is_unwritable, says_full
from .key import Key
from .lock import builder_lock
from .observer import Observer

__all__ = ["Cache", "Entry", "Product", "default"]

# How long to wait for another builder of the same key before building too, in seconds.
_PATIENCE = 120.0


def default(roots: Mapping[str, str] | None = None) -> Cache:
    """Return the user's cache: ``TVMFFI_CUBIN_CACHE_DIR``, else in the user's cache folder."""
    return Cache(Path(cache_folder()), roots=roots)


class Cache:
    """One cache folder. Making one touches no file; folders are made when something is published.

    Parameters
    ----------
    root : Path
        The folder.
    roots : mapping of str to str, optional
        Token, such as ``"$CUDA"``, to the folder that it stands for. Files under these are known
        by token, so that the same header elsewhere gives the same entry.
    """

    def __init__(self, root: Path, *, roots: Mapping[str, str] | None = None) -> None:
        self._root = os.path.abspath(root)
        self._roots = dict(roots or {})
        self._is_fallback = False
        for token, folder in self._roots.items():
            if not token.startswith("$") or "/" in token or not os.path.isabs(folder):
                raise ValueError(
                    f"roots must map '$TOKEN' to an absolute folder, got {token!r}: {folder!r}"
                )

    @property
    def root(self) -> Path:
        """The folder."""
        return Path(self._root)

    def lookup(self, base_key: str) -> Entry | None:
        """Return the entry built from this key and from files as they are now, else None."""
        entry = self._lookup(base_key)
        if entry is None and (folder := known_fallback(self._root)):
            entry = self._stand_in(folder)._lookup(base_key)
        return entry

    def obtain(
        self,
        base_key: str,
        make: Callable[[Path], Product],
        *,
        patience: float = _PATIENCE,
        asked_ns: int | None = None,
        name: str = "a file",
    ) -> Entry:
        """Return the entry of a key, building and publishing it where there is none.

        Of several processes one builds and the others wait for it. Where the cache folder cannot
        be written or is full, a folder that lives as long as this process takes its place.

        Parameters
        ----------
        base_key : str
            Digest of all inputs but the contents of the files that the build itself finds.
        make : callable
            Builds in the empty folder that it is given. What it raises is passed on.
        patience : float
            How long to wait for another builder, in seconds, before building all the same.
        asked_ns : int, optional
            Until when (`time.time_ns`) the caller may have written what is read. Default: now.
        name : str
            What is built, for those who wait for it.

        Raises
        ------
        CacheError
            If neither folder can be used.
        """
        asked_ns = time.time_ns() if asked_ns is None else asked_ns
        if (entry := self.lookup(base_key)) is not None:
            return entry
        with builder_lock(self.lock_file(base_key), patience=patience, name=name):
            return self.lookup(base_key) or self._build(base_key, make, asked_ns)

    def lock_file(self, base_key: str) -> str:
        """Return the path of the file that who builds a key locks."""
        return os.path.join(self._root, "locks", f"{base_key}.lock")

    @contextlib.contextmanager
    def private_directory(self) -> Iterator[Path]:
        """Make a folder to build in, on the cache's file system; removed if not published.

        A `BuildError` leaves it in place, for inspection.

        Raises
        ------
        CacheError
            If it cannot be made.
        """
        with self._make_private() as path:
            yield path

    def publish(
        self, base_key: str, product: Product, directory: Path, *, started_ns: int | None = None
    ) -> Entry:
        """Move a private folder into place; what is in place already is used, never replaced.

        Parameters
        ----------
        base_key : str
            Digest of all inputs but the contents of `product`'s dependencies.
        product : Product
            What the folder holds. The rest of it is removed.
        directory : Path
            From `private_directory`.
        started_ns : int, optional
            When the build began (`dependency_set.start_ns`). A dependency that changed since may
            not be what the build read: the entry then serves this call and is not found again.

        Raises
        ------
        CacheError
            If the cache folder fails in another way than being read-only or full.
        """
        folder = known_fallback(self._root)
        if folder and os.fspath(directory).startswith(folder + "/"):
            return self._stand_in(folder).publish(
                base_key, product, directory, started_ns=started_ns
            )
        source = directory
        try:
            entry, record = self._place(base_key, product, os.fspath(directory), started_ns)
            source = entry.path
            if record:
                self._record(base_key, record)
        except OSError as error:
            fallback = self._fallback(error)
        else:
            return entry
        return fallback._publish_copy(base_key, product, source, started_ns)

    def _lookup(self, base_key: str) -> Entry | None:
        path = self._deps_path(base_key)
        sets = read_sets(path)
        if not sets:
            return None
        with Observer(self._roots) as observer:
            for known in sets:
                current = known.check(observer)
                entry = current and read_entry(self._entry_path(known.entry))
                if current and entry:
                    if current.stamps != known.stamps:
                        refresh_sets(path, current, sets)
                    return entry
        return None

    def _build(
        self,
        base_key: str,
        make: Callable[[Path], Product],
        asked_ns: int,
        *,
        is_second: bool = False,
    ) -> Entry:
        from . import workplace

        started_ns = start_ns(asked_ns)
        removed: Exception
        try:
            with self.private_directory() as directory:
                try:
                    product = make(directory)
                    workplace.check(directory)
                    return self.publish(base_key, product, directory, started_ns=started_ns)
                except (OSError, BuildError, CacheError) as error:
                    if not workplace.was_removed(directory, error):
                        raise
                    removed = error
        except (OSError, BuildError) as error:
            if self._is_fallback or not says_full(error):
                raise
            if isinstance(error, BuildError):
                private_folder.remove(error.directory)
            fallback = self._fallback(error)
        else:
            if is_second:
                raise CacheError(
                    f"cache folder {self._root} is being removed while it is built in: wait until "
                    "that has ended, or set TVMFFI_CUBIN_CACHE_DIR to another folder; what failed: "
                    f"{removed}"
                ) from removed
            return self._build(base_key, make, asked_ns, is_second=True)
        return fallback._build(base_key, make, asked_ns)

    def _publish_copy(
        self, base_key: str, product: Product, source: Path, started_ns: int | None
    ) -> Entry:
        import shutil

        with self.private_directory() as copy:
            try:
                shutil.copytree(source, copy, dirs_exist_ok=True)
            except OSError as error:
                self._fallback(error)
            return self.publish(base_key, product, copy, started_ns=started_ns)

    def _place(
        self, base_key: str, product: Product, directory: str, started_ns: int | None
    ) -> tuple[Entry, DependencySet | None]:
        if not os.path.isfile(os.path.join(directory, product.so)):
            raise ValueError(f"build folder {directory} holds no {product.so!r} to publish")
        names = private_folder.outside([*product.dependencies, *product.absent], directory)
        with Observer(self._roots) as observer:
            portable = [observer.portable(name) for name in names]
            made = DependencySet.observe(portable, base_key, observer)
            changed = started_ns is not None and youngest_ns(portable, observer) >= started_ns
        key = made.entry
        if changed:
            key = Key("unrecorded").add("nonce", os.urandom(16)).hexdigest()
        private_folder.prune(directory, {product.so, MANIFEST, *product.keep})
        write_manifest(directory, product, base_key=base_key)
        private_folder.flush(directory)
        grave = os.path.join(self._root, "tmp", temporary_name())
        entry = private_folder.move_into_place(directory, self._entry_path(key), grave=grave)
        return entry, None if changed else made

    def _record(self, base_key: str, made: DependencySet) -> None:
        path = self._deps_path(base_key)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        write_sets(path, made, read_sets(path))

    def _make_private(self) -> contextlib.AbstractContextManager[Path]:
        from .workplace import Workplace

        try:
            return Workplace.make(self._root)
        except OSError as error:
            # Whatever it is: nothing has been done yet that would be lost.
            return self._fallback(error, any_error=True)._make_private()

    def _fallback(self, error: OSError | BuildError, *, any_error: bool = False) -> Cache:
        is_no_obstacle = isinstance(error, OSError) and not (any_error or is_unwritable(error))
        if self._is_fallback or is_no_obstacle:
            raise CacheError(
                f"cache folder {self._root} failed: {error}; check its file system, or set "
                "TVMFFI_CUBIN_CACHE_DIR to another folder"
            ) from error
        return self._stand_in(fallback_folder(self._root, error))

    def _stand_in(self, folder: str) -> Cache:
        cache = Cache(Path(folder), roots=self._roots)
        cache._is_fallback = True
        return cache

    def _deps_path(self, base_key: str) -> str:
        return os.path.join(self._root, "deps", f"{base_key}.json")

    def _entry_path(self, key: str) -> str:
        return os.path.join(self._root, "entries", key[:2], key)
