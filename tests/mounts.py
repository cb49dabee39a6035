"""File systems of a test's own, in a forked child whose mounts nobody else sees."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from processes import in_fork

_NEW_MOUNTS, _NEW_USER = 0x00020000, 0x10000000
NOEXEC, READ_ONLY = 0x8, 0x1
_PRIVATE, _REMOUNT = 0x44000, 0x20

_libc = ctypes.CDLL(None, use_errno=True)


class _Refused(Exception):
    """The kernel, or what this runs in, gives no mounts of one's own."""


def with_mount(
    work: Callable[[], Any], folder: Path, *, flags: int = 0, options: str = "size=64m"
) -> Any:
    """Run `work` in a forked child that has a tmpfs at a folder; skip where there can be none.

    `options` are those of ``mount -o``, such as ``"size=64k"`` or ``"nr_inodes=10"``.
    """

    def child() -> Any:
        user, group = os.geteuid(), os.getegid()
        _do(_libc.unshare(_NEW_MOUNTS if user == 0 else _NEW_MOUNTS | _NEW_USER))
        if user != 0:
            Path("/proc/self/setgroups").write_text("deny")
            Path("/proc/self/uid_map").write_text(f"0 {user} 1")
            Path("/proc/self/gid_map").write_text(f"0 {group} 1")
        _do(_libc.mount(None, b"/", None, _PRIVATE, None))
        _mount(folder, flags, f"{options},mode=0700")
        return work()

    folder.mkdir(exist_ok=True)
    result = in_fork(child)
    if isinstance(result, _Refused):
        pytest.skip(f"no mounts of one's own here: {result}")
    if isinstance(result, BaseException):
        raise result
    return result


def remount(folder: Path, *, flags: int = 0, options: str) -> None:
    """Change what such a child has mounted, such as its size."""
    _mount(folder, flags | _REMOUNT, options)


def _mount(folder: Path, flags: int, options: str) -> None:
    _do(_libc.mount(b"none", os.fsencode(folder), b"tmpfs", flags, options.encode()))


def _do(answer: int) -> None:
    if answer != 0:
        raise _Refused(os.strerror(ctypes.get_errno()))
