"""Folders for when the cache folder cannot take files: private, and gone with the process."""

from __future__ import annotations

import logging
import os
import threading

from . import config
from .errors import CacheError
from .folder import unloadable

__all__ = ["fallback_folder", "known_fallback"]

_logger = logging.getLogger("tvmffi_cubin")
_guard = threading.Lock()

# By process too: a forked child must not rely on a folder that its parent removes.
_folders: dict[tuple[str, int], str] = {}
_identities: dict[str, tuple[int, int]] = {}


def _forget_guard() -> None:
    global _guard
    _guard = threading.Lock()


# Another thread may have held it when the process was forked.
os.register_at_fork(after_in_child=_forget_guard)


def known_fallback(root: str) -> str | None:
    """Return the folder that stands in for a cache folder in this process, if there is one."""
    folder = _folders.get((root, os.getpid())) if _folders else None
    if folder is None:
        return None
    # Folders for temporary files are emptied of what is old, and then anybody may take the name.
    try:
        info = os.stat(folder, follow_symlinks=False)
    except OSError:
        return None
    return folder if _identities.get(folder) == (info.st_dev, info.st_ino) else None


def _tell(root: str, folder: str, error: BaseException | None) -> None:
    if error is None:
        _logger.debug("this process keeps what it builds in %s", folder)
        return
    _logger.warning(
        "cache folder %s cannot be used (%s); this process keeps what it builds in %s, and "
        "the next one will build again: set TVMFFI_CUBIN_CACHE_DIR to a folder with room "
        "that can be written",
        root,
        error,
        folder,
    )


def fallback_folder(root: str, error: BaseException | None = None) -> str:
    """Return the folder that stands in for a cache folder; the first time, make it.

    Parameters
    ----------
    root : str
        The cache folder.
    error : BaseException, optional
        Why it cannot be used, of which is warned. Default: the user wants it so.

    Raises
    ------
    CacheError
        If there is no room for temporary files either.
    """
    with _guard:
        folder = known_fallback(root)
        if folder is None:
            folder = _folders[root, os.getpid()] = _make(root, error)
            info = os.stat(folder)
            _identities[folder] = info.st_dev, info.st_ino
            _tell(root, folder, error)
    return folder


def _make(root: str, error: BaseException | None) -> str:
    from .process_folder import process_folder

    try:
        folder = process_folder()
    except OSError as second:
        if error is None:
            mode = config.get("TVMFFI_CUBIN_CACHE")
            raise CacheError(
                f"the folder for temporary files, where TVMFFI_CUBIN_CACHE={mode} has what is "
                f"built, cannot be written ({second}); set TMPDIR to a folder with room"
            ) from second
        raise CacheError(
            f"neither the cache folder {root} ({error}) nor the folder for temporary files "
            f"({second}) can be written; set TVMFFI_CUBIN_CACHE_DIR, or TMPDIR, to one with room"
        ) from error
    reason = unloadable(folder)
    if reason is not None:
        raise CacheError(
            f"the folder for temporary files, {os.path.dirname(folder)!r}, {reason}; set TMPDIR to "
            "another folder"
        ) from error
    return folder
