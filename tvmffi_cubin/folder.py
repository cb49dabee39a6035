"""Where the cache lives, and which failures mean that a folder cannot take files."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat

from . import config
from .errors import BuildError, CacheError

__all__ = [
    "HEADERS",
    "OTHERS",
    "OWN_FILE",
    "OWN_FOLDER",
    "SHARED_FILE",
    "absolute",
    "cache_folder",
    "check_room",
    "full_text",
    "is_shared",
    "is_unwritable",
    "make_folder",
    "open_made",
    "says_full",
    "share",
    "unloadable",
]

HEADERS = "headers"
"""The folder inside the cache's that holds precompiled headers, a cache of its own."""

SHARED_FILE = 0o660
"""The mode of files where a group shares the cache folder."""

OWN_FILE = 0o644
"""The mode of files elsewhere, less what the umask takes: nobody else writes them."""

_SHARED_FOLDER, OWN_FOLDER = 0o2770, 0o755

# Whoever may write what is loaded can run code as who loads it.
OTHERS = stat.S_IWGRP | stat.S_IWOTH

_UNWRITABLE = frozenset(
    {
        errno.EACCES,
        errno.EPERM,
        errno.EROFS,
        errno.ENOSPC,
        errno.EDQUOT,
        errno.EFBIG,
        errno.ENOTDIR,
        errno.EISDIR,
        errno.EEXIST,
        errno.ELOOP,
        errno.EXDEV,
        errno.ENAMETOOLONG,
        # A file system of another machine, or of a process, that went away: it may come back, and
        # a build need not wait for it. A disk that fails says the first.
        errno.EIO,
        errno.ESTALE,
        errno.ENOTCONN,
        errno.ETIMEDOUT,
        errno.EHOSTDOWN,
        errno.ENXIO,
    }
)

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_FULL_TEXTS = (
    "No space left on device",
    "Disk quota exceeded",
    "File too large",
    # A compiler that is ended by SIGXFSZ says nothing itself; a shell, or gcc, does.
    "File size limit exceeded",
)

# In their place the dynamic loader puts other words, and there is no way to keep it from that.
_REPLACED = re.compile(r"\$(?:(?:ORIGIN|LIB|PLATFORM)(?!\w)|\{(?:ORIGIN|LIB|PLATFORM)\})", re.ASCII)

# A build needs some room. With less than this many bytes it would fail halfway.
_LEAST_ROOM = 16 << 20


def cache_folder() -> str:
    """Return the absolute path of the writable cache folder; it need not exist.

    Raises
    ------
    CacheError
        If no variable names it and the user has no home folder, or nothing can be loaded from it.
    """
    chosen = config.get("TVMFFI_CUBIN_CACHE_DIR")
    if chosen:
        return _loadable(absolute(chosen, what="TVMFFI_CUBIN_CACHE_DIR"))
    # The same answer as platformdirs.user_cache_path on Linux, without the 3 ms of its import.
    base = os.environ.get("XDG_CACHE_HOME", "").strip() or os.path.expanduser("~/.cache")
    if not os.path.isabs(base):
        raise CacheError(
            f"the user's cache folder is {base!r}, which is no absolute path; "
            "set TVMFFI_CUBIN_CACHE_DIR to a folder that can be written"
        )
    return _loadable(os.path.join(base, "tvmffi_cubin"))


def absolute(folder: str, *, what: str) -> str:
    """Return the absolute path of a folder that a variable names.

    Raises
    ------
    CacheError
        It starts at the current folder, which is not there any more.
    """
    try:
        return os.path.abspath(os.path.expanduser(folder))
    except FileNotFoundError:
        raise CacheError(
            f"{what} names {folder!r}, which starts at the current folder, and that was removed; "
            "set it to an absolute path"
        ) from None


def _loadable(folder: str) -> str:
    reason = unloadable(folder)
    if reason is not None:
        raise CacheError(
            f"cache folder {folder!r} {reason}; set TVMFFI_CUBIN_CACHE_DIR to another folder"
        )
    return folder


def unloadable(folder: str) -> str | None:
    """Return why no shared object can be loaded from a folder of this name, None where it can."""
    try:
        folder.encode()
    except UnicodeEncodeError:
        return "is no Unicode text, and tvm-ffi loads from no other path"
    found = _REPLACED.search(folder)
    return found and f"holds {found[0]}, which the dynamic loader takes for another folder"


def is_shared() -> bool:
    """Whether others of the group may write to the cache folder.

    Raises
    ------
    ValueError
        ``TVMFFI_CUBIN_CACHE_SHARED`` is neither ``0`` nor ``1``.
    """
    value = config.get("TVMFFI_CUBIN_CACHE_SHARED")
    if value not in (None, "0", "1"):
        raise ValueError(f"TVMFFI_CUBIN_CACHE_SHARED={value!r}: wanted '0' or '1'; or unset it")
    return value == "1"


def make_folder(path: str, root: str) -> None:
    """Make a folder inside a cache folder where there is none, with those above it.

    The cache folder itself is made for its user alone, or for its group where that shares it,
    whatever the umask; so are those above it that are missing.

    Parameters
    ----------
    path : str
        The folder: the cache folder, or in it.
    root : str
        The cache folder.

    Raises
    ------
    OSError
        It cannot be made, or something else is in its place.
    """
    try:
        _make(path, root)
    except FileNotFoundError:
        parent = os.path.dirname(path)
        if parent == path:
            raise
        # It may be there by now, made by another. Once: some file systems never have what is not.
        if not os.path.isdir(parent):
            make_folder(parent, root)
        _make(path, root)


def _make(path: str, root: str) -> None:
    is_inside = path.startswith(f"{root}/")
    try:
        os.mkdir(path, OWN_FOLDER if is_inside else 0o700)
    except FileExistsError:
        if not os.path.isdir(path):
            raise
        return
    # Some file systems have no modes.
    with contextlib.suppress(OSError):
        if is_shared():
            os.chmod(path, _SHARED_FOLDER)
        elif not is_inside:
            os.chmod(path, 0o700)


def open_made(path: str, flags: int) -> int:
    """Open a file in a folder of the cache folder; make both where they are not there.

    Parameters
    ----------
    path : str
        The file.
    flags : int
        Of `os.open`, beside those to read, to write and to make it.

    Returns
    -------
    int
        The descriptor, which no program that is run inherits.

    Raises
    ------
    OSError
        It cannot be opened or made.
    """
    flags |= os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags, 0o666)
    except FileNotFoundError:
        folder = os.path.dirname(path)
        make_folder(folder, os.path.dirname(folder))
        descriptor = os.open(path, flags, 0o666)
    share(descriptor)
    return descriptor


def share(file: str | int) -> None:
    """Let the group read and write a file or folder in the cache folder, where it shares that.

    Elsewhere nobody else may write it, whatever the umask: the folder may be opened to readers.

    Parameters
    ----------
    file : str or int
        Its path, or a descriptor of it.
    """
    with contextlib.suppress(OSError):
        mode = os.stat(file).st_mode
        if is_shared():
            os.chmod(file, _SHARED_FOLDER if stat.S_ISDIR(mode) else SHARED_FILE)
        elif mode & OTHERS:
            os.chmod(file, stat.S_IMODE(mode) & ~OTHERS)


def is_unwritable(error: OSError) -> bool:
    """Whether an error says that a folder is read-only, full, out of reach, or no folder at all."""
    return error.errno in _UNWRITABLE


def says_full(error: OSError | BuildError) -> bool:
    """Whether an error, or what a compiler printed, says that the disk is full."""
    if isinstance(error, OSError):
        return error.errno in _FULL
    return any(text in error.output for text in _FULL_TEXTS)


def full_text(error: BuildError) -> str:
    """Return of what a compiler printed the words that say that the disk is full."""
    return next((text for text in _FULL_TEXTS if text in error.output), str(error))


def check_room(path: str, root: str) -> None:
    """Refuse a disk on which a build would fail halfway.

    Parameters
    ----------
    path : str
        A folder on it.
    root : str
        The cache folder, for the error.

    Raises
    ------
    OSError
        There is less than 16 MB of room.
    """
    space = os.statvfs(path)
    # Some file systems know no sizes.
    if space.f_blocks and space.f_bavail * space.f_frsize < _LEAST_ROOM:
        text = f"{os.strerror(errno.ENOSPC)}, less than {_LEAST_ROOM >> 20} MB are free"
        raise OSError(errno.ENOSPC, text, root)
