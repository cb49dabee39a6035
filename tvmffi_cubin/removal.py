"""`remove`, `move_away`, `bury`: folders that go, as far as that can be done."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable
from typing import Any

from .atomic import temporary_name

__all__ = ["bury", "move_away", "remove"]


def remove(directory: str) -> None:
    """Remove a folder with all that is in it; what cannot be removed stays.

    What a build left in folders that it made read-only goes, too. A link, or a plain file in the
    folder's place, is removed itself.
    """
    if os.path.islink(directory) or os.path.isfile(directory):
        _quietly(os.unlink, directory)
    elif os.path.lexists(directory):
        import shutil

        shutil.rmtree(directory, onerror=_once_more)


def move_away(path: str, target: str) -> None:
    """Rename a folder, so that nobody sees it half gone.

    Raises
    ------
    OSError
        It cannot be moved; FileNotFoundError: it is not there.
    """
    try:
        os.rename(path, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        import shutil

        # An image of a container has it, of which an overlay renames no folders.
        shutil.move(path, target)


def bury(path: str, root: str) -> None:
    """Remove an entry of a cache folder, so that nobody sees it half gone; or leave it."""
    grave = os.path.join(root, "tmp", temporary_name())
    with contextlib.suppress(OSError):
        move_away(path, grave)
        remove(grave)


def _once_more(function: Callable[..., Any], path: str, error: Any) -> None:
    if issubclass(error[0], PermissionError):
        for folder in (os.path.dirname(path), path):
            if os.path.isdir(folder) and not os.path.islink(folder):
                _quietly(os.chmod, folder, stat.S_IRWXU)
        if function in (os.unlink, os.rmdir):
            _quietly(function, path)
        elif os.path.isdir(path) and not os.path.islink(path):
            # It could not be listed. Not again and again.
            import shutil

            shutil.rmtree(path, ignore_errors=True)


def _quietly(function: Callable[..., Any], *arguments: Any) -> None:
    with contextlib.suppress(OSError):
        function(*arguments)
