"""`Bundle`: an entry of the cache as bytes that travel, with the files that it was built from.

The payload of the envelope is the length of a JSON text, the text, and the content of each file in
the order of the text. It has no links, no modes and no times, so there are none to guard against.
"""

from __future__ import annotations

import json
import os
import stat
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from . import envelope
from .dependency_set import DependencySet

__all__ = ["MOST_BYTES", "Bundle", "pack", "pack_sets", "unpack", "unpack_sets"]

MOST_BYTES = 1 << 30
"""How many bytes of files a bundle holds at most; it is in memory as a whole."""

_ENTRY, _SETS = "entry", "sets"
_SCHEMA = 1
_MOST_FILES = 10_000
_MOST_NAME = 1024
_MOST_PART = 255  # bytes of a file's name that file systems allow
_MOST_SETS_BYTES = 64 << 20
_LENGTH = struct.Struct("<Q")


@dataclass(frozen=True)
class Bundle:
    """What is known of an entry beside its folder.

    Attributes
    ----------
    base_key : str
        Digest of all inputs but the contents of the files that the build itself found.
    made : DependencySet
        Those files, without stamps: these were of another machine.
    """

    base_key: str
    made: DependencySet


def pack(directory: str, about: Bundle, *, key: bytes | None) -> bytes:
    """Return an entry's folder as bytes, in an envelope that has the entry's key as its name.

    Raises
    ------
    OSError
        If a file cannot be read.
    ValueError
        If the folder holds what is no plain file, or too much.
    """
    names = _names(directory)
    # Before they are read: images may be larger than memory.
    total = sum(os.path.getsize(os.path.join(directory, name)) for name in names)
    if total > MOST_BYTES or len(names) > _MOST_FILES:
        raise ValueError(
            f"{directory} has {len(names)} files and {total} bytes; a bundle takes "
            f"{_MOST_FILES} files and {MOST_BYTES} bytes"
        )
    contents = [_content(directory, name) for name in names]
    head = {
        "schema": _SCHEMA,
        "base_key": about.base_key,
        **_columns(about.made),
        "files": [[name, len(content)] for name, content in zip(names, contents, strict=True)],
    }
    text = _text(head)
    payload = b"".join((_LENGTH.pack(len(text)), text, *contents))
    return envelope.pack(payload, purpose=_ENTRY, name=about.made.entry, key=key)


def unpack(data: bytes, directory: str, *, name: str, key: bytes | None) -> Bundle:
    """Write the files of a bundle to an empty folder and return the rest of it.

    Parameters
    ----------
    data : bytes
        From `pack`, if its tag is to be believed.
    directory : str
        An empty folder that nobody else writes to.
    name : str
        The key of the entry that it should be.
    key : bytes, optional
        The user's secret, without which only an unsigned bundle opens.

    Raises
    ------
    OSError
        If a file cannot be written.
    ValueError
        If it is no bundle of that entry signed with that key. Nothing has been written then.
    """
    most = 2 * MOST_BYTES  # the text of a thousand headers is small beside the files
    payload = envelope.unpack(data, purpose=_ENTRY, name=name, key=key, limit=most)
    try:
        about, files = _read(memoryview(payload))
    except (struct.error, TypeError, KeyError, RecursionError) as error:
        raise ValueError(f"it is no bundle of this version: {error!r}") from None
    if about.made.entry != name:
        raise ValueError(f"it is entry {about.made.entry}, not {name}")
    for path, content in files:
        target = os.path.join(directory, path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "xb") as file:
            file.write(content)
    return about


def pack_sets(sets: Sequence[DependencySet], *, base_key: str, key: bytes | None) -> bytes:
    """Return sets of files of one base key as bytes, in an envelope of that name."""
    text = _text({"schema": _SCHEMA, "sets": list(map(_columns, sets))})
    return envelope.pack(text, purpose=_SETS, name=base_key, key=key)


def unpack_sets(data: bytes, *, base_key: str, key: bytes | None) -> list[DependencySet]:
    """Return the sets that `pack_sets` packed, without stamps.

    Raises
    ------
    ValueError
        If they are none of this base key signed with this key.
    """
    text = envelope.unpack(data, purpose=_SETS, name=base_key, key=key, limit=_MOST_SETS_BYTES)
    try:
        head = json.loads(text)
        if head["schema"] != _SCHEMA:
            raise ValueError(f"sets of schema {head['schema']!r}")
        return [_set(base_key, row) for row in head["sets"]]
    except (TypeError, KeyError, RecursionError) as error:
        raise ValueError(f"they are no sets of this version: {error!r}") from None


def _names(directory: str) -> list[str]:
    def fail(error: OSError) -> None:
        raise error

    found = []
    for folder, subfolders, names in os.walk(directory, onerror=fail):
        for name in [*names, *subfolders]:
            path = os.path.join(folder, name)
            mode = os.lstat(path).st_mode
            if stat.S_ISREG(mode):
                found.append(_checked_name(os.path.relpath(path, directory)))
            elif not stat.S_ISDIR(mode):
                raise ValueError(f"{path} is no plain file")
    return sorted(found)


def _content(directory: str, name: str) -> bytes:
    with open(os.path.join(directory, name), "rb") as file:
        return file.read(MOST_BYTES + 1)


def _read(payload: memoryview) -> tuple[Bundle, list[tuple[str, memoryview]]]:
    (length,) = _LENGTH.unpack_from(payload)
    start = _LENGTH.size + length
    head = json.loads(bytes(payload[_LENGTH.size : start]))
    if head["schema"] != _SCHEMA:
        raise ValueError(f"a bundle of schema {head['schema']!r}")
    base_key, rows = head["base_key"], head["files"]
    if not isinstance(base_key, str) or len(rows) > _MOST_FILES:
        raise ValueError("no base key, or too many files")
    files = []
    for name, size in rows:
        if type(size) is not int or not 0 <= size <= len(payload) - start:
            raise ValueError(f"{name!r} has an impossible size {size!r}")
        files.append((_checked_name(name), payload[start : start + size]))
        start += size
    names = [name for name, _ in files]
    folders = {name[:end] for name in names for end, sign in enumerate(name) if sign == "/"}
    if start != len(payload) or names != sorted(set(names)) or not folders.isdisjoint(names):
        raise ValueError("its list of files is not what it holds")
    return Bundle(base_key, _set(base_key, head)), files


def _checked_name(name: Any) -> str:
    parts = name.split("/") if isinstance(name, str) else [""]
    if not all(map(_is_plain, parts)) or len(name) > _MOST_NAME:
        raise ValueError(f"{name!r} is no relative path")
    return str(name)


def _is_plain(part: str) -> bool:
    return part not in ("", ".", "..") and "\0" not in part and len(os.fsencode(part)) <= _MOST_PART


def _columns(item: DependencySet) -> dict[str, Any]:
    return {"entry": item.entry, "names": item.names, "digests": item.digests}


def _set(base_key: str, row: Any) -> DependencySet:
    names, digests = tuple(row["names"]), tuple(row["digests"])
    if {*map(type, names), *map(type, digests)} - {str} or len(names) != len(digests):
        raise ValueError("columns that are no texts, or of different lengths")
    made = DependencySet(row["entry"], names, digests, stamps=names).unstamped()
    if not made.belongs_to(base_key):
        raise ValueError("its entry is not what follows from the files")
    return made


def _text(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
