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
_PRIVATE = 0x44000


class _Refused(Exception):
    """The kernel, or what this runs in, gives no mounts of one's own."""


def with_mount(work: Callable[[], Any], folder: Path, *, flags: int = 0, size: str = "64m") -> Any:
    """Run `work` in a forked child that has a tmpfs at a folder; skip where there can be none."""

    def child() -> Any:
        libc = ctypes.CDLL(None, use_errno=True)
        kinds = _NEW_MOUNTS if os.geteuid() == 0 else _NEW_MOUNTS | _NEW_USER
        _do(libc.unshare(kinds))
        _do(libc.mount(None, b"/", None, _PRIVATE, None))
        options = f"size={size},mode=0700".encode()
        _do(libc.mount(b"none", os.fsencode(folder), b"tmpfs", flags, options))
        return work()

    folder.mkdir(exist_ok=True)
    result = in_fork(child)
    if isinstance(result, _Refused):
        pytest.skip(f"no mounts of one's own here: {result}")
    if isinstance(result, BaseException):
        raise result
    return result


def _do(answer: int) -> None:
    if answer != 0:
        raise _Refused(os.strerror(ctypes.get_errno()))
