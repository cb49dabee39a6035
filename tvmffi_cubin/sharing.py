"""`Sharing`: the remote of this process; what to take from it, and what was built for it."""

from __future__ import annotations

import atexit
import logging
import os
import threading
from collections.abc import Mapping
from functools import partial

from . import bundle
from .bundle import Bundle
from .dependency_set import find_set
from .entry import Entry
from .errors import CacheError
from .level import Level
from .observer import Observer
from .remote import Remote, configured
from .remote_store import RemoteStore
from .shelf import Shelf
from .uploads import Uploads

__all__ = ["Sharing", "sharing"]

_logger = logging.getLogger("tvmffi_cubin")


class Sharing:
    """One remote, with a queue of uploads."""

    def __init__(self, remote: Remote) -> None:
        from .remote_files import RemoteFiles

        self._store = RemoteStore(remote, RemoteFiles(remote.url))
        self._uploads = Uploads()

    def take(self, base_key: str, shelf: Shelf, *, roots: Mapping[str, str]) -> Entry | None:
        """Return an entry that was built elsewhere from files as they are here; else None.

        Parameters
        ----------
        base_key : str
            Digest of all inputs but the contents of the files that a build finds by itself.
        shelf : Shelf
            Where the entry is published.
        roots : mapping of str to str
            See `Observer`.
        """
        store = self._store
        deadline = store.deadline()
        sets = store.sets(base_key, deadline)
        left = deadline.left()
        with Observer(roots) as observer:
            checked = (item.check(observer) for item in sets)
            made = next((item for item in checked if item is not None), None)
        if made is None:
            return None
        # Without the time that files here took to read.
        data = store.fetch(made.entry, store.deadline(left))
        if data is None:
            return None
        try:
            with shelf.private_directory() as directory:
                bundle.unpack(data, str(directory), name=made.entry, key=store.remote.key)
                entry = shelf.adopt(base_key, made, directory)
            store.found()
            return entry._replace(is_taken=True)
        except ValueError as error:
            store.distrust(made.entry, error)
        except (OSError, CacheError) as error:
            # The folder here: whoever builds now meets the same, and says so.
            _logger.debug("not taken from the remote cache: %s", error)
        return None

    def offer(self, base_key: str, entry: Entry) -> None:
        """Have an entry that was built here uploaded in the background."""
        if self._store.remote.writes:
            self._uploads.add(partial(self._upload, base_key, entry))

    def finish(self) -> None:
        """Wait for uploads, for as long as any call would wait for the remote."""
        self._uploads.finish(self._store.remote.budget)

    def _upload(self, base_key: str, entry: Entry) -> None:
        # As it was recorded; where a file changed while it was built, it was not.
        level = Level(os.fspath(entry.path.parents[2]))
        made = find_set(level.deps_path(base_key), entry.key)
        if made is not None:
            self._store.upload(os.fspath(entry.path), Bundle(base_key, made))


_guard = threading.Lock()
_known: dict[Remote, Sharing] = {}
# Of the parent, in a forked child: their threads are not here, their locks may be held for ever.
_inherited: list[object] = []


def sharing() -> Sharing | None:
    """Return the remote that the environment names, None where it names none.

    Raises
    ------
    CacheError
        If a variable has an impossible value, or there is no key.
    ToolchainError
        If a package for the remote is missing.
    """
    remote = configured()
    if remote is None:
        return None
    with _guard:
        found = _known.get(remote)
        if found is None:
            found = _known[remote] = Sharing(remote)
            if len(_known) == 1:
                atexit.register(_finish, os.getpid())
    return found


def _finish(owner: int) -> None:
    if os.getpid() == owner:
        for each in list(_known.values()):
            each.finish()


def _forget() -> None:
    global _guard, _known
    _guard = threading.Lock()
    _inherited.append(_known)
    _known = {}


os.register_at_fork(after_in_child=_forget)
