"""`places`: which folders the environment names for the cache, and what may be done with them."""

from __future__ import annotations

import functools
import logging
import os
import stat
from typing import NamedTuple

from . import config
from .errors import CacheError
from .folder import OTHERS, absolute, cache_folder, is_shared, unloadable

__all__ = ["MODES", "Places", "check_own", "places", "split_path"]

MODES = ("on", "read", "off")

_logger = logging.getLogger("tvmffi_cubin")
_told: set[str] = set()


class Places(NamedTuple):
    """The folders of the cache.

    Attributes
    ----------
    root : str
        The user's folder. It need not exist.
    layers : tuple of str
        Folders that are looked through before it and never written.
    mode : str
        ``"on"``; ``"read"``: nothing is written to `root`; ``"off"``: nothing is looked up either.
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
    mode, root = config.get("TVMFFI_CUBIN_CACHE"), cache_folder()
    if mode not in MODES:
        raise ValueError(f"TVMFFI_CUBIN_CACHE={mode!r}: wanted 'on', 'read' or 'off'; or unset it")
    if mode == "off":
        return Places(root, (), mode)
    check_own(root)
    path = config.get("TVMFFI_CUBIN_CACHE_PATH")
    # What it lends from its own folder it would not count as in use.
    named = [folder for folder in _folders(path) if folder != root] if path else []
    layers = tuple(filter(_is_layer, named))
    return Places(root, layers, mode)


@functools.lru_cache(maxsize=16)
def split_path(text: str) -> tuple[str, ...]:
    r"""Return the paths in a list that colons separate; ``\:`` is a colon, ``\\`` a backslash.

    Empty ones are left out. A backslash before another character is itself.
    """
    paths = [""]
    rest = iter(text)
    for character in rest:
        if character == ":":
            paths.append("")
        elif character == "\\":
            follower = next(rest, "")
            paths[-1] += follower if follower in ("\\", ":") else f"\\{follower}"
        else:
            paths[-1] += character
    return tuple(filter(None, paths))


def _folders(path: str) -> list[str]:
    return [absolute(folder, what="TVMFFI_CUBIN_CACHE_PATH") for folder in split_path(path)]


def check_own(root: str) -> None:
    """Refuse a cache folder that others than the user may write to.

    Raises
    ------
    CacheError
        They may; the message has the remedy.
    """
    try:
        info = os.stat(root)
    except OSError:
        return  # it is made, or something stands in for it
    is_ours = info.st_uid in (os.geteuid(), 0)
    if (is_ours and not info.st_mode & OTHERS) or not stat.S_ISDIR(info.st_mode):
        return
    if is_shared() and not info.st_mode & stat.S_IWOTH:
        return
    raise CacheError(
        f"cache folder {root} is not used: {_who(info)}, and who can write it can run code here. "
        f"If you trust all that is in it, {_remedy(root, info, is_ours=is_ours)}; or set "
        "TVMFFI_CUBIN_CACHE_DIR to a folder of your own; or, where a group shares it, "
        "TVMFFI_CUBIN_CACHE_SHARED=1"
    )


def _is_layer(folder: str) -> bool:
    try:
        info = os.stat(folder)
    except OSError as error:
        return _pass_over(folder, error.strerror or str(error))
    reason = unloadable(folder)
    if reason is not None:
        return _pass_over(folder, f"its name {reason}")
    if not stat.S_ISDIR(info.st_mode):
        return _pass_over(folder, "it is no folder")
    if not os.access(folder, os.X_OK):
        return _pass_over(folder, f"user {os.geteuid()} may not read it")
    if not info.st_mode & OTHERS or (is_shared() and not info.st_mode & stat.S_IWOTH):
        return True
    if os.statvfs(folder).f_flag & os.ST_RDONLY:
        return True
    raise CacheError(
        f"layer {folder} of TVMFFI_CUBIN_CACHE_PATH is not used: {_who(info)}, and who can write "
        "it can run code here. If you trust all that is in it, chmod -R go-w it, mount it "
        "read-only, or set TVMFFI_CUBIN_CACHE_SHARED=1 where a group shares it; or take it out of "
        "the list"
    )


def _pass_over(folder: str, reason: str) -> bool:
    if folder not in _told:
        _told.add(folder)
        _logger.warning(
            "layer %s of TVMFFI_CUBIN_CACHE_PATH is passed over (%s): take it out, or mount it",
            # Not all logs take what is no text.
            *(folder.encode(errors="backslashreplace").decode(), reason),
        )
    return False


def _who(info: os.stat_result) -> str:
    mode = stat.S_IMODE(info.st_mode)
    return f"it is owned by user {info.st_uid}, this is user {os.geteuid()}, its mode is {mode:04o}"


def _remedy(root: str, info: os.stat_result, *, is_ours: bool) -> str:
    import shlex

    # With all that is in it: others may still reach that.
    place = shlex.quote(root)
    words = [] if is_ours else [f"chown -R {os.geteuid()} {place}"]
    return " and ".join([*words, *([f"chmod -R go-w {place}"] if info.st_mode & OTHERS else [])])
