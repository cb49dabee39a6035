"""`write_layer`: a folder of entries that others look through, and nobody writes to."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from . import uses
from .archive import Exported, find_set, place_in
from .cache import Cache
from .level import Level
from .listing import Listed
from .tally import Tally

__all__ = ["write_layer"]

# What a cache has and a layer does not need.
_NEEDLESS = ("locks", "tmp", "uses")
_PARTS = {"deps", "entries", "fields"}

# Everybody reads them, and nobody else writes: then a layer is refused.
_FOLDER_MODE = 0o755
_FILE_MODE = 0o644


def write_layer(output: Path, folder: str, entries: Iterable[Listed]) -> Iterator[Exported]:
    """Copy entries to a folder that ``TVMFFI_CUBIN_CACHE_PATH`` may name, here or elsewhere.

    It is done when the last one was taken from this iterator. Everybody may read it then.

    Parameters
    ----------
    output : Path
        The folder: a new one, an empty one, or a layer, to which the entries are added.
    folder : str
        The cache folder.
    entries : iterable of Listed
        What to copy. What is damaged, or is found by nobody, is left out.

    Raises
    ------
    ValueError
        Something else is in the folder.
    OSError, CacheError
        It cannot be written.
    """
    _check_folder(output)
    # Those above it are the user's: a cache would make them for itself alone.
    output.parent.mkdir(parents=True, exist_ok=True)
    layer = Cache(output)
    try:
        for entry in entries:
            try:
                made = find_set(folder, entry)
                with layer.private_directory() as directory:
                    _copy(Level(folder).entry_path(entry.key), os.fspath(directory))
                    place_in(layer, entry.base_key, made, directory)
            except (FileNotFoundError, ValueError) as error:
                yield Exported(entry, str(error))
            else:
                yield Exported(entry)
    finally:
        uses.leave(os.fspath(layer.root))
        _finish(layer.root)


def _check_folder(output: Path) -> None:
    others = {path.name for path in output.iterdir()} - _PARTS if output.exists() else set()
    if others:
        raise ValueError(
            f"{output} holds {min(others)!r}, which no layer has: give a new folder, or a layer to "
            "add to; what an export has left that was killed, remove first"
        )


def _copy(source: str, target: str) -> None:
    # Not by copytree, whose error does not tell a full disk from an entry that is not whole.
    for folder, _, names in os.walk(source):
        copy = os.path.join(target, os.path.relpath(folder, source))
        os.makedirs(copy, exist_ok=True)
        for name in names:
            path = os.path.join(folder, name)
            if stat.S_ISREG(os.lstat(path).st_mode):  # the manifest tells what is missing then
                shutil.copyfile(path, os.path.join(copy, name))


def _finish(root: Path) -> None:
    Tally.forget(os.fspath(root))
    for name in _NEEDLESS:
        with contextlib.suppress(OSError):
            os.rmdir(root / name)
    for parent, _, names in os.walk(root):
        os.chmod(parent, _FOLDER_MODE)
        for name in names:
            os.chmod(os.path.join(parent, name), _FILE_MODE)
