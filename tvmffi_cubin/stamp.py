"""Stamps: a file's size, times and inode as one text. Unchanged text, unchanged file."""

from __future__ import annotations

import os
import time

__all__ = ["ABSENT", "FILE_CLOCK", "UNSETTLED", "changed_ns", "stamp_of", "trusted"]

ABSENT = "-"
"""Stands for the digest and the stamp of a path that does not exist."""

UNSETTLED = "?"
"""Stands for the stamp of a file that is too young for its stamp to mean anything."""

# CLOCK_REALTIME_COARSE, for which Python has no name.
FILE_CLOCK = 5
"""The clock of the kernel's last tick: the least time that it stamps files with."""

# A file changed again within one tick of its file system's clock keeps its times. The stamp of a
# file this young, in nanoseconds, is not trusted: its content is hashed at the next look-up.
_SETTLED_NS = 2_000_000_000


def stamp_of(info: os.stat_result) -> str:
    """Return the stamp of a file from what `os.stat` says of it."""
    return f"{info.st_size} {info.st_mtime_ns} {info.st_ino} {info.st_ctime_ns}"


def trusted(stamp: str) -> str:
    """Return a stamp where it can be relied on, else `UNSETTLED`."""
    return stamp if changed_ns(stamp) < time.time_ns() - _SETTLED_NS else UNSETTLED


def changed_ns(stamp: str) -> int:
    """Return when the last change was, in nanoseconds since the epoch."""
    if stamp == ABSENT:
        return 0
    _, modified, _, changed = stamp.split(" ")
    # A time that is yet to come was set by somebody, and tells nothing of when.
    return int(changed) if int(modified) > time.time_ns() else max(int(modified), int(changed))
