"""Which folders the cache is in, who may write to them, and what stands in for one."""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import stat
from typing import NamedTuple

from .. import config
from ..errors import CacheError

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

    A layer may belong to another user.
    """
    try:
        info = os.stat(folder)
    except OSError:
        return  # the cache folder is made, or something stands in for it
    mode = stat.S_IMODE(info.st_mode)
    is_ours = is_layer or info.st_uid in (os.geteuid(), 0)
    if is_ours and not mode & (stat.S_IWOTH | stat.S_IWGRP):
        return
    what = f"layer {folder} of TVMFFI_CUBIN_CACHE_PATH" if is_layer else f"cache folder {folder}"
    why, remedy = f"its mode is {mode:04o}", "name a folder of your own"
    if not is_ours:
        why = f"it belongs to user {info.st_uid}, this is user {os.geteuid()}"
    elif mode & stat.S_ISVTX:  # /tmp, which is for everybody
        remedy += f", such as {folder}/tvmffi_cubin"
    else:
        remedy = f"if you trust all that is in it, run chmod -R go-w {folder}; else {remedy}"
    raise CacheError(f"{what} is not used: {why}, and who can write it can run code here; {remedy}")


def make_folder(path: str) -> None:
    """Make a folder for its user alone, with those above it; raises OSError.

    So whatever the mode of the cache folder itself, nobody else reaches what is below.
    """
    if not os.path.isdir(path):
        make_folder(os.path.dirname(path))
        with contextlib.suppress(FileExistsError):  # made meanwhile by another
            os.mkdir(path, 0o700)


# What stands in for a folder that cannot be written

_roots: dict[str, str] = {}
# Those that took no files; others are only not written in a mode.
_refused: set[str] = set()
# A forked child must not rely on a folder that its parent removes.
os.register_at_fork(after_in_child=_roots.clear)


def known_root(root: str, mode: str) -> str | None:
    """Return the folder that stands in for a cache folder in this process, if there is one."""
    return _roots.get(root) if mode != "on" or root in _refused else None


def temporary_root(root: str, error: object = None) -> str:
    """Return the folder that stands in for a cache folder in this process, and goes with it.

    Where one is needed because of an error, people are told. An OSError where none can be made.
    """
    if error is not None and root not in _refused:
        _refused.add(root)
        logging.getLogger("tvmffi_cubin").warning(
            "cache folder %s cannot be used (%s); this process keeps what it builds in a temporary "
            "folder, and the next one will build again: set TVMFFI_CUBIN_CACHE_DIR to a folder "
            "with room that can be written",
            *(root, error),
        )
    folder = _roots.get(root)
    if folder is None:
        import tempfile

        folder = _roots[root] = tempfile.mkdtemp(prefix="tvmffi_cubin-")
        atexit.register(_remove_own, folder, os.getpid())
    return folder


def _remove_own(folder: str, owner: int) -> None:
    if os.getpid() == owner:
        import shutil

        shutil.rmtree(folder, ignore_errors=True)
