"""Which folders the cache is in, and whether others could write to them."""

from __future__ import annotations

import functools
import logging
import os
import stat
from typing import NamedTuple

from .. import config
from ..errors import CacheError
from .files import OTHERS, is_shared

MODES = ("on", "read", "require", "off")


class Places(NamedTuple):
    """The folders of the cache.

    `root` is the user's folder, which need not exist; `layers` are looked through first and never
    written. `mode` is ``"on"``; ``"read"``: nothing is written to `root`; ``"require"``: nor is
    anything built; or ``"off"``: nothing is looked up.
    """

    root: str
    layers: tuple[str, ...] = ()
    mode: str = "on"


def places() -> Places:
    """Return the folders that the environment names, once others cannot write to them.

    Raises
    ------
    CacheError
        Others than the user may write to one of them, or there is none.
    ValueError
        ``TVMFFI_CUBIN_CACHE`` has another value than `MODES`.
    """
    mode, root = config.get("TVMFFI_CUBIN_CACHE") or "on", cache_folder()
    if mode not in MODES:
        wanted = ", ".join(map(repr, MODES))
        raise ValueError(f"TVMFFI_CUBIN_CACHE={mode!r}: wanted one of {wanted}; or unset it")
    if mode == "off":
        return Places(root, (), mode)
    check_own(root)
    path = config.get("TVMFFI_CUBIN_CACHE_PATH") or ""
    named = map(_absolute, filter(None, path.split(os.pathsep)))
    return Places(root, tuple(x for x in named if x != root and _is_layer(x)), mode)


def cache_folder() -> str:
    """Return the absolute path of the cache folder, which need not exist.

    A CacheError where there is no home folder.
    """
    folder = config.get("TVMFFI_CUBIN_CACHE_DIR")
    if not folder:
        # The same answer as platformdirs.user_cache_path on Linux, without the 3 ms of its import.
        base = os.environ.get("XDG_CACHE_HOME", "").strip() or os.path.expanduser("~/.cache")
        if not os.path.isabs(base):
            raise CacheError(
                f"the user's cache folder is {base!r}, which is no absolute path; "
                "set TVMFFI_CUBIN_CACHE_DIR to a folder that can be written"
            )
        folder = f"{base}/tvmffi_cubin"
    return _absolute(folder)


def _absolute(folder: str) -> str:
    return os.path.abspath(os.path.expanduser(folder))


def check_own(root: str) -> None:
    """Refuse a cache folder that others than the user may write to, by a CacheError."""
    try:
        info = os.stat(root)
    except OSError:
        return  # it is made, or something stands in for it
    if info.st_uid in (os.geteuid(), 0) and not info.st_mode & OTHERS:
        return
    if _is_of_group(info) or not stat.S_ISDIR(info.st_mode):
        return
    raise CacheError(
        f"cache folder {root} is not used: {_who(info)}, and who can write it can run code here. "
        "If you trust all that is in it, run: "
        f"chown -R {os.geteuid()} {root}; chmod -R go-w {root}\n"
        "Else set TVMFFI_CUBIN_CACHE_DIR to a folder of your own; or, where a group shares it, "
        "TVMFFI_CUBIN_CACHE_SHARED=1"
    )


def _is_layer(folder: str) -> bool:
    try:
        info = os.stat(f"{folder}/.")
    except OSError as error:
        _tell(folder, error.strerror)
        return False
    if not info.st_mode & OTHERS or _is_of_group(info):
        return True
    if os.statvfs(folder).f_flag & os.ST_RDONLY:
        return True
    raise CacheError(
        f"layer {folder} of TVMFFI_CUBIN_CACHE_PATH is not used: {_who(info)}, and who can write "
        f"it can run code here. If you trust all that is in it, run: chmod -R go-w {folder}\n"
        "Or mount it read-only; or set TVMFFI_CUBIN_CACHE_SHARED=1 where a group shares it"
    )


def _is_of_group(info: os.stat_result) -> bool:
    return is_shared() and not info.st_mode & stat.S_IWOTH


@functools.cache
def _tell(folder: str, reason: str) -> None:
    logging.getLogger("tvmffi_cubin").warning(
        "layer %s of TVMFFI_CUBIN_CACHE_PATH is passed over: %s", folder, reason
    )


def _who(info: os.stat_result) -> str:
    mode = stat.S_IMODE(info.st_mode)
    return f"it is owned by user {info.st_uid}, this is user {os.geteuid()}, its mode is {mode:04o}"
