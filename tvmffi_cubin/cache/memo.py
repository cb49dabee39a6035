"""What a file is (a compiler's version, a header's digest): asked once, remembered by its stat."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Sequence

from .. import config
from ..errors import CacheError
from .files import OTHERS, UNSETTLED, make_folder, read_sealed, stamp_of, trusted, write_sealed
from .folder import cache_folder, check_own
from .key import Key, digest_of

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
    Where the cache folder cannot be written, a folder of the user's session has the memo.

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
    names = "\0".join([os.path.abspath(x) if stamps is None else os.fspath(x) for x in paths])
    # Of many files a digest takes less time to make than the stamps to read.
    stamp = _stamps(names) if stamps is None else digest_of(stamps)
    known = _answers.get((what, names))
    if known is None or known[0] != stamp:
        memos = _memo_paths(what, names)
        known = next((x for memo in memos if (x := _read(memo)) and x[0] == stamp), None)
        if known is None:
            known = stamp, compute()
            now = _stamps(names)
            if stamp not in (now, digest_of(now)):
                return known[1]
            # What may change and keep its stamp is not written down.
            if UNSETTLED not in map(trusted, now.split("\n")):
                is_written = config.get("TVMFFI_CUBIN_CACHE") == "on"
                any(_write(memo, *known) for memo in (memos if is_written else memos[1:]))
        _answers[what, names] = known
    return known[1]


def _stamps(names: str) -> str:
    # One text for all files: every look-up makes one of thirty files and compares it. Of the file
    # behind all links: its inode and times say which it is, at a tenth of a real path's cost.
    return "\n".join(map(stamp_of, map(os.stat, names.split("\0"))))


def _memo_paths(what: str, names: str) -> list[str]:
    """Return where a memo may lie: in the cache folder, and where that is not written."""
    if config.get("TVMFFI_CUBIN_CACHE") == "off":
        return []
    name = f"{Key('identity').add('what', what).add('names', names).hexdigest()}.json"
    try:
        folder = cache_folder()
        # Who looks something up in it says why it is refused; nothing is read or written before.
        check_own(folder)
    except CacheError:
        return []
    return [f"{x}/identity/{name}" for x in (folder, _of_session()) if x]


def _of_session() -> str | None:
    """Return a folder of this user's that lasts as long as the session, None where there is none.

    A false memo would lead to an entry of other tools: it is used while nobody else can write it.
    """
    parent = os.environ.get("XDG_RUNTIME_DIR") or os.environ.get("TMPDIR") or "/tmp"
    folder = os.path.join(parent, f"tvmffi_cubin-{os.geteuid()}")
    try:
        info = os.lstat(folder)
    except OSError:
        return folder  # it is made where it is needed
    is_own = stat.S_ISDIR(info.st_mode) and info.st_uid == os.geteuid()
    return folder if is_own and not info.st_mode & OTHERS else None


def _read(memo: str) -> tuple[str, str] | None:
    with contextlib.suppress(OSError, ValueError, KeyError):
        data = read_sealed(memo)
        if data["schema"] == _SCHEMA:
            return str(data["stamp"]), str(data["text"])
    return None


def _write(memo: str, stamp: str, text: str) -> bool:
    try:
        folder = os.path.dirname(memo)
        make_folder(folder, os.path.dirname(folder))
        write_sealed(memo, {"schema": _SCHEMA, "stamp": stamp, "text": text})
    except OSError:
        return False
    return True
