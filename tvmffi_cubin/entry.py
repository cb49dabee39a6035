"""`Entry`: a published folder of the cache, and its manifest."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from .key import file_digest
from .sealed import read_sealed, write_sealed
from .stamp import UNSETTLED
from .verification import BROKEN, Damaged, Missing, check_files


class Product(NamedTuple):
    """What a build made in its private folder, and from which files.

    Attributes
    ----------
    so : str
        File name of the shared object.
    keep : tuple of str
        Other names in the folder that are published with it: images, generated sources.
    used : tuple of str
        Those of them that users of the entry read, as they do the shared object: a look-up sees
        that they are whole, too.
    dependencies : tuple of str
        Every file outside the folder that the build read, headers above all. Relative paths are
        relative to the private folder; what lies in it is left out.
    absent : tuple of str
        Absolute paths that the build would have read instead, had they existed.
    unknown : tuple of str
        What names files that the build read and that are not among its dependencies. Where there
        is any, nothing leads to the entry but the call that built it.
    outdated : str
        Why the tools that made it are not those that its key names, and what to do; empty where
        they are. Else nothing leads to it, either.
    facts : mapping
        JSON values for those who find the entry, such as lowered names.
    versions : mapping of str to str
        What it was made with.
    """

    so: str
    keep: tuple[str, ...] = ()
    used: tuple[str, ...] = ()
    dependencies: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    outdated: str = ""
    facts: Mapping[str, Any] = MappingProxyType({})
    versions: Mapping[str, str] = MappingProxyType({})


MANIFEST = "manifest.json"

_SCHEMA = 2


class Entry(NamedTuple):
    """One published folder of the cache; nothing in it ever changes.

    Attributes
    ----------
    path : Path
        The folder.
    so : Path
        The shared object in it.
    manifest : mapping
        What the builder wrote down: ``files`` (name to size and digest), ``versions``, ``facts``.
    level : str
        Where it was found: ``"cache"``, ``"layer"``, or ``"private"`` to this process.
    verified : str
        The stamp of the files that were compared with the manifest, if it tells anything.
    is_taken : bool
        Whether this call took it from the remote.
    """

    path: Path
    so: Path
    manifest: Mapping[str, Any]
    level: str = "cache"
    verified: str = UNSETTLED
    is_taken: bool = False

    @property
    def key(self) -> str:
        """The key that it is published under."""
        return self.path.name

    @property
    def facts(self) -> Mapping[str, Any]:
        """What the builder of this entry wanted its users to know, as JSON values."""
        facts: Mapping[str, Any] = self.manifest["facts"]
        return facts


def read_entry(path: str, *, level: str = "cache", verified: str = UNSETTLED) -> Entry:
    """Return the entry at a path, once its shared object is known to be what was published.

    Parameters
    ----------
    path : str
        The folder; its name is the entry's key.
    level : str
        Becomes the entry's.
    verified : str
        The stamp of the files when they were last compared. Where it still is, they are not read.

    Raises
    ------
    FileNotFoundError
        There is none.
    Damaged
        It is not whole; the message says what is wrong with it.
    OSError
        It cannot be read.
    """
    manifest = read_manifest(path, os.path.basename(path))
    so = manifest["so"]
    try:
        stamp = check_files(path, manifest["files"], (so, *manifest["used"]), known=verified)
    except Damaged:
        if not os.path.lexists(path):
            # Removed while it was looked at, which is no damage.
            raise FileNotFoundError(path) from None
        raise
    return Entry(Path(path), Path(path, so), manifest, level, stamp)


def check_entry(path: str, *, key: str) -> Entry:
    """Return the entry in a folder that may be called otherwise, once all of it was compared.

    Raises
    ------
    FileNotFoundError, Damaged, OSError
        As `read_entry`; a file that the manifest does not know is damage, too.
    """
    manifest = read_manifest(path, key)
    files = manifest["files"]
    strange = next((name for name in _names(path) if name not in files and name != MANIFEST), None)
    if strange is not None:
        raise Damaged(f"{strange} does not belong to it")
    check_files(path, files, files)
    return Entry(Path(path), Path(path, manifest["so"]), manifest)


def write_manifest(directory: str, product: Product, *, base_key: str, key: str) -> None:
    """Describe every file of a folder that is about to be published.

    Raises
    ------
    OSError
        If a file cannot be read, or the manifest not written.
    """
    files = {}
    for name in _names(directory):
        path = os.path.join(directory, name)
        files[name] = [os.stat(path).st_size, file_digest(path)]
    files.pop(MANIFEST, None)
    manifest = {
        "schema": _SCHEMA,
        "so": product.so,
        "used": product.used,
        "base_key": base_key,
        "files": files,
        "created": int(time.time()),
        "versions": dict(product.versions),
        "facts": dict(product.facts),
    }
    path = os.path.join(directory, MANIFEST)
    write_sealed(path, _sealed_name(key), manifest, durable=True)


def read_manifest(path: str, key: str) -> dict[str, Any]:
    """Return what the builder of an entry wrote down, without a look at the files that it names.

    Raises
    ------
    FileNotFoundError, Damaged, OSError
        As `read_entry`.
    """
    try:
        manifest = read_sealed(os.path.join(path, MANIFEST), _sealed_name(key))
    except (FileNotFoundError, NotADirectoryError):
        if os.path.lexists(path):
            raise Missing(f"it has no {MANIFEST}") from None
        raise FileNotFoundError(path) from None
    except ValueError as error:
        raise Damaged(f"{MANIFEST}: {error}") from None
    except OSError as error:
        if error.errno not in BROKEN:
            raise
        raise Damaged(f"{MANIFEST}: {error.strerror}") from None
    if manifest.get("schema") != _SCHEMA:
        raise Damaged(f"{MANIFEST} has schema {manifest.get('schema')!r}, not {_SCHEMA}")
    if not _is_sound(manifest):
        raise Damaged(f"{MANIFEST} lacks what belongs into it")
    return manifest


# Only a program that seals what is wrong could make one: but an import may come from anywhere.
def _is_sound(manifest: dict[str, Any]) -> bool:
    files, used = manifest.get("files"), manifest.get("used")
    if not isinstance(files, dict) or not isinstance(used, list):
        return False
    if not isinstance(manifest.get("facts"), dict) or "base_key" not in manifest:
        return False
    if not all(isinstance(name, str) and name in files for name in (manifest.get("so"), *used)):
        return False
    return not any(
        name.startswith("/") or ".." in name.split("/") or "\0" in name or not _is_row(row)
        for name, row in files.items()
    )


def _is_row(row: object) -> bool:
    return isinstance(row, list) and [type(x) for x in row] == [int, str]


def _names(directory: str) -> Iterator[str]:
    for folder, subfolders, names in os.walk(directory):
        links = [name for name in subfolders if os.path.islink(os.path.join(folder, name))]
        for name in (*names, *links):
            yield os.path.relpath(os.path.join(folder, name), directory)


def _sealed_name(key: str) -> str:
    return f"entries/{key}"
