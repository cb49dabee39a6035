"""Entries as bytes that travel: packed with the files that they were built from, and signed.

What lies where others can write is taken for a user's own only with the user's key. The tag covers
the name that the bytes lie under, so that none serves as another, and nothing is decompressed or
parsed before it is right. Without a key the tag is a digest, which everybody can make.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import shutil
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from .entry import check_entry, names_in
from .files import temporary_name
from .record import Reads, entry_key, read_record, record_path
from .store import Cache
from .upkeep import Listed

MOST_BYTES = 1 << 30
"""How many bytes a bundle holds at most; it is in memory as a whole."""

_HEAD = b"tvmffi_cubin bundle 3\n"
_TAG, _KEY, _SIZE = 32, 32, 8


# Signed bytes


def sign(data: bytes, name: str, key: bytes) -> bytes:
    """Return bytes, compressed, with their tag."""
    body = zlib.compress(data, 1)
    return b"".join((_HEAD, _tag(body, name, key), body))


def check(signed: bytes, name: str, key: bytes) -> bytes:
    """Return the bytes that were signed under a name; a ValueError says why they are not taken."""
    start = len(_HEAD) + _TAG
    if not signed.startswith(_HEAD):
        raise ValueError("it is no bundle of this version")
    body = memoryview(signed)[start:]
    if not hmac.compare_digest(signed[len(_HEAD) : start], _tag(body, name, key)):
        whose = "another key, or with none" if key else "a key"
        raise ValueError(f"it is damaged, or was signed with {whose}")
    reader = zlib.decompressobj()
    data = reader.decompress(body, MOST_BYTES)
    if not reader.eof:
        raise ValueError(f"it holds more than {MOST_BYTES} bytes")
    return data


def _tag(body: bytes | memoryview, name: str, key: bytes) -> bytes:
    made = hmac.new(key, name.encode() + b"\n", hashlib.sha256)
    made.update(body)
    return made.digest()


# Entries


def pack(directory: str, base_key: str, reads: Reads, key: bytes) -> bytes:
    """Return a whole entry as bytes, signed under its key.

    An OSError or a ValueError where it cannot be read, is damaged, or is too large.
    """
    check_entry(directory, reads.entry)
    names = sorted(names_in(directory))
    sizes = [os.path.getsize(f"{directory}/{name}") for name in names]
    # Before they are read: images may be larger than memory.
    if sum(sizes) > MOST_BYTES // 2:
        raise ValueError(f"it has {sum(sizes)} bytes, a bundle takes {MOST_BYTES // 2}")
    head = {**_row(base_key, reads), "files": list(zip(names, sizes, strict=True))}
    contents = [Path(directory, name).read_bytes() for name in names]
    data = b"".join((json.dumps(head).encode(), b"\0", *contents))
    return sign(data, f"entry {reads.entry}", key)


def unpack(data: bytes, directory: str, *, entry: str, key: bytes) -> tuple[str, Reads]:
    """Write the files of a bundle to an empty folder; return the base key and what was read.

    A ValueError where it is no bundle of that entry signed with that key: nothing has been written
    then. An OSError where a file cannot be written.
    """
    text, _, rest = check(data, f"entry {entry}", key).partition(b"\0")
    head = json.loads(text)
    base_key, reads = _read(head)
    for name, _ in head["files"]:
        if name.startswith("/") or ".." in name.split("/"):
            raise ValueError(f"{name!r} is no file of an entry")
    at = 0
    for name, size in head["files"]:
        path = Path(directory, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(rest[at : at + size])
        at += size
    return base_key, reads


def pack_reads(reads: Sequence[Reads], *, base_key: str, key: bytes) -> bytes:
    """Return what builds of a key read as bytes, signed under that key."""
    rows = [_row(base_key, x) for x in reads]
    return sign(json.dumps(rows).encode(), f"record {base_key}", key)


def unpack_reads(data: bytes, *, base_key: str, key: bytes) -> list[Reads]:
    """Return what `pack_reads` packed; a ValueError where it is not of that key."""
    return [_read(row)[1] for row in json.loads(check(data, f"record {base_key}", key))]


def _row(base_key: str, reads: Reads) -> dict[str, Any]:
    columns = {"loaded": reads.loaded, "names": reads.names, "digests": reads.digests}
    return {"base_key": base_key, **columns}


def _read(row: dict[str, Any]) -> tuple[str, Reads]:
    loaded, names, digests = (tuple(row[x]) for x in ("loaded", "names", "digests"))
    # The key follows from the files: no bundle can claim to be another's entry.
    entry = entry_key(row["base_key"], names, digests)
    return row["base_key"], Reads(entry, loaded, names, digests, ()).unstamped()


# Archives, and folders for others to look through. All yield for each entry its name, and what is
# wrong with it where it did not arrive.


def export(
    root: str, entries: Sequence[Listed], output: Path, key: bytes
) -> Iterator[tuple[str, str]]:
    """Write entries to a file, which is there once the last was taken from this iterator."""
    temporary = output.with_name(f".{temporary_name()}.tmp")
    try:
        with open(temporary, "xb") as file:
            for entry in entries:
                try:
                    data = pack(entry.path, entry.base_key, _recorded(root, entry), key)
                except (OSError, ValueError) as error:
                    yield f"{entry.name} {entry.key[:12]}", str(error)
                    continue
                file.write(len(data).to_bytes(_SIZE, "little") + bytes.fromhex(entry.key) + data)
                yield entry.name, ""
            # Without it a file that was cut off would look whole.
            file.write(bytes(_SIZE))
        temporary.replace(output)
    finally:
        temporary.unlink(missing_ok=True)


def import_(source: Path, cache: Cache, key: bytes) -> Iterator[tuple[str, str]]:
    """Put the entries of an exported file into a cache, each once it was verified.

    A ValueError where the file ends too early; what came before that is in the cache.
    """
    with open(source, "rb") as file:
        while size := int.from_bytes(_exactly(file, _SIZE), "little"):
            entry = _exactly(file, _KEY).hex()
            if size > MOST_BYTES:
                raise ValueError(f"{source} is no archive of entries, or is damaged")
            data = _exactly(file, size)
            try:
                with cache.private_directory() as directory:
                    base_key, reads = unpack(data, os.fspath(directory), entry=entry, key=key)
                    cache.adopt(base_key, reads, directory)
            except ValueError as error:
                yield entry[:12], str(error)
            else:
                yield entry[:12], ""


def _exactly(file: BinaryIO, size: int) -> bytes:
    data = file.read(size)
    if len(data) != size:
        raise ValueError(f"{file.name} is no archive of entries, or ends too early")
    return data


def export_layer(root: str, entries: Sequence[Listed], output: Path) -> Iterator[tuple[str, str]]:
    """Copy entries to a folder for ``TVMFFI_CUBIN_CACHE_PATH``, which everybody may then read."""
    layer = Cache(output)
    try:
        for entry in entries:
            try:
                reads = _recorded(root, entry)
                with layer.private_directory() as directory:
                    shutil.copytree(entry.path, directory, dirs_exist_ok=True)
                    layer.adopt(entry.base_key, reads, directory)
            except (shutil.Error, ValueError) as error:
                yield f"{entry.name} {entry.key[:12]}", str(error)
            else:
                yield entry.name, ""
    finally:
        for name in ("entries", "history", "records"):
            for parent, _, files in os.walk(output / name):
                os.chmod(parent, 0o755)
                for file in files:
                    os.chmod(f"{parent}/{file}", 0o644)
        shutil.rmtree(output / "tmp", ignore_errors=True)
        os.chmod(output, 0o755)


def _recorded(root: str, entry: Listed) -> Reads:
    for reads in read_record(record_path(root, entry.base_key)):
        if reads.entry == entry.key:
            return reads
    raise ValueError("no record leads to it: it is damaged, or not found again")
