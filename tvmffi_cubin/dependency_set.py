"""`DependencySet`: the files that one build read, and whether they are still the same."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from .key import Key, is_key
from .observer import Observer
from .sealed import read_sealed, write_sealed
from .stamp import ABSENT, FILE_CLOCK, UNSETTLED, changed_ns, trusted

__all__ = [
    "DependencySet",
    "find_set",
    "read_sets",
    "refresh_sets",
    "start_ns",
    "write_sets",
    "youngest_ns",
]

_SCHEMA = 3

# A builder that meets ever new header contents must not grow the file for ever.
_MOST_SETS = 16

# On each host that shares a cache folder, and in each container, the same headers have inodes and
# times of their own. The stamps of this many are kept; what further hosts have found they write in
# place of the oldest when nobody has written for this long, in seconds: a thousand that start at
# once would else overwrite each other for ever.
_MOST_HOSTS = 8
_PAUSE = 3600.0

# How many files that changed are told of.
_MOST_CHANGED = 8

_MOST_PAUSES = 250


class DependencySet(NamedTuple):
    """Files by portable name, each with digest and stamp, and the entry that was built from them.

    A path that the build looked for and did not find is one of them, with `ABSENT` as its digest:
    should it appear, it would be read instead of another.

    `verified` is the stamp of the entry's own files as they were when their content was last
    compared with what was published. Both are those of one `host`; other hosts have others.
    """

    entry: str
    names: tuple[str, ...]
    digests: tuple[str, ...]
    stamps: tuple[str, ...]
    verified: str = UNSETTLED
    host: str = ""

    @classmethod
    def observe(cls, names: Iterable[str], base_key: str, observer: Observer) -> DependencySet:
        """Return the set as the files are now, with the key of the entry that follows from it."""
        ordered = tuple(sorted(set(names)))
        # Stamps before digests: a change in between then makes the stamp old, not the digest.
        stamps = tuple(trusted(stamp) for stamp in observer.stamps(ordered))
        digests = tuple(map(observer.digest, ordered))
        entry = _entry_key(base_key, ordered, digests)
        return cls(entry, ordered, digests, stamps, host=_host())

    def belongs_to(self, base_key: str) -> bool:
        """Whether the entry's key is what follows from the base key and the files."""
        return self.entry == _entry_key(base_key, self.names, self.digests)

    def unstamped(self) -> DependencySet:
        """Return the set as one from elsewhere: whether it holds here is known from digests."""
        stamps = (UNSETTLED,) * len(self.names)
        return self._replace(stamps=stamps, verified=UNSETTLED, host="")

    def verified_as(self, stamp: str) -> DependencySet:
        """Return the set with what this host knows of the entry's own files."""
        return self if stamp == self.verified else self._replace(verified=stamp, host=_host())

    def is_current(self, observer: Observer) -> bool:
        """Whether all files have the stamps that they had, so that none need be read."""
        return tuple(observer.stamps(self.names)) == self.stamps

    def check(self, observer: Observer, *, may_lack: bool = False) -> DependencySet | None:
        """Return the set with today's stamps (itself where nothing moved), None if one changed.

        With `may_lack`, a file that is not on this machine is no change.
        """
        now = observer.stamps(self.names)
        if may_lack:
            # Nothing is remembered of a file that is not here: who may lack none would believe it.
            pairs = zip(now, self.digests, strict=True)
            now = [UNSETTLED if new == ABSENT != digest else new for new, digest in pairs]
        if now == list(self.stamps):
            return self
        rows = zip(self.names, self.digests, self.stamps, now, strict=True)
        moved = [(name, digest, new) for name, digest, old, new in rows if old != new]
        if may_lack:
            moved = [row for row in moved if row[2] != UNSETTLED]
        # What came or went is known without reading anything.
        if any((new == ABSENT) != (digest == ABSENT) for _, digest, new in moved):
            return None
        if any(observer.digest(name) != digest for name, digest, _ in moved):
            return None
        stamps = tuple(new if new == UNSETTLED else trusted(new) for new in now)
        return self._replace(stamps=stamps, host=self.host if stamps == self.stamps else _host())

    def changed(self, observer: Observer, *, may_lack: bool = False) -> tuple[tuple[str, str], ...]:
        """Return the first few files that are not what they were, each with what happened to it."""
        rows = zip(self.names, self.digests, self.stamps, observer.stamps(self.names), strict=True)
        found = []
        for name, digest, old, new in rows:
            if new == ABSENT != digest:
                if not may_lack:
                    found.append((name, "is gone"))
            elif digest == ABSENT != new:
                found.append((name, "is there now"))
            elif old != new and observer.digest(name) != digest:
                found.append((name, "changed"))
            if len(found) == _MOST_CHANGED:
                break
        return tuple(found)


def start_ns(asked_ns: int) -> int:
    """Return a time now that tells what is written from now on by its stamp; waits for it.

    Files get the time of the kernel's last tick, or a later one: so what is written now may look
    up to 20 ms older than it is, and no older than the time that is returned.

    Parameters
    ----------
    asked_ns : int
        An earlier `time.time_ns`. What was written before it is older than what is returned.
    """
    now = time.clock_gettime_ns(FILE_CLOCK)
    # Not for ever: somebody may set the clock back.
    for _ in range(_MOST_PAUSES):
        if now > asked_ns:
            break
        time.sleep(0.0002)
        now = time.clock_gettime_ns(FILE_CLOCK)
    return now


def youngest_ns(names: Iterable[str], observer: Observer) -> int:
    """Return when the last change to any of the files was, in nanoseconds since the epoch."""
    return max((changed_ns(stamp) for stamp in observer.stamps(names)), default=0)


def find_set(path: str, entry: str) -> DependencySet | None:
    """Return the set of a record that leads to an entry, None where none does."""
    return next((item for item in read_sets(path) if item.entry == entry), None)


def read_sets(path: str) -> list[DependencySet]:
    """Return the sets in a file, newest first, those of this host before the same of others.

    There are none where the file is missing or damaged.
    """
    try:
        data = read_sealed(path, _sealed_name(path))
        if data["schema"] != _SCHEMA:
            return []
        return [known for item in data["sets"] for known in _decode(item)]
    except (OSError, ValueError, TypeError, KeyError):
        return []


def write_sets(path: str, newest: DependencySet, others: Sequence[DependencySet]) -> None:
    """Write a set before the others, of which the same of its host is dropped.

    Raises
    ------
    OSError
        If it cannot be written.
    """
    rows: dict[str, list[DependencySet]] = {newest.entry: [newest]}
    for item in others:
        row = rows.setdefault(item.entry, [])
        if len(row) < _MOST_HOSTS and (item.entry, item.host) != (newest.entry, newest.host):
            row.append(item)
    sets = [_encode(row) for row in rows.values() if row][:_MOST_SETS]
    write_sealed(path, _sealed_name(path), {"schema": _SCHEMA, "sets": sets})


def refresh_sets(path: str, newest: DependencySet) -> bool:
    """Write stamps that a look-up found anew; return whether there was room for them.

    Raises
    ------
    OSError
        If it cannot be written.
    """
    others = read_sets(path)
    hosts = {item.host for item in others if item.entry == newest.entry}
    is_crowded = newest.host not in hosts and len(hosts) >= _MOST_HOSTS
    if is_crowded and os.stat(path).st_mtime > time.time() - _PAUSE:
        return False
    write_sets(path, newest, others)
    return True


def _sealed_name(path: str) -> str:
    return f"deps/{os.path.basename(path)}"


def _entry_key(base_key: str, names: Sequence[str], digests: Sequence[str]) -> str:
    key = Key("entry").add("base", base_key).add("names", names).add("digests", digests)
    return key.hexdigest()


def _host() -> str:
    return os.uname().nodename


# Columns, and a stamp as one text: 300 files parse in half the time that a row each would take.
def _encode(row: Sequence[DependencySet]) -> dict[str, Any]:
    first = row[0]
    return {
        "entry": first.entry,
        "names": first.names,
        "digests": first.digests,
        "seen": [
            {"host": item.host, "stamps": item.stamps, "verified": item.verified} for item in row
        ],
    }


def _decode(data: Any) -> list[DependencySet]:
    entry, names, digests = data["entry"], _column(data["names"]), _column(data["digests"])
    if not is_key(entry) or not isinstance(data["seen"], list):
        raise ValueError("no key of an entry, or nothing seen of it")
    known = []
    for seen in data["seen"]:
        stamps, verified, host = _column(seen["stamps"]), seen["verified"], seen["host"]
        if not len(names) == len(digests) == len(stamps):
            raise ValueError("columns of different lengths")
        if not isinstance(verified, str) or not isinstance(host, str):
            raise ValueError("no stamp, or no host")
        known.append(DependencySet(entry, names, digests, stamps, verified, host))
    if len(known) > 1:
        own = _host()
        known.sort(key=lambda item: item.host != own)
    return known


def _column(data: Any) -> tuple[str, ...]:
    column = tuple(data)
    if "" in column or set(map(type, column)) - {str}:
        raise ValueError("not a column of texts")
    return column
