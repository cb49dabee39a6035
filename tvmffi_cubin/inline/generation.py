"""From a caller's compiler to the cache and back: called once for a key, by whichever process."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..cache import store as caches
from ..cache.entry import Entry, Product
from ..cache.files import remove
from ..cache.info import seen
from ..cache.lock import builder_lock
from ..cache.store import Cache
from ..errors import CacheError
from .generate_call import call_generate
from .generated import Generated, generated, read, store

__all__ = ["discard", "is_kept", "obtain"]

_logger = logging.getLogger("tvmffi_cubin")
_TRIES = 3


class _Raised(Exception):
    """Carries an error past the cache, which would take some as its own and try again."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


def is_kept(digest: str) -> bool:
    """Whether the cache has what is made for a key."""
    return isinstance(caches.default().find(digest), Entry)


def obtain(digest: str, name: str, generate: Callable[..., Any]) -> tuple[Generated, bool]:
    """Return what was made for a key; where nothing was, call `generate` and keep what it makes.

    Of several processes one calls it, however long that takes, and the others wait; where that one
    is killed, the next calls it.

    Returns
    -------
    tuple
        What was made, and whether `generate` made it now.

    Raises
    ------
    CacheError
        Neither the cache folder nor the one for temporary files can be used.
    Exception
        What `generate` raises, or what `generated` does of what it returns: nothing is kept.
    """
    make = _Maker(name, generate)
    cache = caches.default()
    for _ in range(_TRIES):
        failure = None
        start = time.perf_counter()
        try:
            entry = cache.obtain(
                digest, make, patience=math.inf, name=name, is_shared=True, asked_ns=0
            )
        except _Raised as raised:
            failure = raised.error
        _count(name, None if failure is not None else entry, make, time.perf_counter() - start)
        if failure is not None:
            raise failure
        try:
            return read(entry), make.made is not None
        except (OSError, TypeError, ValueError) as error:
            _logger.warning("what was kept for %s is damaged, it is made anew: %s", name, error)
        _discard_damaged(cache, digest)
    raise CacheError(
        f"what is kept for {name} in {cache.root} is damaged again and again: check its file "
        "system, or set TVMFFI_CUBIN_CACHE_DIR to another folder"
    )


def _count(name: str, entry: Entry | None, make: _Maker, seconds: float) -> None:
    """Count a look-up, of which nothing came where `generate` failed."""
    images = f"{name} (images)"
    if entry is None or make.seconds or entry.is_taken:
        outcome = "failed" if entry is None else "remote" if entry.is_taken else "built"
        reason = "no images are kept under this key"
        seen.missed(images, outcome, reason, looked=0.0, built=make.seconds, total=seconds)
    else:
        seen.found(images, entry.level, seconds)


class _Maker:
    """Calls `generate` once, however often the cache asks, as when its folder turns out full."""

    def __init__(self, name: str, generate: Callable[..., Any]) -> None:
        self.name = name
        self.generate = generate
        self.made: Generated | None = None
        self.seconds = 0.0

    def __call__(self, folder: Path) -> Product:
        if self.made is None:
            staging = folder / "generate"
            staging.mkdir()
            start = time.perf_counter()
            try:
                value = call_generate(self.generate, staging)
                self.made = generated(value, module=self.name)
                remove(staging)
            except BaseException as error:
                raise _Raised(error) from None
            finally:
                self.seconds = time.perf_counter() - start
        return store(self.made, folder)


def discard(digest: str) -> None:
    """Forget what was made for a key, of which it turns out that nothing can be made."""
    cache = caches.default()
    with builder_lock(cache.lock_file(digest), patience=math.inf):
        entry = cache.find(digest)
        if isinstance(entry, Entry):
            _remove(cache, entry)


def _discard_damaged(cache: Cache, digest: str) -> None:
    """Remove what is damaged, unless another process has done so and made it anew."""
    with builder_lock(cache.lock_file(digest), patience=math.inf):
        entry = cache.find(digest)
        if not isinstance(entry, Entry):
            return
        try:
            read(entry)
        except (OSError, TypeError, ValueError):
            _remove(cache, entry)


def _remove(cache: Cache, entry: Entry) -> None:
    if entry.level == "private" or (entry.level == "cache" and cache.mode == "on"):
        remove(entry.path)
