"""Files that appear whole or not at all: write beside the target, then rename over it."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

__all__ = [
    "copy_atomically",
    "fsync_path",
    "temporary_name",
    "write_atomically",
    "write_output",
]


def temporary_name() -> str:
    """Return a file name that nobody else uses: the process that made it, and random digits."""
    return f"{os.getpid()}-{os.urandom(8).hex()}"


def fsync_path(path: str) -> None:
    """Flush a file, or a folder's list of names, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_atomically(
    path: str, data: bytes, *, durable: bool = False, mode: int = 0o666, is_exact: bool = False
) -> None:
    """Replace a file's content in one step; readers see the old bytes or the new ones.

    Parameters
    ----------
    path : str
        The file. Its folder must exist.
    data : bytes
        The new content.
    durable : bool
        Also survive a crash of the machine. Without it a crash may leave an empty file.
    mode : int
        Who may do what with it, less what the umask takes.
    is_exact : bool
        The umask takes nothing.

    Raises
    ------
    OSError
        If it cannot be written; then the target is as it was.
    """
    temporary = os.path.join(os.path.dirname(path), f".{temporary_name()}.tmp")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        with open(descriptor, "wb") as file:
            file.write(data)
            if is_exact:
                os.fchmod(file.fileno(), mode)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        _remove(temporary)
        raise


def write_output(path: Path, data: bytes) -> None:
    """Write a file that the user named: in one step, and durably.

    Raises
    ------
    OSError
        It cannot be written.
    """
    try:
        if path.exists() and not path.is_file():
            # Renaming a file over /dev/null or a pipe would remove that.
            path.write_bytes(data)
        else:
            write_atomically(os.fspath(path), data, durable=True)
    except OSError as error:
        # The name in it may be that of a temporary file.
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None


def copy_atomically(source: Path, target: Path) -> None:
    """Put a copy of `source` at `target`, in one step and never in place.

    A process may have the old file mapped: writing into it would crash that process, a rename
    leaves it the old one. A target that is an earlier copy of the same file is left alone.

    Raises
    ------
    OSError
        The copy cannot be written, for example since its folder is missing.
    """
    import shutil

    temporary = os.path.join(target.parent, f".{temporary_name()}.tmp")
    if _same_stamp(source, target):
        return
    try:
        # copy2 carries over the modification time, which is how an earlier copy is known.
        shutil.copy2(source, temporary)
        fsync_path(temporary)
        os.replace(temporary, target)
    except BaseException:
        _remove(temporary)
        raise


def _same_stamp(source: Path, target: Path) -> bool:
    ours = os.stat(source)
    try:
        theirs = os.stat(target, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return (ours.st_size, ours.st_mtime_ns, ours.st_mode) == (
        theirs.st_size,
        theirs.st_mtime_ns,
        theirs.st_mode,
    )


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)
