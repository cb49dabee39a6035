"""Which folders the cache is in, and whether others could write to them."""

from __future__ import annotations

import functools
import logging
import os
import re
import stat
from typing import NamedTuple

from .. import config
from ..errors import CacheError
from .files import OTHERS, is_shared

MODES = ("on", "read", "require", "off")

# In their place the dynamic loader puts other words, and there is no way to keep it from that.
_REPLACED = r"\$(?:(?:ORIGIN|LIB|PLATFORM)(?!\w)|\{(?:ORIGIN|LIB|PLATFORM)\})"


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
    path = config.get("TVMFFI_CUBIN_CACHE_PATH")
    named = map(_absolute, split_path(path)) if path else ()
    return Places(root, tuple(x for x in named if x != root and _is_layer(x)), mode)


def cache_folder() -> str:
    """Return the absolute path of the writable cache folder, which need not exist.

    Raises
    ------
    CacheError
        There is no home folder, or nothing can be loaded from it.
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
    folder = _absolute(folder)
    if reason := unloadable(folder):
        raise CacheError(
            f"cache folder {folder!r} {reason}; set TVMFFI_CUBIN_CACHE_DIR to another folder"
        )
    return folder


def _absolute(folder: str) -> str:
    try:
        return os.path.abspath(os.path.expanduser(folder))
    except FileNotFoundError:
        raise CacheError(
            f"the cache folder {folder!r} is relative to the current folder, which was removed; "
            "set TVMFFI_CUBIN_CACHE_DIR to an absolute path"
        ) from None


def unloadable(folder: str) -> str:
    """Return why no shared object can be loaded from a folder of this name; empty where it can."""
    try:
        folder.encode()
    except UnicodeEncodeError:
        return "is no Unicode text, and tvm-ffi loads from no other path"
    found = re.search(_REPLACED, folder, re.ASCII) if "$" in folder else None
    return f"holds {found[0]}, which the dynamic loader takes for another folder" if found else ""


@functools.lru_cache(maxsize=16)
def split_path(text: str) -> tuple[str, ...]:
    r"""Return the paths in a list that colons separate; ``\:`` is a colon, ``\\`` a backslash."""
    parts = re.findall(r"(?:\\[\\:]|[^:])+", text)
    return tuple(re.sub(r"\\([\\:])", r"\1", part) for part in parts)


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
        reason = unloadable(folder)
    except OSError as error:
        reason = error.strerror or str(error)
    if reason:
        _tell(folder.encode(errors="backslashreplace").decode(), reason)
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
