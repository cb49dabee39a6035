"""Entries of the cache in one file that is carried elsewhere: a tar archive of bundles."""

from __future__ import annotations

import contextlib
import io
import os
import re
import tarfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from . import bundle, envelope
from .atomic import fsync_path, temporary_name
from .bundle import Bundle
from .cache import Cache
from .dependency_set import DependencySet
from .dependency_set import find_set as find_recorded
from .entry import Entry, check_entry
from .errors import CacheError
from .level import Level
from .limit import Limit
from .listing import Listed
from .sealed import seal, unseal

__all__ = ["Adopted", "Exported", "find_set", "place_in", "read_archive", "write_archive"]

_NAME = re.compile(r"bundles/([0-9a-f]{32,128})\Z")
_MOST_BYTES = 2 * bundle.MOST_BYTES

# The last member. Without it a file that was cut off between two members would look whole.
_END = "end.json"
_MOST_END = 1 << 10
_SCHEMA = 1

# Without content, whatever they say of their size.
_EMPTY = (
    *(tarfile.LNKTYPE, tarfile.SYMTYPE, tarfile.CHRTYPE),
    *(tarfile.BLKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE),
)


@dataclass(frozen=True)
class Exported:
    """What became of an entry that was to be exported; `problem` is empty where it was."""

    entry: Listed
    problem: str = ""


@dataclass(frozen=True)
class Adopted:
    """What became of a member of an archive; `problem` is empty where it is in the cache now."""

    name: str
    size: int
    problem: str = ""


def find_set(folder: str, entry: Listed) -> DependencySet:
    """Return the files that an entry was built from.

    Raises
    ------
    ValueError
        Nothing says which, so that no look-up finds it.
    """
    path = Level(folder).deps_path(entry.base_key)
    made = find_recorded(path, entry.key) if entry.base_key else None
    if made is None:
        raise ValueError("no record leads to it: it is not found again")
    return made.unstamped()


def write_archive(
    output: Path, folder: str, entries: Iterable[Listed], *, key: bytes | None
) -> Iterator[Exported]:
    """Write entries to a file, which appears when the last one was taken from this iterator.

    Parameters
    ----------
    output : Path
        The file.
    folder : str
        The cache folder.
    entries : iterable of Listed
        What is to be in it. What is damaged, or is found by nobody, is left out.
    key : bytes, optional
        The user's secret, to sign with.

    Raises
    ------
    OSError
        It cannot be written.
    ValueError
        It is a folder, or a device.
    """
    _check_plain(output)
    temporary = output.with_name(f".{temporary_name()}.tmp")
    try:
        with tarfile.open(temporary, "x", format=tarfile.USTAR_FORMAT) as archive:
            count = 0
            for entry in entries:
                path = Level(folder).entry_path(entry.key)
                try:
                    about = Bundle(entry.base_key, find_set(folder, entry))
                    check_entry(path, key=entry.key)
                    data = bundle.pack(path, about, key=key)
                except (OSError, ValueError) as error:
                    yield Exported(entry, str(error))
                    continue
                _add(archive, f"bundles/{entry.key}", data)
                count += 1
                yield Exported(entry)
            _add(archive, _END, seal({"schema": _SCHEMA, "entries": count}, _END))
        fsync_path(os.fspath(temporary))
        temporary.replace(output)
    except OSError as error:
        # The name in it may be that of the temporary file.
        raise OSError(error.errno, error.strerror, os.fspath(output)) from None
    finally:
        # A file system that is read-only says so of what is not there, too.
        with contextlib.suppress(OSError):
            temporary.unlink()


def read_archive(
    source: Path, cache: Cache, *, key: bytes | None, takes_unsigned: bool
) -> Iterator[Adopted]:
    """Put the entries of an archive into a cache, each once it was verified.

    Parameters
    ----------
    source : Path
        The file.
    cache : Cache
        The cache. What it has already stays as it is.
    key : bytes, optional
        The user's secret. With it, what is not signed is refused; without it, what is.
    takes_unsigned : bool
        Take what is not signed all the same.

    Raises
    ------
    OSError
        It cannot be read.
    ValueError
        It is no file, or no archive, or ends too early; what came before that is in the cache.
    CacheError
        The cache cannot be written.
    """
    _check_plain(source)
    try:
        with open(source, "rb") as file:
            for count, member in enumerate(_members(file)):
                if member.name == _END:
                    _check_end(file, member, count)
                    return
                problem = ""
                try:
                    _adopt(_content(file, member), member, cache, key, takes_unsigned)
                except ValueError as error:
                    problem = str(error)
                yield Adopted(member.name, member.size, problem)
    except tarfile.TarError as error:
        raise ValueError(f"{source} is no archive of entries, or ends too early: {error}") from None


def _check_plain(path: Path) -> None:
    # A pipe would be waited for, and a device replaced.
    if path.exists() and not path.is_file():
        raise ValueError(f"{path} is no plain file: give the name of one")


def _add(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(data)
    archive.addfile(member, io.BytesIO(data))


def _members(file: BinaryIO) -> Iterator[tarfile.TarInfo]:
    """Yield the heads of members; the file stands at the content of each."""
    # Not by TarFile: it keeps all of them in memory, and follows each extension of the format,
    # of which some go deep, or back, or stand for many more bytes than there are.
    size = os.fstat(file.fileno()).st_size
    while True:
        block = file.read(tarfile.BLOCKSIZE)
        if not block.strip(b"\0"):
            raise tarfile.ReadError("its last part is missing")
        member = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
        begin = file.tell()
        if not 0 <= member.size <= size - begin:
            raise tarfile.ReadError("unexpected end of data")
        yield member
        blocks = 0 if member.type in _EMPTY else -(-member.size // tarfile.BLOCKSIZE)
        file.seek(begin + blocks * tarfile.BLOCKSIZE)


def _check_end(file: BinaryIO, member: tarfile.TarInfo, count: int) -> None:
    try:
        entries = unseal(file.read(min(member.size, _MOST_END)), _END).get("entries")
    except ValueError as error:
        raise tarfile.ReadError(f"{_END}: {error}") from None
    if entries != count:
        raise tarfile.ReadError(f"it has {count} of {entries} entries")


def place_in(cache: Cache, base_key: str, made: DependencySet, directory: Path) -> Entry:
    """Publish what was built elsewhere, in the folder that is meant and in no other.

    Raises
    ------
    ValueError
        It is not what was built.
    CacheError
        The folder cannot be written.
    """
    entry = cache.adopt(base_key, made, directory)
    if entry.level == "private":
        raise CacheError(
            f"{cache.root} cannot be written, or is full: {made.entry} was not put there, nor what "
            "comes after it"
        )
    return entry


def _content(file: BinaryIO, member: tarfile.TarInfo) -> bytes:
    if member.type != tarfile.REGTYPE or not _NAME.match(member.name):
        raise ValueError("it is no bundle: what `cache export` makes holds nothing else")
    if member.size > _MOST_BYTES:
        raise ValueError(f"it has {member.size} bytes, at most {_MOST_BYTES} are taken")
    return file.read(member.size)


def _adopt(
    data: bytes, member: tarfile.TarInfo, cache: Cache, key: bytes | None, takes_unsigned: bool
) -> None:
    is_signed = envelope.is_signed(data)
    if key is None and is_signed:
        raise ValueError("it is signed: set TVMFFI_CUBIN_CACHE_REMOTE_KEY_FILE to the key's file")
    if key is not None and not is_signed and not takes_unsigned:
        raise ValueError("it is not signed, and a key is set: give --unsigned to take it")
    name = member.name.rpartition("/")[2]
    with cache.private_directory() as directory:
        folder = os.fspath(directory)
        about = bundle.unpack(data, folder, name=name, key=key if is_signed else None)
        entry = place_in(cache, about.base_key, about.made, directory)
    Limit.of(os.fspath(cache.root)).count(entry)
