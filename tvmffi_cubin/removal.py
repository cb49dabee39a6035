"""`remove`: take a folder away with all that is in it, as far as that can be done."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable
from typing import Any

__all__ = ["remove"]


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
