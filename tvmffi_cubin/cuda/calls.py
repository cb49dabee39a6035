"""Calls into NVIDIA's compilers: with a large stack, left at Ctrl-C, refused in a broken fork."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import threading
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from ..errors import CubinError

_T = TypeVar("_T")

# Bytes of address space. Deeply nested source overflows a thread's usual 8 MB, which ends the
# process; on the first thread of a process alone NVRTC sees to it itself.
_STACK = 256 << 20

# Seconds for which the end of a process waits for what was left.
_PATIENCE = 1.0

_starting = threading.Lock()
_running: set[Call] = set()
_is_broken = False


class Call:
    """A call that is under way; `stop` is an empty C string until nobody wants its result."""

    def __init__(self) -> None:
        self.stop = ctypes.create_string_buffer(2)


@contextlib.contextmanager
def under_way() -> Iterator[Call]:
    """Be inside a library for a with statement.

    Raises
    ------
    CubinError
        This process was forked while another thread was inside one.
    """
    call = _begin()
    try:
        yield call
    finally:
        _running.discard(call)


def apart(work: Callable[[Call], _T]) -> _T:
    """Return the result of some work, done in a thread with a large stack.

    Ctrl-C ends the wait; the work is told so, and its result is dropped.
    """
    found: list[_T] = []
    failed: list[BaseException] = []
    done = threading.Lock()
    done.acquire()
    call = _begin()

    def run() -> None:
        try:
            found.append(work(call))
        except BaseException as error:
            failed.append(error)
        finally:
            _running.discard(call)
            done.release()

    _start(run)
    try:
        done.acquire()
    except BaseException:
        call.stop[0] = b"\1"
        raise
    if failed:
        raise failed[0]
    return found[0]


def _begin() -> Call:
    if _is_broken:
        raise CubinError(
            "this process was forked while another of its threads compiled: what CUDA's compilers "
            "had locked is never unlocked here; fork before, or start the process with the "
            "multiprocessing method 'spawn'"
        )
    call = Call()
    _running.add(call)
    return call


def _start(run: Callable[[], None]) -> None:
    thread = threading.Thread(target=run, daemon=True)
    try:
        with _starting:
            before = threading.stack_size(_STACK)
            try:
                thread.start()
            finally:
                threading.stack_size(before)
    except RuntimeError:  # no thread can be started, or none with so much memory
        run()


def _leave() -> None:
    """Stop what is under way when the process ends: the libraries are about to be torn down."""
    end = time.monotonic() + _PATIENCE
    for call in list(_running):
        call.stop[0] = b"\1"
    while _running and time.monotonic() < end:
        time.sleep(0.001)


def _after_fork() -> None:
    global _is_broken, _starting
    _is_broken = _is_broken or bool(_running)
    _running.clear()
    _starting = threading.Lock()


atexit.register(_leave)
os.register_at_fork(after_in_child=_after_fork)
