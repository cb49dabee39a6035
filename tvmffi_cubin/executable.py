"""Loading what the cache has from a file system that maps no code: from a copy elsewhere."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .errors import BuildError, CacheError
from .folder import unloadable

if TYPE_CHECKING:
    from .module import Module

__all__ = ["is_noexec", "load"]

_logger = logging.getLogger("tvmffi_cubin")
_guard = threading.Lock()

# What is loaded instead of a file. A forked child's parent may have removed it: what is loaded
# already can be loaded again all the same, by its path.
_copies: dict[str, str] = {}
_identities: dict[str, tuple[int, int]] = {}
_told: set[int] = set()


def _forget_guard() -> None:
    global _guard
    _guard = threading.Lock()


# Another thread may have held it when the process was forked.
os.register_at_fork(after_in_child=_forget_guard)


def is_noexec(path: str | os.PathLike[str]) -> bool:
    """Whether a path is on a file system that is mounted noexec."""
    try:
        return bool(os.statvfs(path).f_flag & os.ST_NOEXEC)
    except OSError:
        return False


def load(so: str, *, keep_module_alive: bool) -> Module:
    """Return the module of a shared object in the cache, whatever that is mounted like.

    Raises
    ------
    CacheError
        It is mounted noexec, and so are all places for a copy.
    BuildError, ToolchainError, OSError
        As `load_module`.
    """
    from .module import load_module

    known = _copies.get(so)
    if known is not None and not _is_ours(known):
        known = None
    for path in (so,) if known is None else (known, so):
        try:
            module = load_module(path, keep_module_alive=keep_module_alive)
        except (BuildError, OSError) as error:
            if not is_noexec(so):
                raise
            reason = error
        else:
            module.path = so
            return module
    with _guard:
        # Another thread may have made one meanwhile: two would have variables of their own each.
        if _copies.get(so) == known or not _is_ours(_copies[so]):
            copy = _copies[so] = _copied(so, reason)
            info = os.stat(copy)
            _identities[copy] = info.st_dev, info.st_ino
        copy = _copies[so]
    module = load_module(copy, keep_module_alive=keep_module_alive)
    module.path = so
    return module


def _is_ours(copy: str) -> bool:
    """Whether a copy is the file that was made, or no file: then what is loaded is taken."""
    try:
        info = os.stat(copy)
    except OSError:
        return True
    return _identities.get(copy) == (info.st_dev, info.st_ino)


def _copied(so: str, reason: BuildError | OSError) -> str:
    from .process_folder import process_folder

    copy = None
    for parent in _places():
        with contextlib.suppress(OSError):
            copy = _put(so, process_folder(parent), as_memory=is_noexec(parent))
            break
    if copy is None:
        raise CacheError(
            f"{so} cannot be loaded, since its file system is mounted noexec, nor can a copy be "
            "made: set TVMFFI_CUBIN_CACHE_DIR, or TMPDIR, to a folder on one that is not and has "
            "room"
        ) from reason
    device = os.stat(so).st_dev
    if device not in _told:
        _told.add(device)
        _logger.warning(
            "%s is on a file system that is mounted noexec; each process loads copies from %s: set "
            "TVMFFI_CUBIN_CACHE_DIR to a folder on another",
            so,
            os.path.dirname(copy),
        )
    return copy


def _places() -> Iterator[str]:
    """Return folders for copies; those where only a file in memory helps come last."""
    names = ("TMPDIR", "XDG_RUNTIME_DIR")
    chosen = [os.environ.get(name, "") for name in names]
    folders = dict.fromkeys([chosen[0], "/tmp", "/dev/shm", chosen[1], "/var/tmp"])
    usable = [x for x in folders if os.path.isabs(x) and _is_usable(x)]
    yield from (x for x in usable if not is_noexec(x))
    yield from (x for x in usable if is_noexec(x))


def _is_usable(folder: str) -> bool:
    return unloadable(folder) is None and os.access(folder, os.W_OK | os.X_OK)


def _put(so: str, folder: str, *, as_memory: bool) -> str:
    import shutil

    target = os.path.join(folder, os.path.basename(so))
    if not as_memory:
        return str(shutil.copyfile(so, target))
    # It stays open: the dynamic loader knows a library by its path, and another file that got the
    # same number would be taken for this one.
    descriptor = os.memfd_create("tvmffi_cubin")
    try:
        with open(so, "rb") as source, open(descriptor, "wb", closefd=False) as file:
            shutil.copyfileobj(source, file)
        # tvm-ffi goes by a file's suffix.
        os.symlink(f"/proc/{os.getpid()}/fd/{descriptor}", target)
    except BaseException:
        os.close(descriptor)
        raise
    return target
