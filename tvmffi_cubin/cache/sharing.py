"""The second level of the cache that machines share; all in it is signed.

Below the remote's URL::

    v2/records/<base key>       what builds of this key read → entry keys
    v2/entries/<2 hex>/<key>    an entry, as a tar file

All is compressed and begins with a tag (HMAC-SHA256) over the rest and its name, so that none
serves as another; nothing is unpacked before that is right. The last writer of a record wins: what
is lost so costs one build. Whatever the remote does, a build goes on without it: a call waits for
`budget` seconds at most, and after a failure the remote is left alone for a minute.
"""

from __future__ import annotations

import hmac
import io
import json
import logging
import os
import tarfile
import threading
import time
import zlib
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import thread as threads
from pathlib import Path
from typing import TypeVar

from .entry import Entry, check_entry
from .publish import adopt, cleared, root_of
from .record import MOST, Files, Reads, read_record
from .remote import Remote, Storage, check_package, configured, without_secrets
from .store import Cache

# How many bytes the tag before what is signed has.
_TAG = 32
# Seconds for which a remote that failed is left alone.
_PAUSE = 60.0

_T = TypeVar("_T")


class Sharing:
    """The remote of this process, and what is being put there."""

    def __init__(self, remote: Remote) -> None:
        check_package(remote.url)
        self.remote = remote
        self._storage = Storage(remote.url)
        # Until when it is left alone, by `time.monotonic`.
        self._reads_after = self._writes_after = 0.0
        self._has_warned = False
        self._uploads: list[threading.Thread] = []

    def take(self, base_key: str, cache: Cache) -> Entry | None:
        """Return an entry that was built elsewhere from files as they are here; else None."""
        start = time.monotonic()
        if start < self._reads_after:
            return None
        end = start + self.remote.budget
        try:
            files = Files(cache.roots)
            rows = self._in_time(end, lambda: self._reads(base_key))
            made = next((x for x in rows if isinstance(x.check(files), Reads)), None)
            if made is None:
                return None
            data = self._in_time(end, lambda: self._get(_entry_name(made.entry)))
            if data is None:
                return None
            folder = cache.make_directory()
            with cleared(folder):
                with tarfile.open(fileobj=io.BytesIO(data)) as tar:
                    tar.extractall(folder, filter="data")
                so = Path(adopt(root_of(folder), folder, base_key))
            return Entry(so.parent, so, "remote")
        except ValueError as error:
            self._tell("holds what cannot be verified", error)
        # Whatever libraries raise: the call goes on without.
        except Exception as error:
            self._reads_after = self._writes_after = time.monotonic() + _PAUSE
            self._tell("did not answer as it should", error)
        return None

    def offer(self, base_key: str, entry: Entry) -> None:
        """Have an entry that was built here uploaded in the background."""
        if self.remote.writes and time.monotonic() >= self._writes_after:
            self._uploads = [thread for thread in self._uploads if thread.is_alive()]
            self._uploads.append(_thread(lambda: self._upload(base_key, entry)))

    def finish(self, seconds: float) -> bool:
        """Wait for uploads for at most so many seconds, and say whether they are done."""
        end = time.monotonic() + seconds
        for thread in self._uploads:
            thread.join(max(0.0, end - time.monotonic()))
        return not any(thread.is_alive() for thread in self._uploads)

    def _upload(self, base_key: str, entry: Entry) -> None:
        root = os.fspath(entry.path.parents[2])
        # Where a file changed while it was built, nothing leads to the entry.
        known = [x for x in read_record(root, base_key) if x.entry == entry.key]
        try:
            for made in known:
                check_entry(os.fspath(entry.path))
                packed = io.BytesIO()
                with tarfile.open(fileobj=packed, mode="w") as tar:
                    tar.add(entry.path, arcname=".")
                try:
                    there = self._reads(base_key)
                except ValueError:
                    there = []  # it is written anew
                self._put(_entry_name(made.entry), packed.getvalue())
                rows = [made, *(x for x in there if x.entry != made.entry)][:MOST]
                # After the entry: who reads the record finds that.
                record = json.dumps([(x.read, x.loaded) for x in rows]).encode()
                self._put(f"records/{base_key}", record)
        except Exception as error:
            self._writes_after = time.monotonic() + _PAUSE
            self._tell(
                "cannot be written; where that is meant, set TVMFFI_CUBIN_CACHE_REMOTE_MODE=read",
                error,
            )

    def _reads(self, base_key: str) -> list[Reads]:
        data = self._get(f"records/{base_key}") or b"[]"
        return [Reads.elsewhere(base_key, *row) for row in json.loads(data)]

    def _get(self, name: str) -> bytes | None:
        """Return what was signed under a name; a ValueError says why it is not taken."""
        data = self._storage.get(f"v2/{name}")
        if data is None:
            return None
        if not hmac.compare_digest(data[:_TAG], self._tag(name, data[_TAG:])):
            raise ValueError("it is damaged, or was signed with another key")
        return zlib.decompress(data[_TAG:])

    def _put(self, name: str, data: bytes) -> None:
        body = zlib.compress(data, 1)
        self._storage.put(f"v2/{name}", self._tag(name, body) + body)

    def _tag(self, name: str, body: bytes) -> bytes:
        return hmac.digest(self.remote.key, name.encode() + b"\n" + body, "sha256")

    def _in_time(self, end: float, work: Callable[[], _T]) -> _T:
        """Return what some work returns, in a thread that no process waits for."""
        future: Future[_T] = Future()

        def run() -> None:
            try:
                future.set_result(work())
            except BaseException as error:
                future.set_exception(error)

        _thread(run)
        return future.result(max(0.0, end - time.monotonic()))

    def _tell(self, what: str, error: Exception) -> None:
        level = logging.DEBUG if self._has_warned else logging.WARNING
        self._has_warned = True
        url = without_secrets(self.remote.url)
        text = (str(error) or repr(error)).replace(self.remote.url, url)
        logging.getLogger("tvmffi_cubin").log(level, "remote cache %s %s: %.300s", url, what, text)


def _entry_name(key: str) -> str:
    return f"entries/{key[:2]}/{key}"


def _thread(work: Callable[[], None]) -> threading.Thread:
    made = threading.Thread(target=work, name="tvmffi_cubin", daemon=True)
    made.start()
    return made


_known: dict[tuple[Remote, int], Sharing] = {}


def sharing() -> Sharing | None:
    """Return the remote that the environment names, None where it names none."""
    remote = configured()
    if remote is None:
        return None
    # A forked child has neither the threads of its parent nor its connections.
    name = remote, os.getpid()
    if name not in _known:
        _known[name] = Sharing(remote)
    return _known[name]


def _finish() -> None:
    for (remote, owner), each in _known.items():
        if os.getpid() == owner:
            each.finish(remote.budget)


# Not by `atexit`: by then the threads in which fsspec looks up names are shut down. It was imported
# before, so that it is called after this.
assert threads
threading._register_atexit(_finish)  # type: ignore[attr-defined]
