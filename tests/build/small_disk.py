"""Disks of a few pages: a tmpfs in a mount namespace of a forked child's own."""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cache_crowd import fork

__all__ = ["SmallDisk", "missing_mounts", "on_small_disk"]

_CLONE_NEWNS, _CLONE_NEWUSER = 0x00020000, 0x10000000
_MS_REMOUNT, _MS_REC, _MS_PRIVATE = 32, 16384, 1 << 18

_libc = ctypes.CDLL(None, use_errno=True)


class SmallDisk:
    """A mounted tmpfs, in the process that has made it."""

    def __init__(self, folder: Path, options: str) -> None:
        self.folder = folder
        _mount("tmpfs", folder, 0, options)

    def resize(self, options: str) -> None:
        """Give it another size, or another number of files."""
        _mount("tmpfs", self.folder, _MS_REMOUNT, options)


def on_small_disk(folder: Path, options: str, work: Callable[[SmallDisk], Any]) -> Any:
    """Run a function in a forked child that sees a tmpfs in a folder; return what it returns.

    `options` are those of ``mount -o``, such as ``"size=64k"`` or ``"nr_inodes=10"``.
    """

    def mounted() -> Any:
        _own_namespace()
        return work(SmallDisk(folder, options))

    return fork(mounted).result()


@functools.cache
def missing_mounts() -> str | None:
    """Return why no disk can be mounted here, None where one can."""

    def attempt() -> str | None:
        try:
            _own_namespace()
            SmallDisk(Path("/tmp"), "size=64k")
        except OSError as error:
            return f"no tmpfs can be mounted: {error}"
        return None

    return fork(attempt).result()


def _own_namespace() -> None:
    user, group = os.getuid(), os.getgid()
    flags = _CLONE_NEWNS if user == 0 else _CLONE_NEWNS | _CLONE_NEWUSER
    _check(_libc.unshare(flags))
    if user != 0:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"0 {user} 1")
        Path("/proc/self/gid_map").write_text(f"0 {group} 1")
    # What is mounted from now on is nobody else's.
    _check(_libc.mount(b"none", b"/", None, _MS_REC | _MS_PRIVATE, None))


def _mount(kind: str, folder: Path, flags: int, options: str) -> None:
    name = os.fsencode(folder)
    _check(_libc.mount(kind.encode(), name, kind.encode(), flags, options.encode()))


def _check(result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
