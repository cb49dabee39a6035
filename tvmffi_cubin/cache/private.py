"""Folders of one build."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

from ..errors import BuildError
from .files import remove, temporary_name
from .folder import make_folder


def make_directory(root: str | os.PathLike[str]) -> str:
    """Make a folder for one build in ``tmp`` of a cache folder; raises OSError."""
    parent = f"{root}/tmp"
    make_folder(parent)
    path = f"{parent}/{temporary_name()}"
    os.mkdir(path, 0o700)
    return path


@contextlib.contextmanager
def cleared(path: str) -> Iterator[Path]:
    """Remove a build's folder where it fails.

    After a `BuildError` it stays, for a day as what killed builders leave: see `upkeep`.
    """
    owner = os.getpid()
    try:
        yield Path(path)
    except BaseException as error:
        # Of a forked child that leaves this block as well, the folder is its parent's.
        if not isinstance(error, BuildError) and os.getpid() == owner:
            remove(path)
        raise


def says_full(error: OSError | BuildError) -> str:
    """Return how an error, or what a compiler printed, says that the disk is full, if it does."""
    if isinstance(error, OSError):
        is_full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        return str(error) if is_full else ""
    texts = ("No space left on device", "Disk quota exceeded", "File too large", "File size limit")
    return next((text for text in texts if text in error.output), "")
