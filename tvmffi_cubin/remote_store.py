"""`RemoteStore`: records and entries on the remote; whatever that does, a call waits for it little.

Below the remote's URL, all of it signed::

    v1/records/<base key>       the sets of files that builds of this key read → entry keys
    v1/entries/<2 hex>/<key>    an entry, as a bundle

The last writer of a record wins: a set that is lost so costs one build.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from . import bundle
from .breaker import Breaker
from .bundle import Bundle
from .deadline import Deadline
from .dependency_set import DependencySet
from .entry import check_entry
from .remote import Remote, problem_text, without_secrets

__all__ = ["Files", "RemoteStore"]

_logger = logging.getLogger("tvmffi_cubin")

# Seconds for which a remote that failed is left alone.
_PAUSE = 60.0

# An upload delays nobody; this ends those to a remote that takes no bytes.
_UPLOAD_SECONDS = 300.0

_MOST_RECORD = 16 << 20
_MOST_ENTRY = 512 << 20
_MOST_SETS = 16


class Files(Protocol):
    """Where the bytes are: `RemoteFiles`."""

    def get(self, path: str, *, limit: int, deadline: Deadline) -> bytes | None:
        """Return the content of a file, None where there is none."""

    def put(self, path: str, data: bytes, *, deadline: Deadline) -> None:
        """Write a file."""


class RemoteStore:
    """What is on the remote, for this process.

    After a failure the remote is left alone for a minute; the first one is a warning. What cannot
    be verified is taken for a failure, too, but for uploads, which mend it. Look-ups that find
    nothing may wait for the budget together: what comes after is built without asking, for as long.

    Parameters
    ----------
    remote : Remote
        Where, and with which key.
    files : Files
        Its bytes by path.
    clock : callable
        Tells the time in seconds.
    """

    def __init__(
        self, remote: Remote, files: Files, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.remote = remote
        self._files = files
        self._clock = clock
        self._reading = Breaker(_PAUSE, clock=clock)
        self._writing = Breaker(_PAUSE, clock=clock)
        self._guard = threading.Lock()
        self._has_warned = False
        # Seconds that look-ups have waited since the last that found something.
        self._waited = 0.0
        # Entries that a record names and that are not there, or not as they were: to be put anew.
        self._missing: set[str] = set()

    def deadline(self, seconds: float | None = None) -> Deadline:
        """Return until when a call waits for the remote that has so many seconds left for it."""
        left = self.remote.budget - self._waited
        return Deadline(left if seconds is None else seconds, clock=self._clock)

    def found(self) -> None:
        """Take note that a look-up had what was wanted."""
        self._waited = 0.0

    def sets(self, base_key: str, deadline: Deadline) -> list[DependencySet]:
        """Return the sets of files that builds of a key read, newest first; none if in doubt."""
        path = _record_path(base_key)
        data = self._get(path, _MOST_RECORD, deadline)
        if data is None:
            return []
        try:
            return bundle.unpack_sets(data, base_key=base_key, key=self.remote.key)
        except ValueError as error:
            self._distrust(path, error)
            return []

    def fetch(self, entry: str, deadline: Deadline) -> bytes | None:
        """Return the bundle of an entry, which is yet to be verified, None where there is none."""
        data = self._get(_entry_path(entry), _MOST_ENTRY, deadline)
        if data is None:
            self._missing.add(entry)
        return data

    def distrust(self, entry: str, error: ValueError) -> None:
        """Take note that what was fetched is not what was put there."""
        self._missing.add(entry)
        self._distrust(_entry_path(entry), error)

    def upload(self, directory: str, about: Bundle) -> bool:
        """Put an entry there, unless it is there already; say whether it was put.

        May take long; nobody should wait for it.
        """
        if not (self.remote.writes and self._writing.allows):
            return False
        deadline = Deadline(_UPLOAD_SECONDS, clock=self._clock)
        try:
            return self._upload(directory, about, deadline)
        except Exception as error:
            self._writing.trip()
            self._tell(
                "cannot be written; where that is meant, set TVMFFI_CUBIN_CACHE_REMOTE_MODE=read",
                error,
            )
            return False

    def _upload(self, directory: str, about: Bundle, deadline: Deadline) -> bool:
        made, key = about.made, self.remote.key
        known = self._known(about.base_key, deadline)
        is_listed = any(item.entry == made.entry for item in known)
        if is_listed and made.entry not in self._missing:
            return False
        try:
            # Removed meanwhile, or damaged: that is found out here, not by those who take it.
            check_entry(directory, key=made.entry)
            data = bundle.pack(directory, about, key=key)
        except (OSError, ValueError) as error:
            _logger.debug("not put into the remote cache: %s", error)
            return False
        if len(data) > _MOST_ENTRY:
            _logger.debug("not put into the remote cache: %s has %d bytes", directory, len(data))
            return False
        self._files.put(_entry_path(made.entry), data, deadline=deadline)
        self._missing.discard(made.entry)
        if not is_listed:
            sets = [made, *known][:_MOST_SETS]
            record = bundle.pack_sets(sets, base_key=about.base_key, key=key)
            # After the entry: who reads the record finds that.
            self._files.put(_record_path(about.base_key), record, deadline=deadline)
        return True

    def _known(self, base_key: str, deadline: Deadline) -> Sequence[DependencySet]:
        # As it is now: others may have built the same since it was looked up.
        data = self._files.get(_record_path(base_key), limit=_MOST_RECORD, deadline=deadline)
        if data is None:
            return []
        try:
            return bundle.unpack_sets(data, base_key=base_key, key=self.remote.key)
        except ValueError:
            return []

    def _get(self, path: str, limit: int, deadline: Deadline) -> bytes | None:
        if not self._reading.allows:
            return None
        began = self._clock()
        try:
            data = self._files.get(path, limit=limit, deadline=deadline)
        # Whatever libraries raise: the call goes on without.
        except Exception as error:
            if isinstance(error, TimeoutError) and self._waited:
                self._count(self.remote.budget)
            else:
                self._writing.trip()
                self._rest("did not answer as it should", error)
            return None
        self._count(self._clock() - began)
        return data

    def _count(self, seconds: float) -> None:
        with self._guard:
            self._waited += seconds
            if self._waited < self.remote.budget:
                return
            self._waited = 0.0
            self._reading.trip()
        _logger.info(
            "remote cache %s had nothing in %g s of look-ups (TVMFFI_CUBIN_CACHE_REMOTE_BUDGET); "
            "it is left alone for %.0f s",
            *(without_secrets(self.remote.url), self.remote.budget, _PAUSE),
        )

    def _distrust(self, path: str, error: ValueError) -> None:
        self._rest(f"holds what cannot be verified at {path}", error)

    def _rest(self, what: str, error: Exception) -> None:
        self._reading.trip()
        self._waited = 0.0
        self._tell(what, error)

    def _tell(self, what: str, error: Exception) -> None:
        with self._guard:
            level = logging.DEBUG if self._has_warned else logging.WARNING
            self._has_warned = True
        _logger.log(
            level,
            "remote cache %s %s (%s); it is left alone for %.0f s",
            without_secrets(self.remote.url),
            what,
            problem_text(self.remote.url, error),
            _PAUSE,
        )


def _record_path(base_key: str) -> str:
    return f"v1/records/{base_key}"


def _entry_path(key: str) -> str:
    return f"v1/entries/{key[:2]}/{key}"
