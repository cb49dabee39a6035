"""Folders of one build, and the one that stands in for a cache folder that cannot be written."""

from __future__ import annotations

import atexit
import contextlib
import errno
import logging
import os
from collections.abc import Iterator
from pathlib import Path

from ..errors import BuildError
from .files import make_folder, remove, temporary_name


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


# By cache folder and process: a forked child must not rely on a folder that its parent removes.
_roots: dict[tuple[str, int], str] = {}


def known_root(root: str) -> str | None:
    """Return the folder that stands in for a cache folder in this process, if there is one."""
    return _roots.get((root, os.getpid())) if _roots else None


def temporary_root(root: str, error: object = None) -> str:
    """Return the folder that stands in for a cache folder in this process, and goes with it.

    Where one is needed because of an error, people are told. An OSError where none can be made.
    """
    folder, owner = known_root(root), os.getpid()
    if folder is None:
        import tempfile

        if error is not None:
            logging.getLogger("tvmffi_cubin").warning(
                "cache folder %s cannot be used (%s); this process keeps what it builds in a "
                "temporary folder, and the next one will build again: set TVMFFI_CUBIN_CACHE_DIR "
                "to a folder with room that can be written",
                *(root, error),
            )
        folder = _roots[root, owner] = tempfile.mkdtemp(prefix="tvmffi_cubin-")
        atexit.register(_remove_own, folder, owner)
    return folder


def _remove_own(folder: str, owner: int) -> None:
    if os.getpid() == owner:
        remove(folder)
