"""Where the cache lives, and which failures mean that a folder cannot take files."""

from __future__ import annotations

import errno
import os

from . import config
from .errors import CacheError

__all__ = ["HEADERS", "cache_folder", "is_unwritable"]

HEADERS = "headers"
"""The folder inside the cache's that holds precompiled headers, a cache of its own."""

_UNWRITABLE = frozenset(
    {
        errno.EACCES,
        errno.EPERM,
        errno.EROFS,
        errno.ENOSPC,
        errno.EDQUOT,
        errno.EFBIG,
        errno.ENOTDIR,
        errno.EEXIST,
    }
)


def cache_folder() -> str:
    """Return the absolute path of the writable cache folder; it need not exist.

    Raises
    ------
    CacheError
        If no variable names it and the user has no home folder, or nothing can be loaded from it.
    """
    chosen = config.get("TVMFFI_CUBIN_CACHE_DIR")
    if chosen:
        return _loadable(os.path.abspath(os.path.expanduser(chosen)))
    # The same answer as platformdirs.user_cache_path on Linux, without the 3 ms of its import.
    base = os.environ.get("XDG_CACHE_HOME", "").strip() or os.path.expanduser("~/.cache")
    if not os.path.isabs(base):
        raise CacheError(
            f"the user's cache folder is {base!r}, which is no absolute path; "
            "set TVMFFI_CUBIN_CACHE_DIR to a folder that can be written"
        )
    return _loadable(os.path.join(base, "tvmffi_cubin"))


def _loadable(folder: str) -> str:
    try:
        folder.encode()
    except UnicodeEncodeError:
        raise CacheError(
            f"cache folder {folder!r} is no Unicode text, and tvm-ffi loads from no other path; "
            "set TVMFFI_CUBIN_CACHE_DIR to another folder"
        ) from None
    return folder


def is_unwritable(error: OSError) -> bool:
    """Whether an error says that a folder is read-only, full, or no folder at all."""
    return error.errno in _UNWRITABLE
