"""What a file is (a compiler's version, a header's digest): asked once, remembered by its stat."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Sequence

from .errors import CacheError
from .folder import cache_folder
from .key import Key
from .sealed import read_sealed, write_sealed

__all__ = ["forget", "remember"]

_SCHEMA = 3

# A file changed again within one tick of its file system's clock keeps its timestamps. An answer
# about a file this young, in nanoseconds, is not written down.
_SETTLED_NS = 2_000_000_000

_Path = str | os.PathLike[str]

# The stamp, and the answer, by question and files.
_answers: dict[tuple[str, str], tuple[str, str]] = {}


def remember(files: _Path | Sequence[_Path], compute: Callable[[], str], *, what: str = "") -> str:
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

    Raises
    ------
    OSError
        If a file does not exist.
    """
    paths = [files] if isinstance(files, (str, os.PathLike)) else files
    names = "\0".join(map(_absolute, paths))
    stamp = _stamp(names)
    known = _answers.get((what, names))
    if known is not None and known[0] == stamp:
        return known[1]
    memo = _memo_path(what, names)
    text = _read(memo, stamp) if memo else None
    if text is None:
        text = compute()
        if not isinstance(text, str):
            raise TypeError(f"an identity must be str, got {type(text).__name__}")
        if _stamp(names) != stamp:
            return text
        if memo and _settled(stamp):
            _write(memo, stamp, text)
    _answers[what, names] = stamp, text
    return text


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
    found = map(os.stat, names.split("\0"))
    return "\n".join(
        f"{info.st_ino} {info.st_size} {info.st_mtime_ns} {info.st_ctime_ns}" for info in found
    )


def _settled(stamp: str) -> bool:
    limit = time.time_ns() - _SETTLED_NS
    times = (line.split(" ")[2:] for line in stamp.split("\n"))
    return all(int(moment) < limit for pair in times for moment in pair)


def _memo_path(what: str, names: str) -> str | None:
    try:
        folder = cache_folder()
    except CacheError:
        return None
    key = Key("identity").add("what", what).add("names", names)
    return os.path.join(folder, "identity", f"{key.hexdigest()}.json")


def _read(memo: str, stamp: str) -> str | None:
    with contextlib.suppress(OSError, ValueError, KeyError):
        data = read_sealed(memo, _sealed_name(memo))
        known = data["schema"] == _SCHEMA and data["stamp"] == stamp
        if known and isinstance(data["text"], str):
            return str(data["text"])
    return None


def _write(memo: str, stamp: str, text: str) -> None:
    with contextlib.suppress(OSError):
        os.makedirs(os.path.dirname(memo), exist_ok=True)
        data = {"schema": _SCHEMA, "stamp": stamp, "text": text}
        write_sealed(memo, _sealed_name(memo), data)


def _sealed_name(memo: str) -> str:
    return f"identity/{os.path.basename(memo)}"
