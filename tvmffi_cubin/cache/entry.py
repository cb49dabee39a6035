"""What was published: entries, their manifests, and the records of what they were built from."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from .files import (
    ABSENT,
    UNSETTLED,
    file_digest,
    put_row,
    read_rows,
    read_sealed,
    stamp,
    stamp_of,
    trusted,
    write_sealed,
)
from .key import Key

if TYPE_CHECKING:
    from .history import Built

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


def verify(
    path: str, names: Sequence[str], known: tuple[str, ...] = (), *, is_copy: bool = False
) -> tuple[str, ...]:
    """Return the stamps of an entry's files, which are compared where they are not those `known`.

    Of a copy, size and time tell. Raises `Damaged`, or FileNotFoundError where there is no entry.
    """
    # Before the content: a change in between then makes the stamp old, not the digest.
    stamps = stamps_of(path, names)
    if stamps != known and not (is_copy and known and all(map(_is_copied, stamps, known))):
        _check_files(path, read_manifest(path), names)
    return stamps


def _is_copied(stamp: str, known: str) -> bool:
    """Whether a copy has what a container's image keeps: the size and the time, or its seconds."""
    size, changed, *_ = stamp.split()
    old_size, old, *_ = known.split()
    return size == old_size and int(changed) in (int(old), int(old) // 10**9 * 10**9)


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


# Records: by base key, the files that its builds read, and the entries that were made of them


MOST = 16
"""How many builds of one key are remembered: a record must not grow for ever."""

# The digests of files by path, with the stamps that they had: what a build publishes has mostly
# been read for the last one.
_digests: dict[str, tuple[str, str]] = {}


Roots = Callable[[], Mapping[str, str]]


class Files:
    """What the file system says of files now; each is asked about once.

    Names are portable: an absolute path, or ``$TOKEN/rest`` for a file under a root (token, such as
    ``"$CUDA"``, to folder) that may lie elsewhere on another machine or in another environment.
    `roots` finds those, where one is asked for; `look` returns the stamp at a path.
    """

    def __init__(self, roots: Roots, look: Callable[[str], str] = stamp) -> None:
        self._find_roots, self._look = roots, look
        self._prefixes: list[tuple[str, str]] = []
        self._stamps: dict[str, str] = {}

    @cached_property
    def _roots(self) -> Mapping[str, str]:
        return self._find_roots()

    def portable(self, path: str) -> str:
        """Return the portable name of an absolute path."""
        if "/.." in path:
            # Only the file system knows what ".." after a symbolic link is.
            path = os.path.realpath(path)
        if not self._prefixes:
            # gcc names a system header by its real path where that is shorter.
            pairs = {
                (x.rstrip("/") + "/", token)
                for token, root in self._roots.items()
                for x in (root, os.path.realpath(root))
            }
            # Of two nested roots the inner one names a file.
            self._prefixes = sorted(pairs, key=lambda pair: (-len(pair[0]), pair))
        for prefix, token in self._prefixes:
            if path.startswith(prefix):
                return f"{token}/{path[len(prefix) :]}"
        return path

    def path(self, name: str) -> str:
        """Return where a file of a portable name lies here."""
        if name[:1] != "$":
            return name
        token, _, rest = name.partition("/")
        return f"{self._roots.get(token, os.devnull)}/{rest}"

    def stamp(self, name: str) -> str:
        """Return a file's stamp, `ABSENT` where there is nothing."""
        found = self._stamps.get(name)
        if found is None:
            found = self._stamps[name] = self._look(self.path(name))
        return found

    def digest(self, name: str) -> str:
        """Return the digest of a file's content, `ABSENT` where there is none."""
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
    """The files that a build read, and the entry that was made of them.

    `read` has their digests by portable name, `ABSENT` of a path that would be read, should it
    appear; `stamps` are in the same order. `loaded` are the entry's files that its users load, the
    shared object first; `verified` their stamps when they were last found to be whole.
    """

    entry: str
    loaded: tuple[str, ...]
    read: Mapping[str, str]
    stamps: tuple[str, ...]
    verified: tuple[str, ...] = ()

    @classmethod
    def observe(
        cls, base_key: str, names: Iterable[str], files: Files, loaded: Sequence[str]
    ) -> Reads:
        """Return the files as they are now, with the key of the entry that follows from them."""
        ordered = sorted(set(names))
        # Stamps before digests: a change in between then makes the stamp old, not the digest.
        stamps = tuple(trusted(files.stamp(name)) for name in ordered)
        read = {name: files.digest(name) for name in ordered}
        return cls(entry_key(base_key, read), tuple(loaded), read, stamps)

    @classmethod
    def elsewhere(cls, base_key: str, read: Mapping[str, str], loaded: Sequence[str]) -> Reads:
        """Return files of another machine: whether they are the same here is known by digests."""
        return cls(entry_key(base_key, read), tuple(loaded), read, (UNSETTLED,) * len(read))

    def check(self, files: Files, *, may_lack: bool = False) -> Reads | str:
        """Return the same with today's stamps, itself where nothing moved; or which file changed.

        With `may_lack`, a file that is not on this machine does not count as a change.
        """
        now = tuple(map(files.stamp, self.read))
        if now == self.stamps:
            return self
        for (name, digest), old, new in zip(self.read.items(), self.stamps, now, strict=True):
            if new == old or (new == ABSENT and (may_lack or digest == ABSENT)):
                continue
            if digest == ABSENT:
                return f"{files.path(name)} is there now"
            if new == ABSENT:
                return f"{files.path(name)} is gone"
            if files.digest(name) != digest:
                return f"{files.path(name)} changed"
        return self._replace(
            stamps=tuple(UNSETTLED if x == ABSENT and may_lack else trusted(x) for x in now)
        )


def entry_key(base_key: str, read: Mapping[str, str]) -> str:
    """Return the key of the entry that is built with a base key from files of some digests."""
    return Key("entry").add("base", base_key).add("read", read).hexdigest()


def record_path(root: str, base_key: str) -> str:
    """Return the path of the record of what builds with a base key read."""
    return f"{root}/records/{base_key}.json"


def read_record(root: str, base_key: str) -> list[Reads]:
    """Return what a cache folder's record holds, newest first; nothing where it has none."""
    return [
        Reads(entry, tuple(loaded), read, tuple(stamps), tuple(verified))
        for entry, loaded, read, stamps, verified in read_rows(record_path(root, base_key))
    ]


def write_record(root: str, base_key: str, newest: Reads) -> None:
    """Put one more into a record, in the place of an older one of its entry; raises OSError."""
    put_row(record_path(root, base_key), newest, most=MOST)
