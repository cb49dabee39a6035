"""Published builds: entries, keys, manifests, and records of what entries were built from."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .files import (
    ABSENT,
    UNSETTLED,
    Value,
    encoded,
    file_digest,
    put_row,
    read_rows,
    read_sealed,
    sha256,
    stamp,
    trusted,
)

if TYPE_CHECKING:
    from .publish import Built

MANIFEST = "manifest.json"

# Part of every key; change it whenever the encoding changes.
_ENCODING = b"tvmffi_cubin 4"
# Maximum number of characters of a field to display.
_LONGEST_TEXT = 80


class Key:
    """A set of labeled fields; different sets have different digests.

    The order of fields does not matter. An empty sequence or mapping is the same as no field. Keys
    with different purposes never collide.
    """

    def __init__(self, purpose: str) -> None:
        self._purpose = purpose
        self._encoded: dict[str, bytes] = {}

    def add(self, label: str, value: Value) -> Key:
        """Add a field and return this key."""
        if not isinstance(value, (list, tuple, dict)) or value:
            try:
                self._encoded[label] = encoded(value)
            except TypeError as error:
                raise TypeError(f"key field {label!r}: {error}") from None
        return self

    def fields(self) -> dict[str, tuple[str, str]]:
        """Return each field's digest and the beginning of its value, for display."""
        return {label: (sha256(data), _shown(data)) for label, data in self._encoded.items()}

    def hexdigest(self, *, without: Collection[str] = ()) -> str:
        """Return the digest of all fields except some, as 64 hexadecimal digits."""
        parts = [_ENCODING, self._purpose.encode()]
        for label, data in sorted(self._encoded.items()):
            if label not in without:
                parts += (b"%s %d" % (label.encode(), len(data)), data)
        return sha256(b"\n".join(parts))


def _shown(data: bytes) -> str:
    if data[:1] == b"s":
        return repr(data[1 : _LONGEST_TEXT + 1].decode("utf-8", "replace"))
    return data[:_LONGEST_TEXT].decode("utf-8", "replace")


class Product(NamedTuple):
    """What a build produced in its private folder, and the files that it read."""

    so: str  # the shared object
    keep: tuple[str, ...] = ()  # published with it: images, generated sources
    used: tuple[str, ...] = ()  # published, read by users, and checked by lookups
    dependencies: tuple[str, ...] = ()  # files that were read; those in the folder are ignored
    absent: tuple[str, ...] = ()  # absolute paths that would have been read instead
    unfit: str = ""  # why it must not be found again
    facts: Mapping[str, Any] = {}  # JSON values for users of the entry
    history: tuple[str, Built] | None = None  # the module's name and the fields of its key


class Entry(NamedTuple):
    """A published folder of the cache and its shared object; its contents never change.

    `level` says where it comes from: ``"cache"``, ``"layer"``, ``"remote"``, ``"private"`` (to this
    process) or ``"built"`` (just now).
    """

    so: Path
    level: str = "cache"

    @property
    def path(self) -> Path:
        """The folder."""
        return self.so.parent

    @property
    def manifest(self) -> dict[str, Any]:
        """The builder's manifest, read from disk on each access."""
        return read_sealed(f"{self.path}/{MANIFEST}")

    @property
    def facts(self) -> Any:
        """`Product.facts`."""
        return self.manifest["facts"]


def entry_path(root: str, key: str) -> str:
    """Return the path of the folder published under a key."""
    return f"{root}/entries/{key[:2]}/{key}"


def check_entry(path: str, names: Iterable[str] = ()) -> dict[str, Any]:
    """Check files of an entry, by default all, against its manifest; return the manifest.

    Raises an OSError or a ValueError that says what is wrong.
    """
    manifest = read_sealed(f"{path}/{MANIFEST}")
    for name in names or {*os.listdir(path), *manifest["files"]} - {MANIFEST}:
        if manifest["files"].get(name) != file_digest(f"{path}/{name}"):
            raise ValueError(f"{name} does not match its checksum")
    return manifest


def verify(
    path: str, names: Sequence[str], known: Sequence[str] = (), *, is_copy: bool = False
) -> list[str]:
    """Return the stamps of an entry's files; check the contents if they differ from `known`.

    For a copy, matching sizes and times are enough. Raises as `check_entry` does.
    """
    # Stamps before contents: a change in between then outdates the stamp, not the digest.
    stamps = stamps_of(path, names)
    is_copy = is_copy and len(known) == len(stamps) and ABSENT not in stamps
    if stamps != known and not (is_copy and all(map(_is_copied, stamps, known))):
        check_entry(path, names)
    return stamps


def _is_copied(stamp: str, known: str) -> bool:
    """Whether size and mtime match; a container image may keep only the seconds of the mtime."""
    size, changed, *_ = stamp.split()
    old_size, old, *_ = known.split()
    return size == old_size and int(changed) in (int(old), int(old) // 10**9 * 10**9)


def stamps_of(path: str, names: Sequence[str]) -> list[str]:
    """Return the stamps of an entry's manifest and files."""
    return [stamp(f"{path}/{name}") for name in (MANIFEST, *names)]


# Records: by base key, the files that its builds read and the entries built from them

MOST = 16
"""Maximum number of builds remembered per key, so that a record cannot grow forever."""

# Stamp and digest by path: most files that a build reads were already hashed for the last one.
_digests: dict[str, tuple[str, str]] = {}

Roots = Callable[[], Mapping[str, str]]


class Files:
    """The current state of files in the file system; each is looked at only once.

    A file's name is its absolute path, or ``$TOKEN/rest`` below a root whose location may differ
    between machines; `roots` returns those roots by token.
    """

    def __init__(self, roots: Roots, look: Callable[[str], str] = stamp) -> None:
        self._roots, self._look = cache(roots), look
        self._prefixes: list[tuple[str, str]] = []
        self._stamps: dict[str, str] = {}

    def portable(self, path: str) -> str:
        """Return the portable name of an absolute path."""
        if "/.." in path:
            # Only the file system can resolve ".." after a symbolic link.
            path = os.path.realpath(path)
        if not self._prefixes:
            # gcc reports a system header by its real path if that is shorter.
            pairs = {
                (x.rstrip("/") + "/", token)
                for token, root in self._roots().items()
                for x in (root, os.path.realpath(root))
            }
            # Of nested roots, the innermost one wins.
            self._prefixes = sorted(pairs, key=lambda pair: (-len(pair[0]), pair))
        for prefix, token in self._prefixes:
            if path.startswith(prefix):
                return f"{token}/{path[len(prefix) :]}"
        return path

    def path(self, name: str) -> str:
        """Return the path on this machine of a file with a portable name."""
        if name[:1] != "$":
            return name
        token, _, rest = name.partition("/")
        return f"{self._roots().get(token, os.devnull)}/{rest}"

    def stamp(self, name: str) -> str:
        """Return a file's stamp, or `ABSENT` if it does not exist."""
        found = self._stamps.get(name)
        if found is None:
            found = self._stamps[name] = self._look(self.path(name))
        return found

    def digest(self, name: str) -> str:
        """Return the digest of a file's content, or `ABSENT` if it cannot be read."""
        path, now = self.path(name), self.stamp(name)
        known = _digests.get(path)
        if known is not None and known[0] == now:
            return known[1]
        try:
            digest = file_digest(path)
        except (OSError, ValueError):
            return ABSENT
        if trusted(now) == now:
            _digests[path] = now, digest
        return digest


class Reads(NamedTuple):
    """The files that a build read and the entry built from them."""

    entry: str
    loaded: Sequence[str]  # the entry's files that its users load, the shared object first
    read: Mapping[str, str]  # digests by name; `ABSENT` for what would be read if it appeared
    stamps: list[str]  # in the same order
    verified: Sequence[str] = ()  # stamps of the entry's files when last verified

    @classmethod
    def of(cls, base_key: str, read: Mapping[str, str], loaded: Sequence[str]) -> Reads:
        """Return the files with the key of their entry; no stamps are known yet."""
        entry = Key("entry").add("base", base_key).add("read", read).hexdigest()
        return cls(entry, loaded, read, [UNSETTLED] * len(read))

    def check(self, files: Files, *, may_lack: bool = False) -> Reads | str:
        """Return this with current stamps, or what changed; `may_lack` allows missing files."""
        now = [*map(files.stamp, self.read)]
        if now == self.stamps:
            return self
        for (name, digest), old, new in zip(self.read.items(), self.stamps, now, strict=True):
            if new == old or (new == ABSENT and (may_lack or digest == ABSENT)):
                continue
            if digest == ABSENT:
                return f"{files.path(name)} now exists"
            if new == ABSENT:
                return f"{files.path(name)} no longer exists"
            if files.digest(name) != digest:
                return f"{files.path(name)} changed"
        stamps = [UNSETTLED if x == ABSENT and may_lack else trusted(x) for x in now]
        return self._replace(stamps=stamps)


def read_record(root: str, base_key: str) -> list[Reads]:
    """Return the rows of a cache folder's record, newest first."""
    return [Reads(*row) for row in read_rows(f"{root}/records/{base_key}.json")]


def write_record(root: str, base_key: str, newest: Reads) -> None:
    """Add a row to a record, replacing an older one for the same entry; raises OSError."""
    put_row(f"{root}/records/{base_key}.json", newest, most=MOST)
