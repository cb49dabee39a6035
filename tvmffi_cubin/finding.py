"""`find`: an entry that was built from a key and from files as they are now, or why none is."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from .damage import set_aside
from .dependency_set import DependencySet, read_sets, refresh_sets
from .entry import Entry, read_entry
from .folder import make_folder
from .level import Level
from .observer import Observer
from .uses import note, touch
from .verification import Damaged


class Miss(NamedTuple):
    """Why a look-up found nothing.

    Attributes
    ----------
    reason : str
        For people.
    changed : tuple of str
        The first few files that are not what they were when something was built with this key.
    damaged : tuple of tuples
        Entries that lie in the way and are to be set aside: cache folder, path, what is wrong.
    """

    reason: str
    changed: tuple[str, ...] = ()
    damaged: tuple[tuple[str, str, str], ...] = ()

    def clear_way(self) -> None:
        """Set damaged entries aside; with the lock of the key held, so that no whole one goes."""
        for root, path, reason in self.damaged:
            # Where it cannot be, publishing finds it in the way, and says so.
            with contextlib.suppress(OSError):
                set_aside(root, path, reason)


NOTHING = "nothing was built with these inputs"
"""The reason of a look-up that met no record."""


# Stamps that are written nowhere, since no folder may be written: by base key and folders.
_remembered: dict[tuple[str, ...], DependencySet] = {}
_MOST_REMEMBERED = 256


def find(
    levels: Sequence[Level],
    base_key: str,
    *,
    roots: Mapping[str, str],
    home: Level | None,
    may_lack: bool = False,
) -> Entry | Miss:
    """Look for an entry in several folders.

    A record and the entry that it leads to may lie in different ones.

    Parameters
    ----------
    levels : sequence of Level
        The folders, the first first.
    base_key : str
        Digest of all inputs but the contents of the files that a build finds by itself.
    roots : mapping of str to str
        See `Observer`.
    home : Level, optional
        Where the stamps of files are written that had to be read. Default: only this process
        remembers them.
    may_lack : bool
        Whether files that something was built from may be missing here, as where nothing is built.
    """
    with Observer(roots) as observer:
        search = _Search(levels, base_key, observer, may_lack=may_lack)
        entry = search.run(home)
        return entry or search.miss()


class _Search:
    """One look-up, and what it came upon."""

    def __init__(
        self, levels: Sequence[Level], base_key: str, observer: Observer, *, may_lack: bool
    ) -> None:
        self.levels = levels
        self.base_key = base_key
        self.name = (base_key, *(level.root for level in levels))
        self.observer = observer
        self.may_lack = may_lack
        self.outdated: DependencySet | None = None
        self.problems: list[str] = []
        self.damaged: dict[str, tuple[str, str, str]] = {}

    def run(self, home: Level | None) -> Entry | None:
        moved = []
        for known in self._records():
            if not known.is_current(self.observer):
                moved.append(known)
            elif entry := self._entry(known, known, home):
                return entry
        tried = set()
        for known in moved:
            # Of other hosts' stamps of the same the content decides, too.
            if known.entry in tried:
                continue
            tried.add(known.entry)
            current = known.check(self.observer, may_lack=self.may_lack)
            if current is None:
                self.outdated = self.outdated or known
            elif entry := self._entry(current, known, home):
                return entry
        return None

    def _records(self) -> Iterator[DependencySet]:
        if _remembered and (remembered := _remembered.get(self.name)):
            yield remembered
        # What was written last knows the stamps as they are; the folders' order is for entries.
        for level in reversed(self.levels):
            yield from read_sets(level.deps_path(self.base_key))

    def _entry(
        self, known: DependencySet, recorded: DependencySet, home: Level | None
    ) -> Entry | None:
        entry = self._read(known)
        if entry is not None:
            current = known.verified_as(entry.verified)
            if current != recorded:
                self._refresh(home, current)
        return entry

    def _read(self, known: DependencySet) -> Entry | None:
        for level in self.levels:
            path = level.entry_path(known.entry)
            is_kept = level.kind == "cache" and level.is_writable
            # Before it is looked at: from then on nobody removes it.
            is_first = is_kept and note(level.root, known.entry)
            try:
                entry = read_entry(path, level=level.kind, verified=known.verified)
                if entry.manifest["base_key"] != self.base_key:
                    self.problems.append("its record leads to another key's entry")
                    continue
                if is_first:
                    touch(path)
                return entry
            except FileNotFoundError:
                self.problems.append("its entry was removed")
            except Damaged as error:
                self._note_damage(level, path, str(error))
            except OSError as error:
                # Removed on a network file system's server, or not for us.
                self.problems.insert(0, f"its entry cannot be read: {error}")
        return None

    def _note_damage(self, level: Level, path: str, reason: str) -> None:
        self.problems.insert(0, f"its entry is damaged: {reason}")
        if level.is_writable:
            self.damaged[path] = level.root, path, reason
        else:
            from .damage import pass_over

            pass_over(path, reason)

    def _refresh(self, home: Level | None, current: DependencySet) -> None:
        """Keep stamps that were found anew; where they cannot be written, for this process."""
        if home is not None:
            path = home.deps_path(self.base_key)
            with contextlib.suppress(OSError):
                make_folder(os.path.dirname(path), home.root)
                if refresh_sets(path, current):
                    return
        if len(_remembered) >= _MOST_REMEMBERED:
            _remembered.clear()
        _remembered[self.name] = current

    def miss(self) -> Miss:

        if self.problems:
            return Miss(self.problems[0], damaged=tuple(self.damaged.values()))
        if self.outdated is None:
            return Miss(NOTHING)
        found = self.outdated.changed(self.observer, may_lack=self.may_lack)
        changed = [(self.observer.path(name), how) for name, how in found]
        if not changed:
            return Miss("a file changed while it was looked at")
        name, how = changed[0]
        others = f", and {len(changed) - 1} more" if len(changed) > 1 else ""
        return Miss(f"{name} {how}{others}", changed=tuple(name for name, _ in changed))
