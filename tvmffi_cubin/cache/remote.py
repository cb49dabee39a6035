"""The remote: the second level of the cache, shared between machines; all in it is signed.

Layout below the remote's URL::

    v2/records/<base key>       files that builds of this key read → entry keys
    v2/entries/<key>            an entry, as a tar file

Each object is compressed and begins with a tag (HMAC-SHA256) over its name and content, so that no
object can pose as another; nothing is unpacked before its tag is verified. The last writer of a
record wins; a lost row costs one build. No build depends on the remote: a call waits at most
`budget` seconds, and after a failure the remote is left alone for a minute.
"""

from __future__ import annotations

import functools
import hmac
import io
import json
import logging
import os
import re
import tarfile
import threading
import time
import zlib
from collections.abc import Callable
from concurrent.futures import Future, wait
from concurrent.futures import thread as threads
from pathlib import Path
from typing import Any, NamedTuple

from .. import config
from ..errors import CacheError
from .entry import MOST, Entry, Files, Reads, Roots
from .files import write_atomically
from .publish import adopt, private_folder

_URL = "TVMFFI_CUBIN_CACHE_REMOTE"
_KEY_FILE, _MODE, _BUDGET = f"{_URL}_KEY_FILE", f"{_URL}_MODE", f"{_URL}_BUDGET"
_MAKE_KEY = f"create one with: (umask 077; openssl rand -hex 32 > FILE), and set {_KEY_FILE}=FILE"
# Minimum size of a key, and size of the tag that precedes signed content, in bytes.
_LEAST_KEY, _TAG = 16, 32
# How long a failed remote is left alone, in seconds.
_PAUSE = 60.0


# Configuration


class Remote(NamedTuple):
    """Where entries are shared, and with whom."""

    url: str  # an fsspec URL, or the path of a folder
    key: bytes  # the secret that signs everything there
    budget: float  # how many seconds one call may wait
    writes: bool  # whether builds are uploaded


def configured() -> Remote | None:
    """Return the remote that the environment names, if any; raises CacheError if it is invalid."""
    url = config.get(_URL)
    if url is None:
        return None
    mode, budget = config.get(_MODE) or "", config.get(_BUDGET) or ""
    if mode not in ("readwrite", "read"):
        raise CacheError(f"{_MODE} must be 'readwrite' or 'read', got {mode!r}")
    if not re.fullmatch(r"\d+(\.\d*)?|\.\d+", budget):
        raise CacheError(f"{_BUDGET} must be the number of seconds a call may wait, got {budget!r}")
    file = Path(config.get(_KEY_FILE) or os.devnull).expanduser()
    try:
        key = file.read_bytes().strip()
    except OSError as error:
        raise CacheError(f"{_KEY_FILE}: {error}; {_MAKE_KEY}") from None
    if len(key) < _LEAST_KEY:
        raise CacheError(
            f"{_URL} is set, but its key has {len(key)} bytes, expected at least {_LEAST_KEY}: "
            f"where others can write, entries must be signed; {_MAKE_KEY} on every machine"
        )
    url = url.removeprefix("file://").rstrip("/")
    if "://" in url:
        try:
            import fsspec

            fsspec.get_filesystem_class(url.partition("://")[0])
        except (ImportError, ValueError) as error:
            raise CacheError(
                f"{_URL} is {without_secrets(url)}: {error}; set it to a folder or an fsspec URL, "
                "which requires pip install 'tvmffi-cubin[remote]'"
            ) from None
    return Remote(url, key, float(budget), mode == "readwrite")


def without_secrets(url: str) -> str:
    """Return a URL for display, without any user name and password in it."""
    return re.sub(r"(?<=//).*@", "", url)  # a password may contain an @ or a slash


# Downloads and uploads


class Sharing:
    """The remote of this process, and its pending uploads."""

    def __init__(self, remote: Remote) -> None:
        self.remote = remote
        # When to contact it again, by `time.monotonic`.
        self._reads_after = self._writes_after = 0.0
        self._has_warned = False
        self._uploads: list[Future[Any]] = []

    def take(self, base_key: str, root: str, roots: Roots) -> Entry | None:
        """Return an entry built elsewhere from the same files as here, else None."""
        if time.monotonic() < self._reads_after:
            return None
        try:
            fetching = _begun(lambda: self._fetch(base_key, Files(roots)))
            data = fetching.result(self.remote.budget)
            if data is None:
                return None
            with private_folder(root) as folder:
                with tarfile.open(fileobj=io.BytesIO(data)) as tar:
                    tar.extractall(folder, filter="data")
                return Entry(Path(adopt(root, folder, base_key)), "remote")
        except ValueError as error:
            self._tell("returned data that cannot be verified", error)
        # Whatever the libraries raise, the call continues without the remote.
        except Exception as error:
            self._reads_after = self._writes_after = time.monotonic() + _PAUSE
            self._tell("cannot be read", error)
        return None

    def _fetch(self, base_key: str, files: Files) -> bytes | None:
        rows = self._reads(base_key)
        fits = (made for made in rows if isinstance(made.check(files), Reads))
        made = next(fits, None)
        return made and self._get(f"entries/{made.entry}")

    def offer(self, base_key: str, entry: Entry) -> None:
        """Upload an entry that was built here, in the background."""
        if self.remote.writes and time.monotonic() >= self._writes_after:
            self._uploads.append(_begun(lambda: self._upload(base_key, entry)))

    def finish(self, seconds: float) -> None:
        """Wait for uploads, at most `seconds`."""
        wait(self._uploads, seconds)

    def _upload(self, base_key: str, entry: Entry) -> None:
        packed = io.BytesIO()
        try:
            manifest = entry.manifest
            made = Reads.of(base_key, manifest["read"], manifest["loaded"])
            if made.entry != entry.path.name:
                return  # a file changed while it was built
            with tarfile.open(fileobj=packed, mode="w") as tar:
                tar.add(entry.path, arcname=".")
            try:
                there = self._reads(base_key)
            except ValueError:
                there = []  # replace it
            self._put(f"entries/{made.entry}", packed.getvalue())
            rows = [made, *(x for x in there if x.entry != made.entry)][:MOST]
            # After the entry, so that whoever reads the record finds the entry.
            record = json.dumps([(x.read, x.loaded) for x in rows]).encode()
            self._put(f"records/{base_key}", record)
        except Exception as error:
            self._writes_after = time.monotonic() + _PAUSE
            self._tell(f"cannot be written (if intended, set {_MODE}=read)", error)

    def _reads(self, base_key: str) -> list[Reads]:
        data = self._get(f"records/{base_key}") or b"[]"
        return [Reads.of(base_key, *row) for row in json.loads(data)]

    # Files; each access blocks

    def _get(self, name: str) -> bytes | None:
        """Return the content signed under a name; a ValueError says why it is rejected."""
        fs, root = self._place
        try:
            path = f"{root}/v2/{name}"
            data: bytes = Path(path).read_bytes() if fs is None else fs.cat_file(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        if not hmac.compare_digest(data[:_TAG], self._tag(name, data[_TAG:])):
            raise ValueError("it is damaged or was signed with another key")
        return zlib.decompress(data[_TAG:])

    def _put(self, name: str, data: bytes) -> None:
        fs, root = self._place
        path, body = f"{root}/v2/{name}", zlib.compress(data, 1)
        signed = self._tag(name, body) + body
        if fs is None:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            write_atomically(path, signed)
        else:
            fs.pipe_file(path, signed)

    def _tag(self, name: str, body: bytes) -> bytes:
        return hmac.digest(self.remote.key, name.encode() + b"\n" + body, "sha256")

    @functools.cached_property
    def _place(self) -> tuple[Any, str]:
        """The fsspec file system, None for a folder, and the path in it."""
        url = self.remote.url
        if "://" not in url:
            return None, url
        import fsspec

        kind = fsspec.get_filesystem_class(url.partition("://")[0])
        # Not `url_to_fs`, which splits at "::" to chain file systems: URLs may contain it, too.
        options = kind._get_kwargs_from_urls(url)
        return kind(**options, skip_instance_cache=True), kind._strip_protocol(url)

    def _tell(self, what: str, error: Exception) -> None:
        level = logging.DEBUG if self._has_warned else logging.WARNING
        self._has_warned = True
        url = without_secrets(self.remote.url)
        text = (str(error) or repr(error)).replace(self.remote.url, url)
        logging.getLogger("tvmffi_cubin").log(level, "remote cache %s %s: %.300s", url, what, text)


def _begun(work: Callable[[], object]) -> Future[Any]:
    """Start some work in a daemon thread and return its future."""
    future: Future[Any] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, name="tvmffi_cubin", daemon=True).start()
    return future


def sharing() -> Sharing | None:
    """Return the remote that the environment names, or None if it names none."""
    remote = configured()
    # A forked child has neither its parent's threads nor its connections.
    return None if remote is None else _sharing(remote, os.getpid())


@functools.cache
def _sharing(remote: Remote, _owner: int) -> Sharing:
    made = Sharing(remote)
    # Not `atexit`: by then the threads in which fsspec resolves names are shut down. Their module
    # was imported earlier, so its handler runs after this one.
    assert threads
    threading._register_atexit(made.finish, remote.budget)  # type: ignore[attr-defined]
    return made
