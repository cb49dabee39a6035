"""`KeptSignals`: what SIGINT and SIGTERM do stays the caller's while a library takes them over."""

from __future__ import annotations

import ctypes
import signal
import threading
from collections.abc import Callable
from contextlib import suppress

__all__ = ["KeptSignals"]

_SIGNALS = (signal.SIGINT, signal.SIGTERM)

# Bytes: more than any libc's struct sigaction, whose first member is the handler.
_ACTION = 256

# Seconds between two looks; for so long at most a signal would find the library's handler.
_PERIOD = 0.0002


class _Place(ctypes.Structure):
    _fields_ = (
        ("file", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("name", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
    )


class KeptSignals:
    """Puts back the handlers that a library replaces while it works.

    The first compilation of a process has NVRTC's front end (12.6 to 13.0 were looked at) set
    handlers for SIGINT and SIGTERM that call ``exit``: no KeyboardInterrupt, no handler of the
    caller's, and where the signal meets the compiling thread ``exit`` waits for ever for what this
    thread holds. At its end it sets the old ones again by ``signal``, which adds SA_RESTART: no
    system call would ever again return because of Ctrl-C.

    Parameters
    ----------
    function : ctypes function
        A function of the library: handlers within the file that has it are put back.
    """

    def __init__(self, function: ctypes._NamedFuncPointer) -> None:
        self._libc = ctypes.CDLL(None)
        address = ctypes.cast(function, ctypes.c_void_p).value
        self._base = self._base_of(address or 0)
        self._before: dict[int, bytes] = {}
        self._is_settled = False

    def during(self, work: Callable[[], int], *, nothing_done: int) -> int:
        """Return the result of some work of the library's.

        Parameters
        ----------
        work : callable
            Calls the library, which comes back whatever the signals.
        nothing_done : int
            The result by which the library says that it has not begun. After the first other one
            it touches no handler anymore.
        """
        if self._is_settled:
            return work()
        # Of the first thread, if there are several: the library may have begun in another.
        before = self._before or {number: self._action(number) for number in _SIGNALS}
        self._before = before
        is_over = threading.Event()
        watch = threading.Thread(target=self._watch, args=(before, is_over), daemon=True)
        try:
            # Where no thread can be started, what is left is to put them back afterwards.
            with suppress(RuntimeError):
                watch.start()
            result = work()
        finally:
            is_over.set()
            if watch.ident is not None:
                watch.join()
            self._put_back(before, is_over=True)
        if result == nothing_done:
            self._before = {}
        else:
            self._is_settled = True
        return result

    def _watch(self, before: dict[int, bytes], is_over: threading.Event) -> None:
        done: set[int] = set()
        while len(done) < len(before) and not is_over.wait(_PERIOD):
            done |= self._put_back(before)

    def _put_back(self, before: dict[int, bytes], *, is_over: bool = False) -> set[int]:
        """Set the old actions where the handler is the library's, or one that it has set again."""
        done = set()
        for number, old in before.items():
            handler = _handler(self._action(number))
            is_set_again = is_over and handler == _handler(old)
            if is_set_again or self._base_of(handler) == self._base:
                self._libc.sigaction(number, old, None)
                done.add(number)
        return done

    def _action(self, number: int) -> bytes:
        action = ctypes.create_string_buffer(_ACTION)
        self._libc.sigaction(number, None, action)
        return action.raw

    def _base_of(self, address: int) -> int:
        """Return where the file of an address begins in memory, 0 where it is of none."""
        place = _Place()
        found = self._libc.dladdr(ctypes.c_void_p(address), ctypes.byref(place))
        return (place.base or 0) if found else 0


def _handler(action: bytes) -> int:
    return int.from_bytes(action[: ctypes.sizeof(ctypes.c_void_p)], "little")
