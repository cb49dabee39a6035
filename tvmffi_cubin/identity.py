"""What a file is (a compiler's version, a header's digest): asked once, remembered by its stat."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from typing import NamedTuple

from . import config
from .errors import CacheError
from .folder import cache_folder, make_folder
from .key import Key, digest_of
from .places import check_own
from .sealed import read_sealed, write_sealed
from .stamp import UNSETTLED, stamp_of, trusted

__all__ = ["Answer", "forget", "remember"]

_SCHEMA = 7

_Path = str | os.PathLike[str]


class Answer(NamedTuple):
    """An answer that depends on further files, which turned up only when the question was asked."""

    text: str
    files: tuple[str, ...] = ()


class _Known(NamedTuple):
    """An answer, the stamp of the files it is about, and the further files with theirs.

    Where the stamps were given, which are many then, their digest is in their place.
    """

    stamp: str
    text: str
    more: str
    more_stamp: str

    def holds(self, stamp: str) -> bool:
        return stamp == self.stamp and _more_stamp(self.more) == self.more_stamp

    @property
    def is_settled(self) -> bool:
        """Whether the further files are old enough for their stamps to tell anything."""
        return not self.more or _settled(self.more_stamp)


# By question and files.
_answers: dict[tuple[str, str], _Known] = {}


def remember(
    files: _Path | Sequence[_Path],
    compute: Callable[[], str | Answer],
    *,
    what: str = "",
    stamps: str | None = None,
) -> str:
    """Return `compute()`'s answer about files, from memory or disk while they are unchanged.

    Unchanged means: the same paths lead to the same inodes, sizes, modification and change times.
    An unwritable cache folder is no error: then another folder of the user's has the memo, or only
    this process remembers.

    Parameters
    ----------
    files : path-like or sequence of path-like
        The file; or several, such as a compiler and what starts it.
    compute : callable
        Gives the text to remember, or an `Answer`. It may be slow; what it raises is passed on.
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
    stamp = _stamp(names) if stamps is None else _mark(stamps)
    known = _answers.get((what, names))
    if known is not None and known.holds(stamp):
        return known.text
    memo = _memo_path(what, names)
    known = _recall(memo, stamp) if memo else None
    if known is None:
        known = _ask(compute, stamp)
        now = _stamp(names)
        if stamp not in (now, _mark(now)):
            return known.text
        if memo and _settled(now) and known.is_settled:
            _keep(memo, known)
    _answers[what, names] = known
    return known.text


# Of many files it takes less time to make than to read.
def _mark(stamps: str) -> str:
    return digest_of(stamps)


def _ask(compute: Callable[[], str | Answer], stamp: str) -> _Known:
    answer = compute()
    if isinstance(answer, str):
        answer = Answer(answer)
    if not isinstance(answer, Answer):
        raise TypeError(f"an identity must be str, got {type(answer).__name__}")
    more = "\0".join(answer.files)
    return _Known(stamp, answer.text, more, _more_stamp(more))


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


def _more_stamp(names: str) -> str:
    try:
        return _stamp(names) if names else ""
    except OSError:
        return "-1 0 0 0"  # no file's: what is gone is asked about anew


def _settled(stamp: str) -> bool:
    # An answer about a file whose stamp may stay the same when it changes is not written down.
    return UNSETTLED not in map(trusted, stamp.split("\n"))


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


def _recall(memo: str, stamp: str) -> _Known | None:
    known = _read(memo)
    if known is not None and known.holds(stamp):
        return known
    from .memo_folder import memo_folder

    folder = memo_folder()
    known = _read(os.path.join(folder, os.path.basename(memo))) if folder else None
    return known if known is not None and known.holds(stamp) else None


def _keep(memo: str, known: _Known) -> None:
    if config.get("TVMFFI_CUBIN_CACHE") == "on" and _write(memo, known):
        return
    from .memo_folder import make_room, memo_folder

    folder = memo_folder(make=True)
    if folder is not None:
        make_room(folder)
        _write(os.path.join(folder, os.path.basename(memo)), known)


def _read(memo: str) -> _Known | None:
    with contextlib.suppress(OSError, ValueError, KeyError):
        data = read_sealed(memo, _sealed_name(memo))
        if data["schema"] == _SCHEMA:
            texts = [data[name] for name in _Known._fields]
            if all(isinstance(text, str) for text in texts):
                return _Known(*texts)
    return None


def _write(memo: str, known: _Known) -> bool:
    try:
        folder = os.path.dirname(memo)
        make_folder(folder, os.path.dirname(folder))
        write_sealed(memo, _sealed_name(memo), {"schema": _SCHEMA, **known._asdict()})
    except OSError:
        return False
    return True


def _sealed_name(memo: str) -> str:
    return f"identity/{os.path.basename(memo)}"
