"""`Entry`: a published folder of the cache, and its manifest; `Product`: what becomes one."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from .files import file_digest, read_sealed, stamp_of, write_sealed

if TYPE_CHECKING:
    from .history import Built
    from .record import Reads

MANIFEST = "manifest.json"


class Product(NamedTuple):
    """What a build made in its private folder, and from which files.

    `keep` is published with the shared object `so`: images, generated sources; `used` of it is read
    by users of the entry, so that a look-up sees that it is whole. `dependencies` are the files
    that the build read (what lies in its folder is left out), and `absent` absolute paths that it
    would have read instead. `unfit` says why it may not be found again, such as a file that was
    read and is not known. `facts` are JSON values for those who find the entry, `history` the
    module's name and the fields of its key: see `history.note`.
    """

    so: str
    keep: tuple[str, ...] = ()
    used: tuple[str, ...] = ()
    dependencies: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    unfit: str = ""
    facts: Mapping[str, Any] = MappingProxyType({})
    history: tuple[str, Built] | None = None


class Entry(NamedTuple):
    """One published folder of the cache, and the shared object in it; nothing in it ever changes.

    `level` is where it comes from: ``"cache"``, ``"layer"``, ``"remote"``, ``"private"`` to this
    process; or ``"built"``, just now.
    """

    so: Path
    level: str = "cache"

    @property
    def path(self) -> Path:
        """The folder."""
        return self.so.parent

    @property
    def key(self) -> str:
        """The key that it is published under."""
        return self.path.name

    @property
    def manifest(self) -> dict[str, Any]:
        """What the builder wrote down; read each time."""
        return read_manifest(os.fspath(self.path))

    @property
    def facts(self) -> Mapping[str, Any]:
        """`Product.facts`."""
        facts: Mapping[str, Any] = self.manifest["facts"]
        return facts


class Damaged(ValueError):
    """An entry that is not what was published; the message says what is wrong with it."""


def entry_path(root: str, key: str) -> str:
    """Return the path of the folder that is published under a key."""
    return f"{root}/entries/{key[:2]}/{key}"


def write_manifest(directory: str, product: Product, made: Reads, base_key: str) -> None:
    """Describe every file of a folder that is about to be published; raises OSError."""
    manifest = {
        "key": made.entry,
        "base_key": base_key,
        "loaded": made.loaded,
        "files": {name: file_digest(f"{directory}/{name}") for name in os.listdir(directory)},
        "read": made.read,
        "created": int(time.time()),
        "facts": dict(product.facts),
        "history": product.history,
    }
    write_sealed(f"{directory}/{MANIFEST}", manifest)


def read_manifest(path: str) -> dict[str, Any]:
    """Return the manifest of an entry; raises as `verify`."""
    try:
        return read_sealed(f"{path}/{MANIFEST}")
    except (OSError, ValueError) as error:
        raise _missing(path, f"{MANIFEST}: {error}") from None


def check_entry(path: str) -> dict[str, Any]:
    """Compare all of an entry with its manifest, and return that; raises as `verify`."""
    manifest = read_manifest(path)
    _check_files(path, manifest, {*os.listdir(path), *manifest["files"]} - {MANIFEST})
    return manifest


def verify(path: str, names: Sequence[str], known: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return the stamps of an entry's files, which are compared where they are not those `known`.

    Raises `Damaged`, or FileNotFoundError where there is no entry.
    """
    # Before the content: a change in between then makes the stamp old, not the digest.
    stamps = stamps_of(path, names)
    if stamps != known:
        _check_files(path, read_manifest(path), names)
    return stamps


def stamps_of(path: str, names: Sequence[str]) -> tuple[str, ...]:
    """Return the stamps of an entry's manifest and files; raises as `verify`."""
    try:
        return tuple(stamp_of(os.stat(f"{path}/{name}")) for name in (MANIFEST, *names))
    except OSError as error:
        name = os.path.basename(error.filename)
        raise _missing(path, f"{name} is missing: {error.strerror}") from None


def _missing(path: str, problem: str) -> Exception:
    return Damaged(problem) if os.path.lexists(path) else FileNotFoundError(path)


def _check_files(path: str, manifest: Mapping[str, Any], names: Iterable[str]) -> None:
    for name in names:
        try:
            is_same = manifest["files"].get(name) == file_digest(f"{path}/{name}")
        except OSError as error:
            raise Damaged(f"{name} cannot be read: {error}") from None
        if not is_same:
            raise Damaged(f"the content of {name} is not what was published")
