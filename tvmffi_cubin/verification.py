"""Whether files are what was published: compared once, then known by their stamps."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Mapping, Sequence

from .key import file_digest
from .stamp import UNSETTLED, stamp_of, trusted

__all__ = ["BROKEN", "Damaged", "Missing", "check_files"]

BROKEN = (errno.EIO, errno.ELOOP)
"""What reading says where the disk has lost something, or a link leads to itself."""


class Damaged(ValueError):
    """An entry that is not what was published; the message says what is wrong with it."""


class Missing(Damaged):
    """One of which a file is gone, as somebody removes it, or did so halfway."""


# What this process has compared: by folder, the stamps then.
_compared: dict[str, str] = {}


def check_files(
    folder: str,
    files: Mapping[str, Sequence[int | str]],
    names: Iterable[str],
    *,
    known: str = UNSETTLED,
) -> str:
    """Compare files with the sizes and digests that they were published with.

    Parameters
    ----------
    folder : str
        Where they lie.
    files : mapping
        Name to size in bytes and SHA-256.
    names : iterable of str
        Which of them.
    known : str
        What this returned when they were last compared; the same stamps need no reading.

    Returns
    -------
    str
        Their stamps; `stamp.UNSETTLED` where one is too young to tell anything.

    Raises
    ------
    Damaged
        One is missing or another than it was.
    OSError
        One cannot be looked at.
    """
    names = list(names)
    # Before the content: a change in between then makes the stamp old, not the digest.
    stamps = [_look(folder, name, files[name][0]) for name in names]
    text = "\n".join(stamps)
    if text in (known, _compared.get(folder)):
        return text
    for name in names:
        if _digest(folder, name) != files[name][1]:
            raise Damaged(f"the content of {name} is not what was published")
    if UNSETTLED in map(trusted, stamps):
        return UNSETTLED
    _compared[folder] = text
    return text


def _look(folder: str, name: str, size: int | str) -> str:
    try:
        # Not what a link leads to, which may change without it.
        info = os.stat(os.path.join(folder, name), follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        raise Missing(f"{name} is missing") from None
    if not stat.S_ISREG(info.st_mode):
        raise Damaged(f"{name} is no plain file")
    if info.st_size != size:
        raise Damaged(f"{name} has {info.st_size} bytes, not {size}")
    return stamp_of(info)


def _digest(folder: str, name: str) -> str:
    try:
        return file_digest(os.path.join(folder, name))
    except OSError as error:
        if error.errno not in BROKEN:
            raise
        raise Damaged(f"{name} cannot be read: {error.strerror}") from None
