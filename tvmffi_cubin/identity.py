"""What a file is (a compiler's version, a header's digest): asked once, remembered by its stat."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence

from . import config
from .cache.files import UNSETTLED, make_folder, read_sealed, stamp_of, trusted, write_sealed
from .cache.folder import cache_folder, check_own
from .cache.key import Key, digest_of
from .errors import CacheError

_SCHEMA = 8

_Path = str | os.PathLike[str]

# The stamp of the files and the answer, by question and files.
_answers: dict[tuple[str, str], tuple[str, str]] = {}


def remember(
    files: _Path | Sequence[_Path],
    compute: Callable[[], str],
    *,
    what: str = "",
    stamps: str | None = None,
) -> str:
    """Return `compute()`'s answer about files, from memory or disk while they are unchanged.

    Unchanged means: the same paths lead to the same inodes, sizes, modification and change times.
    An unwritable cache folder is no error: then only this process remembers.

    Parameters
    ----------
    files : path-like or sequence of path-like
        The file; or several, such as a compiler and what starts it.
    compute : callable
        Gives the text to remember. It may be slow; what it raises is passed on.
    what : str
        Tells several questions about the same files apart, such as ``"version"``.
    stamps : str, optional
        Their stamps, a line each, where the answer is to be that of an earlier moment. Their paths
        are absolute then.

    Raises
    ------
    OSError
        If a file does not exist.
    """
    paths = [files] if isinstance(files, (str, os.PathLike)) else files
    names = "\0".join([_absolute(x) if stamps is None else os.fspath(x) for x in paths])
    # Of many files a digest takes less time to make than the stamps to read.
    stamp = _stamp(names) if stamps is None else digest_of(stamps)
    known = _answers.get((what, names))
    if known is None or known[0] != stamp:
        memo = _memo_path(what, names)
        known = _read(memo) if memo else None
        if known is None or known[0] != stamp:
            known = stamp, compute()
            now = _stamp(names)
            if stamp not in (now, digest_of(now)):
                return known[1]
            # What may change and keep its stamp is not written down.
            is_settled = UNSETTLED not in map(trusted, now.split("\n"))
            if memo and is_settled and config.get("TVMFFI_CUBIN_CACHE") == "on":
                _write(memo, *known)
        _answers[what, names] = known
    return known[1]


def forget() -> None:
    """Drop what this process remembers; the memos on disk stay."""
    _answers.clear()


def _absolute(path: _Path) -> str:
    name = os.fspath(path)
    return name if name.startswith("/") else os.path.abspath(name)


# One text for all files: every look-up in the cache makes one of thirty files and compares it.
def _stamp(names: str) -> str:
    # The file behind all links: its inode and change time say which it is, and cost a tenth of
    # what its real path does.
    return "\n".join(map(stamp_of, map(os.stat, names.split("\0"))))


def _memo_path(what: str, names: str) -> str | None:
    if config.get("TVMFFI_CUBIN_CACHE") == "off":
        return None
    try:
        folder = cache_folder()
        # Who looks something up in it says why it is refused; nothing is read or written before.
        check_own(folder)
    except CacheError:
        return None
    key = Key("identity").add("what", what).add("names", names)
    return os.path.join(folder, "identity", f"{key.hexdigest()}.json")


def _read(memo: str) -> tuple[str, str] | None:
    with contextlib.suppress(OSError, ValueError, KeyError):
        data = read_sealed(memo)
        if data["schema"] == _SCHEMA:
            return str(data["stamp"]), str(data["text"])
    return None


def _write(memo: str, stamp: str, text: str) -> None:
    with contextlib.suppress(OSError):
        folder = os.path.dirname(memo)
        make_folder(folder, os.path.dirname(folder))
        content = {"schema": _SCHEMA, "stamp": stamp, "text": text}
        write_sealed(memo, content)
