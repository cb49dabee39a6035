"""What a file is (a compiler's version, a header's digest): asked once, remembered by its stat."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Iterator, Sequence

from .. import config
from ..errors import CacheError
from .files import UNSETTLED, read_sealed, stamp_of, trusted, write_sealed
from .folder import cache_folder, check_own

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
    Where the cache folder cannot be written, a folder of the user's session has the memo. `what`
    tells several questions about the same files apart; `stamps` are those of the files, a line
    each, where the answer is to be that of an earlier moment. An OSError where a file is missing.
    """
    paths = [files] if isinstance(files, (str, os.PathLike)) else files
    names = "\0".join(map(os.path.abspath, paths))
    stamp = _digest(_stamps(names) if stamps is None else stamps)
    known = _answers.get((what, names))
    if known is None or known[0] != stamp:
        memos = [f"{x}/identity/{_digest(f'{what}//{names}')}.json" for x in _folders()]
        known = next((x for memo in memos if (x := _read(memo)) and x[0] == stamp), None)
        if known is None:
            known = stamp, compute()
            now = _stamps(names)
            if _digest(now) != stamp:
                return known[1]
            # What may change and keep its stamp is not written down.
            if UNSETTLED not in map(trusted, now.split("\n")):
                is_written = config.get("TVMFFI_CUBIN_CACHE") == "on"
                any(_write(memo, *known) for memo in (memos if is_written else memos[1:]))
        _answers[what, names] = known
    return known[1]


def _stamps(names: str) -> str:
    # Of the file behind all links: its inode and times say which it is, at a tenth of a real path's
    # cost.
    return "\n".join(map(stamp_of, map(os.stat, names.split("\0"))))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _folders() -> Iterator[str]:
    """Yield the cache folder, and one of the user's session for where that is not written.

    A false memo would lead to an entry of other tools: nobody else may write where it lies.
    """
    if config.get("TVMFFI_CUBIN_CACHE") != "off":
        session = os.environ.get("XDG_RUNTIME_DIR") or os.environ.get("TMPDIR") or "/tmp"
        with contextlib.suppress(CacheError):  # who looks something up in it says so
            for folder in (cache_folder(), f"{session}/tvmffi_cubin-{os.geteuid()}"):
                check_own(folder)
                yield folder


def _read(memo: str) -> tuple[str, str] | None:
    with contextlib.suppress(OSError, ValueError, KeyError):
        data = read_sealed(memo)
        return str(data["stamp"]), str(data["text"])
    return None


def _write(memo: str, stamp: str, text: str) -> bool:
    try:
        write_sealed(memo, {"stamp": stamp, "text": text})
    except OSError:
        return False
    return True
