"""Folders for when the cache folder cannot take files: private, and gone with the process."""

from __future__ import annotations

import atexit
import logging
import os
import threading

from .errors import CacheError

__all__ = ["fallback_folder", "known_fallback"]

_logger = logging.getLogger("tvmffi_cubin")
_guard = threading.Lock()

# By process too: a forked child must not rely on a folder that its parent removes.
_folders: dict[tuple[str, int], str] = {}


def known_fallback(root: str) -> str | None:
    """Return the folder that stands in for a cache folder in this process, if there is one."""
    return _folders.get((root, os.getpid())) if _folders else None


def fallback_folder(root: str, error: BaseException) -> str:
    """Return the folder that stands in for a cache folder; the first time, make it and warn.

    Raises
    ------
    CacheError
        If there is no room for temporary files either.
    """
    with _guard:
        folder = known_fallback(root)
        if folder is None:
            folder = _folders[root, os.getpid()] = _make(root, error)
            _logger.warning(
                "cache folder %s cannot be used (%s); this process keeps what it builds in %s, and "
                "the next one will build again: set TVMFFI_CUBIN_CACHE_DIR to a folder with room "
                "that can be written",
                root,
                error,
                folder,
            )
    return folder


def _make(root: str, error: BaseException) -> str:
    import tempfile

    try:
        folder = tempfile.mkdtemp(prefix="tvmffi_cubin-")
    except OSError as second:
        raise CacheError(
            f"neither the cache folder {root} ({error}) nor the folder for temporary files "
            f"({second}) can be written; set TVMFFI_CUBIN_CACHE_DIR to a folder with room"
        ) from error
    atexit.register(_remove, folder, os.getpid())
    return folder


def _remove(folder: str, owner: int) -> None:
    import shutil

    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)
