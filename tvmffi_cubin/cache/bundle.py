"""Entries as bytes that travel: packed with the files that they were built from, and signed.

What lies where others can write is taken for a user's own only with the user's key. The tag covers
the name that the bytes lie under, so that none serves as another, and nothing is decompressed or
parsed before it is right.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

from .entry import check_entry, names_in
from .files import temporary_name
from .record import Reads, entry_key, read_record, record_path
from .store import Cache
from .upkeep import Listed

LEAST_KEY = 16
"""How many bytes a key has at least."""

MOST_BYTES = 1 << 30
"""How many bytes a bundle holds at most; it is in memory as a whole."""

_SIGNED, _UNSIGNED = b"tvmffi_cubin signed 2\n", b"tvmffi_cubin plain 2\n"
_TAG = 32
_SIZE = 8


# Signed bytes


def sign(data: bytes, name: str, key: bytes | None) -> bytes:
    """Return bytes, compressed, with their tag; without a key that is a digest, which all know."""
    body = zlib.compress(data, 1)
    head = _UNSIGNED if key is None else _SIGNED
    return b"".join((head, _tag(head, body, name, key), body))


def check(signed: bytes, name: str, key: bytes | None) -> bytes:
    """Return the bytes that were signed under a name; a ValueError says why they are not taken."""
    head = _UNSIGNED if key is None else _SIGNED
    if not signed.startswith(head):
        if signed.startswith((_SIGNED, _UNSIGNED)):
            raise ValueError(f"it is {'signed with a key' if key is None else 'unsigned'}")
        raise ValueError("it is no bundle of this version")
    tag, body = signed[len(head) :][:_TAG], memoryview(signed)[len(head) + _TAG :]
    if not hmac.compare_digest(tag, _tag(head, body, name, key)):
        raise ValueError("it is damaged, or was signed with another key")
    reader = zlib.decompressobj()
    data = reader.decompress(body, MOST_BYTES)
    if not reader.eof:
        raise ValueError(f"it holds more than {MOST_BYTES} bytes")
    return data


def _tag(head: bytes, body: bytes | memoryview, name: str, key: bytes | None) -> bytes:
    made = hashlib.sha256() if key is None else hmac.new(key, digestmod=hashlib.sha256)
    for part in (head, name.encode() + b"\n", body):
        made.update(part)
    return made.digest()


# Entries


class Bundle(NamedTuple):
    """What is known of an entry beside its folder."""

    base_key: str
    reads: Reads


def pack(directory: str, about: Bundle, key: bytes | None) -> bytes:
    """Return a whole entry as bytes, signed under its key.

    An OSError or a ValueError where it cannot be read, is damaged, or is too large.
    """
    check_entry(directory, about.reads.entry)
    names = sorted(names_in(directory))
    sizes = [os.path.getsize(os.path.join(directory, name)) for name in names]
    # Before they are read: images may be larger than memory.
    if sum(sizes) > MOST_BYTES // 2:
        raise ValueError(f"it has {sum(sizes)} bytes, a bundle takes {MOST_BYTES // 2}")
    head = {**_head(about), "files": list(zip(names, sizes, strict=True))}
    contents = [Path(directory, name).read_bytes() for name in names]
    data = b"".join((json.dumps(head).encode(), b"\0", *contents))
    return sign(data, f"entry {about.reads.entry}", key)


def unpack(data: bytes, directory: str, *, entry: str, key: bytes | None) -> Bundle:
    """Write the files of a bundle to an empty folder, and return what else is known.

    A ValueError where it is no bundle of that entry signed with that key: nothing has been written
    then. An OSError where a file cannot be written.
    """
    text, _, rest = check(data, f"entry {entry}", key).partition(b"\0")
    try:
        head = json.loads(text)
        about = _about(head)
        files = [(str(name), int(size)) for name, size in head["files"]]
    except (TypeError, LookupError) as error:
        raise ValueError(f"it is no bundle of this version: {error}") from None
    for name, _ in files:
        if name.startswith("/") or not name.isprintable() or ".." in name.split("/"):
            raise ValueError(f"{name!r} is no file of an entry")
    if about.reads.entry != entry or sum(size for _, size in files) != len(rest):
        raise ValueError("it is another entry, or its files are not what it says")
    at = 0
    for name, size in files:
        path = Path(directory, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "xb") as file:
            file.write(rest[at : at + size])
        at += size
    return about


def pack_reads(reads: Sequence[Reads], *, base_key: str, key: bytes) -> bytes:
    """Return what builds of a key read as bytes, signed under that key."""
    rows = [_head(Bundle(base_key, x)) for x in reads]
    return sign(json.dumps(rows).encode(), f"record {base_key}", key)


def unpack_reads(data: bytes, *, base_key: str, key: bytes) -> list[Reads]:
    """Return what `pack_reads` packed; a ValueError where it is not of that key."""
    try:
        rows = json.loads(check(data, f"record {base_key}", key))
        return [_about(row).reads for row in rows]
    except (TypeError, LookupError) as error:
        raise ValueError(f"it is no record of this version: {error}") from None


def _head(about: Bundle) -> dict[str, object]:
    reads = about.reads
    return {
        "base_key": about.base_key,
        "loaded": reads.loaded,
        "names": reads.names,
        "digests": reads.digests,
    }


def _about(head: dict[str, object]) -> Bundle:
    loaded, names, digests = (
        tuple(map(str, head[x]))  # type: ignore[call-overload]
        for x in ("loaded", "names", "digests")
    )
    base_key = str(head["base_key"])
    if not loaded or len(names) != len(digests):
        raise ValueError("its columns differ in length")
    # The key follows from the files: no bundle can claim to be another's entry.
    entry = entry_key(base_key, names, digests)
    return Bundle(base_key, Reads(entry, loaded, names, digests, ()).unstamped())


# Archives, and folders for others to look through


class Moved(NamedTuple):
    """What became of an entry; `problem` is empty where it arrived."""

    name: str
    problem: str = ""


def export(
    root: str, entries: Sequence[Listed], output: Path, key: bytes | None
) -> Iterator[Moved]:
    """Write entries to a file, which is there once the last was taken from this iterator."""
    temporary = output.with_name(f".{temporary_name()}.tmp")
    try:
        with open(temporary, "xb") as file:
            for entry in entries:
                try:
                    data = pack(entry.path, _recorded(root, entry), key)
                except (OSError, ValueError) as error:
                    yield Moved(f"{entry.name} {entry.key[:12]}", str(error))
                    continue
                file.write(len(data).to_bytes(_SIZE, "little") + bytes.fromhex(entry.key) + data)
                yield Moved(entry.name)
            # Without it a file that was cut off would look whole.
            file.write(bytes(_SIZE))
        temporary.replace(output)
    finally:
        temporary.unlink(missing_ok=True)


def import_(
    source: Path, cache: Cache, key: bytes | None, *, takes_unsigned: bool
) -> Iterator[Moved]:
    """Put the entries of an exported file into a cache, each once it was verified.

    With a key, what is not signed with it is refused, unless `takes_unsigned`. A ValueError where
    the file ends too early; what came before that is in the cache.
    """
    with open(source, "rb") as file:
        while size := int.from_bytes(_exactly(file, _SIZE), "little"):
            entry = _exactly(file, 32).hex()
            if size > MOST_BYTES:
                raise ValueError(f"{source} is no archive of entries, or is damaged")
            data = _exactly(file, size)
            is_signed = data.startswith(_SIGNED)
            opened_with = key if is_signed or not takes_unsigned else None
            try:
                with cache.private_directory() as directory:
                    about = unpack(data, os.fspath(directory), entry=entry, key=opened_with)
                    cache.adopt(about.base_key, about.reads, directory)
            except ValueError as error:
                yield Moved(entry[:12], str(error))
            else:
                yield Moved(entry[:12])


def _exactly(file: BinaryIO, size: int) -> bytes:
    data = file.read(size)
    if len(data) != size:
        raise ValueError(f"{file.name} is no archive of entries, or ends too early")
    return data


def export_layer(root: str, entries: Sequence[Listed], output: Path) -> Iterator[Moved]:
    """Copy entries to a folder for ``TVMFFI_CUBIN_CACHE_PATH``, which everybody may then read."""
    import shutil

    output.mkdir(parents=True, exist_ok=True)
    others = {path.name for path in output.iterdir()} - {"entries", "history", "records"}
    if others:
        raise ValueError(
            f"{output} holds {min(others)!r}, which no layer has: give a new folder, or a layer to "
            "add to"
        )
    layer = Cache(output)
    try:
        for entry in entries:
            try:
                about = _recorded(root, entry)
                with layer.private_directory() as directory:
                    shutil.copytree(entry.path, directory, dirs_exist_ok=True)
                    layer.adopt(about.base_key, about.reads, directory)
            except (shutil.Error, ValueError) as error:
                yield Moved(f"{entry.name} {entry.key[:12]}", str(error))
            else:
                yield Moved(entry.name)
    finally:
        shutil.rmtree(output / "tmp", ignore_errors=True)
        for parent, _, names in os.walk(output):
            os.chmod(parent, 0o755)
            for name in names:
                os.chmod(os.path.join(parent, name), 0o644)


def _recorded(root: str, entry: Listed) -> Bundle:
    known = read_record(record_path(root, entry.base_key))
    reads = next((x for x in known if x.entry == entry.key), None)
    if reads is None:
        raise ValueError("no record leads to it: it is damaged, or not found again")
    return Bundle(entry.base_key, reads)
