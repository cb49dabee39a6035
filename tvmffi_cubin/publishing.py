"""How a private folder becomes an entry, and which files it was built from becomes a record."""

from __future__ import annotations

import contextlib
import logging
import os
import time
from collections.abc import Mapping, Sequence

from . import private_folder
from .dependency_set import DependencySet, read_sets, write_sets, youngest_ns
from .entry import MANIFEST, Entry, check_entry, write_manifest
from .folder import make_folder
from .key import Key
from .level import Level
from .observer import Observer
from .product import Product
from .stamp import changed_ns

__all__ = ["place", "record", "take"]

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
