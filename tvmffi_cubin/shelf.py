"""`Shelf`: a cache folder that takes what is built, or the one that stands in for it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from . import private_folder
from .dependency_set import DependencySet
from .entry import Entry
from .errors import BuildError, CacheError
from .fallback import fallback_folder, known_fallback
from .folder import full_text, is_unwritable
from .level import Level
from .product import Product
from .publishing import place, record, take

__all__ = ["Shelf"]

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
