"""`Cache`: key → published folder; look-up and atomic publishing.

Layout, of which other versions of this package may read every part::

    deps/<base key>.json        which files earlier builds of this key read → entry keys
    entries/<2 hex>/<key>/      what was published: the .so, manifest.json, images, sources
    fields/<hash>/<key>.json    the parts of a base key, by the name of what was built
    headers/                    precompiled headers: the same again, and never more than a few
    identity/<hash>.json        what compilers and libraries said about themselves
    locks/<base key>.lock       held while a key is built
    size                        about how many bytes there are
    tmp/<pid>-<random>/         where a build runs, or ran and failed
    uses/<host>-<pid>-<random>  which entries a living process has been given
    damaged/<time>-<key>/       entries that were not what was published, the last few

The base key covers all inputs but the contents of the files that the build finds by itself
(headers); those are known only afterwards, and together with it make the entry key.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from . import config
from .dependency_set import DependencySet, start_ns
from .entry import Entry
from .errors import BuildError, CacheError
from .fallback import fallback_folder, known_fallback
from .finding import find
from .folder import says_full
from .level import Level
from .lock import builder_lock
from .places import places

if TYPE_CHECKING:
    from .entry import Product
    from .finding import Miss
    from .sharing import Sharing
    from .shelf import Shelf

__all__ = ["Cache", "Entry", "default"]

# How long to wait for another builder of the same key before building too, in seconds.
_PATIENCE = 120.0


def default(roots: Mapping[str, str] | None = None) -> Cache:
    """Return the user's cache, in the folders that the environment names; see `places`.

    Raises
    ------
    CacheError, ValueError
        As `places`.
    """
    named = places()
    return Cache(Path(named.root), roots=roots, layers=named.layers, mode=named.mode)


class Cache:
    """One cache folder. Making one touches no file; folders are made when something is published.

    Parameters
    ----------
    root : Path
        The folder.
    roots : mapping of str to str, optional
        Token, such as ``"$CUDA"``, to the folder that it stands for. Files under these are known
        by token, so that the same header elsewhere gives the same entry.
    layers : sequence of str, optional
        Absolute paths of cache folders that are looked through before this one and never written.
    mode : str
        ``"on"``; ``"read"``: the folder is not written either, what is built lasts as long as this
        process; ``"off"``: nothing else than that is looked up.
    """

    def __init__(
        self,
        root: Path,
        *,
        roots: Mapping[str, str] | None = None,
        layers: Sequence[str] = (),
        mode: str = "on",
    ) -> None:
        self._root = os.path.abspath(root)
        self._mode = mode
        lasting = [Level(folder, "layer", is_writable=False) for folder in layers]
        lasting.append(Level(self._root, is_writable=mode == "on"))
        self._lasting = [] if mode == "off" else lasting
        self._roots = dict(roots or {})
        for token, folder in self._roots.items():
            if not token.startswith("$") or "/" in token or not os.path.isabs(folder):
                raise ValueError(
                    f"roots must map '$TOKEN' to an absolute folder, got {token!r}: {folder!r}"
                )

    @property
    def root(self) -> Path:
        """The folder."""
        return Path(self._root)

    @property
    def mode(self) -> str:
        """``"on"``, ``"read"`` or ``"off"``."""
        return self._mode

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders that are looked through, the first first."""
        return tuple(level.root for level in self._levels())

    def after(self, layer: str) -> Cache:
        """Return this cache with one more folder that is looked through before it."""
        layers = [level.root for level in self._lasting if level.kind == "layer"]
        return Cache(self.root, roots=self._roots, layers=(layer, *layers), mode=self._mode)

    def find(self, base_key: str, *, may_lack: bool = False) -> Entry | Miss:
        """Return the entry built from this key and from files as they are now, or why none is.

        The layers are looked through first, then the folder, then what stands in for it. With
        `may_lack`, files that are not on this machine do not matter.
        """
        home = self._lasting[-1] if self._mode == "on" else None
        return find(self._levels(), base_key, roots=self._roots, home=home, may_lack=may_lack)

    def obtain(
        self,
        base_key: str,
        make: Callable[[Path], Product],
        *,
        patience: float = _PATIENCE,
        asked_ns: int | None = None,
        name: str = "a file",
        is_shared: bool = False,
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
        is_shared : bool
            Whether to look on the remote, too, if there is one, and to put there what is built.

        Raises
        ------
        CacheError
            If neither folder can be used, or the remote is not as it must be set.
        ToolchainError
            If a package for the remote is missing.
        """
        asked_ns = time.time_ns() if asked_ns is None else asked_ns
        found = self.find(base_key)
        if isinstance(found, Entry):
            return found
        from .limit import Limit

        limit = Limit.of(self._root)
        with builder_lock(self.lock_file(base_key), patience=patience, name=name):
            # Another may have built it meanwhile, or set it aside.
            found = self.find(base_key)
            if isinstance(found, Entry):
                return found
            found.clear_way()
            # Not before: of those who wait for the lock most need none, and it takes imports.
            shared = _sharing() if is_shared and self._mode != "off" else None
            taken = shared.take(base_key, self._shelf, roots=self._roots) if shared else None
            entry = taken or _build(self._shelf, base_key, make, asked_ns)
            if shared and not taken and self._mode == "on":
                shared.offer(base_key, entry)
        limit.count(entry)
        return entry

    def lock_file(self, base_key: str) -> str:
        """Return the path of the file that who builds a key locks."""
        return self._shelf.level.lock_path(base_key)

    def private_directory(self) -> contextlib.AbstractContextManager[Path]:
        """Make a folder to build in, on the cache's file system; removed if not published.

        A `BuildError` leaves it in place, for inspection.

        Raises
        ------
        CacheError
            If it cannot be made.
        """
        return self._shelf.private_directory()

    def adopt(self, base_key: str, made: DependencySet, directory: Path) -> Entry:
        """Publish a folder that was built elsewhere, under the files that it was built from.

        What is in place already is used, never replaced. Whether those files are the ones of this
        machine is for the next look-up to see.

        Parameters
        ----------
        base_key : str
            The key that it was built with.
        made : DependencySet
            The files that its build read.
        directory : Path
            From `private_directory`, with all that was published, the manifest included.

        Raises
        ------
        ValueError
            The folder is not what was published under that key, or the set is another's.
        CacheError
            If the cache folder fails in another way than being read-only or full.
        """
        return self._shelf.adopt(base_key, made, directory)

    def _levels(self) -> list[Level]:
        folder = known_fallback(self._root)
        return [*self._lasting, *([Level(folder, "private")] if folder else [])]

    @property
    def _shelf(self) -> Shelf:
        from .shelf import Shelf

        if self._mode == "on":
            return Shelf(self._lasting[-1], self._roots)
        return Shelf(Level(fallback_folder(self._root), "private"), self._roots)


def _sharing() -> Sharing | None:
    if config.get("TVMFFI_CUBIN_CACHE_REMOTE") is None:
        return None
    from .sharing import sharing

    return sharing()


def _build(
    shelf: Shelf,
    base_key: str,
    make: Callable[[Path], Product],
    asked_ns: int,
    *,
    is_second: bool = False,
) -> Entry:
    from . import private_folder, workplace

    started_ns = start_ns(asked_ns)
    removed: Exception
    try:
        with shelf.private_directory() as directory:
            try:
                product = make(directory)
                workplace.check(directory)
                return shelf.publish(base_key, product, directory, started_ns=started_ns)
            except (OSError, ValueError, BuildError, CacheError) as error:
                if not workplace.was_removed(directory, error):
                    raise
                removed = error
    except (OSError, BuildError) as error:
        if not says_full(error) or (shelf.is_fallback and isinstance(error, BuildError)):
            raise
        if shelf.is_fallback:
            raise CacheError(
                f"{shelf.level.root}, which is used because the cache folder has no room, has none "
                f"either: {error}; look at the disks' room (df), at quotas, and at the largest "
                "file that this process may write (ulimit -f)"
            ) from error
        if isinstance(error, BuildError):
            private_folder.remove(error.directory)
        other = shelf.stand_in(error)
    else:
        if is_second:
            raise CacheError(
                f"cache folder {shelf.level.root} is being removed while it is built in: wait "
                "until that has ended, or set TVMFFI_CUBIN_CACHE_DIR to another folder; what "
                f"failed: {removed}"
            ) from removed
        return _build(shelf, base_key, make, asked_ns, is_second=True)
    return _build(other, base_key, make, asked_ns)
