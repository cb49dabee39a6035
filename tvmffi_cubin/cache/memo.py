"""What a file is (a compiler's version, a header's digest): asked once, remembered by its stat."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Sequence

from .. import config
from .files import UNSETTLED, put_row, read_rows, stamp_of, trusted
from .folder import cache_folder

_Path = str | os.PathLike[str]

# The stamp of the files and the answer, by question and files.
_answers: dict[tuple[str, str], tuple[str, str]] = {}


def remember(
    files: _Path | Sequence[_Path],
    compute: Callable[[], str],
    *,
    what: str = "",
    also: str = "",
) -> str:
    """Return `compute()`'s answer about files, from memory or disk while they are unchanged.

    Unchanged means: the same paths lead to the same inodes, sizes, modification and change times.
    `what` tells several questions about the same files apart; `also` has the stamps, a line each,
    that further files had at some moment. An OSError where a file is missing.
    """
    paths = [files] if isinstance(files, (str, os.PathLike)) else files
    names = "\0".join(map(_absolute, paths))
    stamp = _digest(_stamps(names) + also)
    known = _answers.get((what, names))
    if known is None or known[0] != stamp:
        # That nobody else may write there is seen to by the look-up that follows.
        memo = f"{cache_folder()}/identity/{_digest(f'{what}//{names}')}.json"
        mode = config.get("TVMFFI_CUBIN_CACHE")
        written = read_rows(memo) if mode != "off" else []
        known = next((tuple(row) for row in written if row[0] == stamp), None)
        if known is None:
            known = stamp, compute()
            now = _stamps(names) + also
            if _digest(now) != stamp:
                return known[1]
            # What may change and keep its stamp is not written down.
            if mode == "on" and UNSETTLED not in map(trusted, now.split("\n")):
                with contextlib.suppress(OSError):
                    put_row(memo, known, most=1)
        _answers[what, names] = known
    return known[1]


def _absolute(path: _Path) -> str:
    # Of several hundred, the package's files, all are.
    text = os.fspath(path)
    return text if text[:1] == "/" else os.path.abspath(text)


def _stamps(names: str) -> str:
    # Of the file behind all links: its inode and times say which it is, at a tenth of a real path's
    # cost.
    return "\n".join(map(stamp_of, map(os.stat, names.split("\0"))))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
