"""`Shelf`: a cache folder that takes what is built, or the one that stands in for it."""

from __future__ import annotations

import contextlib
import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from . import private_folder
from .dependency_set import DependencySet, read_sets, write_sets, youngest_ns
from .entry import MANIFEST, Entry, Product, check_entry, write_manifest
from .errors import BuildError, CacheError
from .fallback import fallback_folder, known_fallback
from .folder import full_text, is_unwritable, make_folder
from .key import Key
from .level import Level
from .observer import Observer
from .stamp import changed_ns

_Put = Callable[[Level, str], tuple[Entry, DependencySet | None]]


class Shelf(NamedTuple):
    """Takes finished builds. Where its folder cannot be written or is full, another does.

    Attributes
    ----------
    level : Level
        The folder.
    roots : mapping of str to str
        See `Observer`.
    """

    level: Level
    roots: Mapping[str, str]

    @property
    def is_fallback(self) -> bool:
        """Whether it stands in for another already: then there is none for it."""
        return self.level.kind == "private"

    @contextlib.contextmanager
    def private_directory(self) -> Iterator[Path]:
        """Make a folder to build in; see `Cache.private_directory`."""
        with self._make_private() as path:
            yield path

    def publish(
        self, base_key: str, product: Product, directory: Path, *, started_ns: int | None
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
            If the folder fails in another way than being read-only or full.
        """
        # From the folder that the build ran in, whichever a copy of it is published from.
        files = [*product.dependencies, *product.absent]
        read = private_folder.outside(files, os.fspath(directory))

        def put(level: Level, folder: str) -> tuple[Entry, DependencySet | None]:
            return place(
                level,
                folder,
                product,
                base_key=base_key,
                read=read,
                roots=self.roots,
                started_ns=started_ns,
            )

        return self._put(base_key, directory, put)

    def adopt(self, base_key: str, made: DependencySet, directory: Path) -> Entry:
        """Publish a folder that was built elsewhere; see `Cache.adopt`."""

        def put(level: Level, folder: str) -> tuple[Entry, DependencySet | None]:
            return take(level, folder, made, base_key=base_key)

        return self._put(base_key, directory, put)

    def stand_in(self, error: OSError | BuildError, *, any_error: bool = False) -> Shelf:
        """Return the shelf that is used instead, because of an error.

        Raises
        ------
        CacheError
            The error is none that another folder would help with, or this is the other folder.
        """
        is_no_obstacle = isinstance(error, OSError) and not (any_error or is_unwritable(error))
        if self.is_fallback or is_no_obstacle:
            raise CacheError(
                f"cache folder {self.level.root} failed: {error}; check its file system, or set "
                "TVMFFI_CUBIN_CACHE_DIR to another folder"
            ) from error
        if isinstance(error, BuildError):
            error = OSError(full_text(error))
        return self._private(fallback_folder(self.level.root, error))

    def _put(self, base_key: str, directory: Path, put: _Put) -> Entry:
        folder = known_fallback(self.level.root)
        if folder and os.fspath(directory).startswith(folder + "/"):
            return self._private(folder)._put(base_key, directory, put)
        from . import fields_record

        source = directory
        try:
            entry, made = put(self.level, os.fspath(directory))
            source = entry.path
            if made is not None:
                record(self.level, base_key, made)
                fields_record.index(self.level.root, entry)
        except OSError as error:
            other = self.stand_in(error)
        else:
            return entry
        import shutil

        with other.private_directory() as copy:
            try:
                shutil.copytree(source, copy, symlinks=True, dirs_exist_ok=True)
            except OSError as error:
                other.stand_in(error)
            return other._put(base_key, copy, put)

    def _make_private(self) -> contextlib.AbstractContextManager[Path]:
        from .workplace import Workplace

        try:
            return Workplace.make(self.level.root)
        except OSError as error:
            # Whatever it is: nothing has been done yet that would be lost.
            return self.stand_in(error, any_error=True)._make_private()

    def _private(self, folder: str) -> Shelf:
        return Shelf(Level(folder, "private"), self.roots)


_logger = logging.getLogger("tvmffi_cubin")

_TRIES = 3


def place(
    level: Level,
    directory: str,
    product: Product,
    *,
    base_key: str,
    read: Sequence[str],
    roots: Mapping[str, str],
    started_ns: int | None,
) -> tuple[Entry, DependencySet | None]:
    """Publish what a build made; return the entry, and what leads to it from now on.

    Parameters
    ----------
    level : Level
        Where.
    directory : str
        The private folder. What does not belong to the product is removed.
    product : Product
        What the folder holds.
    base_key : str
        The key of the build.
    read : sequence of str
        Absolute paths: what the build read outside the folder, or would have.
    roots : mapping of str to str
        See `Observer`.
    started_ns : int, optional
        When the build began. Where a file changed since, nothing leads to the entry; nor where it
        is not known which files were read, or the tools are not those that the key names.

    Raises
    ------
    OSError
        The folder cannot take it.
    ValueError
        The build did not make what it says.
    """
    if not os.path.isfile(os.path.join(directory, product.so)):
        raise ValueError(f"build folder {directory} holds no {product.so!r} to publish")
    with Observer(roots) as observer:
        portable = [observer.portable(name) for name in read]
        made = DependencySet.observe(portable, base_key, observer)
        changed = started_ns is not None and youngest_ns(portable, observer) >= started_ns
        if changed:
            _tell_changed(portable, observer)
    key, is_found = made.entry, not (changed or product.unknown or product.outdated)
    if product.unknown:
        _tell_unknown(product.unknown)
    if product.outdated:
        _logger.warning("%s; what was built serves this call alone", product.outdated)
    if not is_found:
        key = Key("unrecorded").add("nonce", os.urandom(16)).hexdigest()
    private_folder.prune(directory, {product.so, MANIFEST, *product.keep})
    write_manifest(directory, product, base_key=base_key, key=key)
    private_folder.flush(directory, (product.so, *product.used))
    entry = private_folder.move_into_place(directory, level, key)
    return entry, made if is_found else None


def _tell_unknown(names: Sequence[str]) -> None:
    text = (
        "a header is included by %s(...): which it is, only the compiler knows, so what was built "
        "serves this call alone; write its name, or a macro without arguments that is one"
    )
    _logger.warning(text, names[0])


def _tell_changed(names: Sequence[str], observer: Observer) -> None:
    times = dict(zip(names, map(changed_ns, observer.stamps(names)), strict=True))
    name = max(names, key=times.__getitem__)
    if times[name] > time.time_ns():
        level, what = logging.WARNING, "was written at a time that is yet to come: set the clock"
    else:
        level, what = logging.INFO, "changed while it was read"
    text = "%s %s; what was built from it serves this process alone"
    _logger.log(level, text, observer.path(name), what)


def take(
    level: Level, directory: str, made: DependencySet, *, base_key: str
) -> tuple[Entry, DependencySet]:
    """Publish what was built elsewhere, once all of it was compared with its manifest.

    Raises
    ------
    OSError
        The folder cannot take it.
    ValueError
        It is not what was published, or belongs to another key.
    """
    if not made.belongs_to(base_key):
        raise ValueError(f"the set of files for {base_key} leads to an entry that is another's")
    entry = check_entry(directory, key=made.entry)
    if entry.manifest.get("base_key") != base_key:
        raise ValueError(f"the manifest of {made.entry} names another base key")
    used = entry.manifest["used"]
    private_folder.flush(directory, (entry.manifest["so"], *used, MANIFEST))
    return private_folder.move_into_place(directory, level, made.entry), made.unstamped()


def record(level: Level, base_key: str, made: DependencySet) -> None:
    """Write down which files an entry was built from.

    Raises
    ------
    OSError
        If it cannot be written.
    """
    path = level.deps_path(base_key)
    for _ in range(_TRIES):
        # Somebody may empty the cache folder: then the entry serves this call, and no more.
        with contextlib.suppress(FileNotFoundError):
            make_folder(os.path.dirname(path), level.root)
            try:
                write_sets(path, made, read_sets(path))
            except IsADirectoryError:
                private_folder.remove(path)
                write_sets(path, made, [])
            return
