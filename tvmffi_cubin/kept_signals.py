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

_IGNORED = int(signal.SIG_IGN).to_bytes(8, "little").ljust(_ACTION, b"\0")

# Seconds between two looks; for so long at most SIGTERM would find the library's handler.
_PERIOD = 0.0002

# Looks for which SIGINT stays ignored where the library does not set its handlers.
_LOOKS = 250


class _Place(ctypes.Structure):
    _fields_ = (
        ("file", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("name", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
    )


class KeptSignals:
    """Keeps the handlers of SIGINT and SIGTERM from a library that sets its own while it works.

    The first compilation of a process has NVRTC's front end (from 12.6 to 13.0; not in 13.2)
    set handlers that call ``exit``: no KeyboardInterrupt, no handler of the caller's, and where the
    signal meets the compiling thread ``exit`` waits for ever for what this thread holds. At its
    end it sets the old ones again by ``signal``, which adds SA_RESTART: no system call would ever
    again return because of Ctrl-C.

    It leaves SIGINT alone where that is ignored, so that is what it finds. A Ctrl-C in the few
    milliseconds until it has set its handler for SIGTERM is lost. That one is put back then.

    Parameters
    ----------
    function : ctypes function
        A function of the library: handlers within the file that has it are the library's.
    """

    def __init__(self, function: ctypes._NamedFuncPointer) -> None:
        self._libc = ctypes.CDLL(None)
        address = ctypes.cast(function, ctypes.c_void_p).value
        self._base = self._base_of(address or 0)
        # Held by who goes in first, and ever after.
        self._first = threading.Lock()

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
        # Threads that come while the first is inside are looked after with it.
        if not self._first.acquire(blocking=False):
            return work()
        before: dict[int, bytes] = {number: self._action(number) for number in _SIGNALS}
        is_over = threading.Event()
        watch = threading.Thread(target=self._watch, args=(before, is_over), daemon=True)
        try:
            # Where no thread can be started, what is left is to put them back afterwards.
            with suppress(RuntimeError):
                watch.start()
                self._set(signal.SIGINT, _IGNORED)
            result = work()
        finally:
            is_over.set()
            if watch.ident is not None:
                watch.join()
            self._put_back(before)
        if result == nothing_done:
            self._first.release()
        return result

    def _watch(self, before: dict[int, bytes], is_over: threading.Event) -> None:
        looks = 0
        is_set = False
        while not (is_set or is_over.wait(_PERIOD)):
            looks += 1
            is_set = self._is_set(signal.SIGTERM)
            if is_set or looks == _LOOKS:
                self._set(signal.SIGINT, before[signal.SIGINT])
        # Also SIGINT's handler, where it came after so many looks.
        for number in filter(self._is_set, before):
            self._set(number, before[number])

    def _put_back(self, before: dict[int, bytes]) -> None:
        for number, action in before.items():
            # But for handlers that somebody else has set meanwhile.
            is_known = _handler(self._action(number)) in (_handler(action), _handler(_IGNORED))
            if is_known or self._is_set(number):
                self._set(number, action)

    def _is_set(self, number: int) -> bool:
        """Return whether a handler is the library's."""
        return self._base_of(_handler(self._action(number))) == self._base

    def _set(self, number: int, action: bytes) -> None:
        self._libc.sigaction(number, action, None)

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
