"""Which folders the cache is in, and whether others could write to them."""

from __future__ import annotations

import os
import stat
from typing import NamedTuple

from .. import config
from ..errors import CacheError
from .files import is_shared

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
    """Return the folders that the environment names; a CacheError where others may write one."""
    mode, root = config.get("TVMFFI_CUBIN_CACHE") or "on", cache_folder()
    if mode not in MODES:
        wanted = ", ".join(map(repr, MODES))
        raise ValueError(f"TVMFFI_CUBIN_CACHE={mode!r}: wanted one of {wanted}; or unset it")
    if mode == "off":
        return Places(root, (), mode)
    _check(root, is_layer=False)
    path = config.get("TVMFFI_CUBIN_CACHE_PATH")
    named = map(_absolute, filter(None, path.split(os.pathsep))) if path else ()
    layers = tuple(layer for layer in named if layer != root)
    for layer in layers:
        _check(layer, is_layer=True)
    return Places(root, layers, mode)


def cache_folder() -> str:
    """Return the absolute path of the cache folder, which need not exist."""
    folder = config.get("TVMFFI_CUBIN_CACHE_DIR")
    if not folder:
        # The same answer as platformdirs.user_cache_path on Linux, without the 3 ms of its import.
        folder = f"{os.environ.get('XDG_CACHE_HOME') or '~/.cache'}/tvmffi_cubin"
    return _absolute(folder)


def _absolute(folder: str) -> str:
    return os.path.abspath(os.path.expanduser(folder))


def _check(folder: str, *, is_layer: bool) -> None:
    """Raise CacheError where others may write to a folder: who can, runs code here.

    A layer may belong to another user. A folder that a group shares may belong to, and be written
    by, its members.
    """
    try:
        info = os.stat(folder)
    except OSError:
        return  # the cache folder is made, or something stands in for it
    shared = is_shared()
    mode = stat.S_IMODE(info.st_mode)
    is_ours = is_layer or shared or info.st_uid in (os.geteuid(), 0)
    if is_ours and not mode & (stat.S_IWOTH if shared else stat.S_IWOTH | stat.S_IWGRP):
        return
    what = f"layer {folder} of TVMFFI_CUBIN_CACHE_PATH" if is_layer else f"cache folder {folder}"
    chown = "" if is_layer else f"chown -R {os.geteuid()} {folder}; "
    raise CacheError(
        f"{what} is not used: it is owned by user {info.st_uid}, this is user {os.geteuid()}, its "
        f"mode is {mode:04o}, and who can write it can run code here. If you trust all that is in "
        f"it, run: {chown}chmod -R go-w {folder}\n"
        "Else name another folder; or, where a group shares it, set TVMFFI_CUBIN_CACHE_SHARED=1"
    )
