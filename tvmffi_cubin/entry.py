"""`Entry`, a published folder; `Product`, what a build hands over to be published."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .atomic import write_atomically
from .key import file_digest

__all__ = ["MANIFEST", "Entry", "Product", "read_entry", "write_manifest"]

MANIFEST = "manifest.json"

_SCHEMA = 1


@dataclass(frozen=True)
class Entry:
    """One published folder of the cache; nothing in it ever changes.

    Attributes
    ----------
    path : Path
        The folder.
    so : Path
        The shared object in it.
    manifest : mapping
        What the builder wrote down: ``files`` (name to size and digest), ``versions``, ``facts``.
    """

    path: Path
    so: Path
    manifest: Mapping[str, Any] = field(repr=False)

    @property
    def facts(self) -> Mapping[str, Any]:
        """What the builder of this entry wanted its users to know, as JSON values."""
        facts: Mapping[str, Any] = self.manifest["facts"]
        return facts


@dataclass(frozen=True, kw_only=True)
class Product:
    """What a build made in its private folder, and from which files.

    Attributes
    ----------
    so : str
        File name of the shared object.
    keep : tuple of str
        Other names in the folder that are published with it: images, generated sources.
    dependencies : tuple of str
        Every file outside the folder that the build read, headers above all. Relative paths are
        relative to the private folder; what lies in it is left out.
    absent : tuple of str
        Absolute paths that the build would have read instead, had they existed.
    facts : mapping
        JSON values for those who find the entry, such as lowered names.
    versions : mapping of str to str
        What it was made with.
    """

    so: str
    keep: tuple[str, ...] = ()
    dependencies: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)


def read_entry(path: str) -> Entry | None:
    """Return the entry at a path; None where there is none, or not a whole one.

    A shared object that is shorter than it was would end the process that maps it; the size is
    therefore compared on every look-up.
    """
    try:
        with open(os.path.join(path, MANIFEST), "rb") as file:
            manifest = json.loads(file.read())
        so = manifest["so"]
        size, _ = manifest["files"][so]
        if manifest["schema"] != _SCHEMA or not isinstance(manifest["facts"], dict):
            return None
        found = os.path.join(path, so)
        if os.stat(found).st_size != size:
            return None
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None
    return Entry(Path(path), Path(found), manifest)


def write_manifest(directory: str, product: Product, *, base_key: str) -> None:
    """Describe every file of a folder that is about to be published.

    Raises
    ------
    OSError
        If a file cannot be read, or the manifest not written.
    """
    files = {}
    for folder, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(folder, name)
            files[os.path.relpath(path, directory)] = [os.stat(path).st_size, file_digest(path)]
    files.pop(MANIFEST, None)
    manifest = {
        "schema": _SCHEMA,
        "so": product.so,
        "base_key": base_key,
        "files": files,
        "created": int(time.time()),
        "versions": dict(product.versions),
        "facts": dict(product.facts),
    }
    data = json.dumps(manifest, indent=1).encode()
    write_atomically(os.path.join(directory, MANIFEST), data, durable=True)
