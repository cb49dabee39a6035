"""`Reads`: the files that builds of one key read, and whether they are still the same."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from .files import ABSENT, UNSETTLED, file_digest, put_row, read_rows, stamp, trusted
from .key import Key

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
    `roots` finds those, where one is asked for.
    """

    def __init__(self, roots: Roots) -> None:
        self._find_roots = roots
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
            found = self._stamps[name] = stamp(self.path(name))
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
