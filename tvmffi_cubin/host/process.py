"""Background work of a build: programs, which end with this process, and threads."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Generic, TypeVar
from weakref import WeakSet

from .. import config
from ..config import build_environment
from .tools import on_path

# How long a program that is being stopped may take to exit by itself, in seconds.
_GRACE = 0.7

# A shell that waits for a line, and when terminated terminates its whole group: gcc would leave its
# children running. If Ctrl-C comes before Popen returns, there is no line, and no compilation.
_GROUP = 'read line || exit; trap "trap - TERM; kill 0" TERM; "$@" & wait $!'

_T = TypeVar("_T")
_shown = 0
_reserved = threading.local()
_started: WeakSet[subprocess.Popen[bytes]] = WeakSet()


def _close_inherited() -> None:
    # As long as a forked child has the pipes open, too, the programs wait for more input.
    for started in _started:
        if started.stdin is not None and not started.stdin.closed:
            os.close(started.stdin.fileno())
    _started.clear()


os.register_at_fork(after_in_child=_close_inherited)


@contextlib.contextmanager
def building(*, is_shown: bool, meanwhile: Callable[[], object] | None) -> Iterator[None]:
    """Print build commands of all threads as they run, if `is_shown`.

    `meanwhile` is called while the first program of this thread runs, if there is one.
    """
    global _shown
    _shown += is_shown
    _reserved.work = meanwhile
    try:
        yield
    finally:
        _shown -= is_shown
        _reserved.work = None


def is_shown() -> bool:
    """Whether commands are printed as they run."""
    return _shown > 0 or config.get("TVMFFI_CUBIN_VERBOSE") == "1"


def run(
    command: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    is_long: bool = False,
) -> tuple[int, str]:
    """Run a program to completion, as in a build; return its exit status and its output.

    With `is_long`, it is a compilation: shown, and stopped if this process is killed (1.5 ms more).
    """
    words = [*command]
    if is_long:
        words = ["/bin/sh", "-c", _GROUP, "sh", *words]
        # prctl in the child would need a preexec_fn, for which Python copies this whole process.
        if setpriv := on_path("setpriv"):
            words = [str(setpriv), "--pdeathsig", "TERM", *words]
    shown = command if is_long else ()
    with Program(words, environment or build_environment(), folder, shown) as program:
        program.give(b"\n" if is_long else b"")
        return program.result()


class Program:
    """A started program that waits for its input; an error in the ``with`` block ends it.

    `shown` is the command to print, along with the program's output, if commands are shown.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        folder: Path | None,
        shown: Sequence[str] = (),
    ) -> None:
        self._is_shown = bool(shown) and is_shown()
        if self._is_shown:
            print(shlex.join(shown), file=sys.stderr, flush=True)
        # In its own session: a terminal's Ctrl-C reaches only this process, which then stops it.
        self._process = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
        )
        _started.add(self._process)

    def __enter__(self) -> Program:
        return self

    def __exit__(self, error: object, *_: object) -> None:
        if error is None or self._process.returncode is not None:
            return
        # ninja ends its compilers, which have their own process groups.
        for number, seconds in ((signal.SIGTERM, _GRACE), (signal.SIGKILL, None)):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.communicate(timeout=seconds)
                return

    def give(self, text: bytes) -> None:
        """Write all of the program's input, and close it."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError), self._process.stdin as pipe:
            pipe.write(text)
        self._process.stdin = None

    def result(self) -> tuple[int, str]:
        """Wait for the program to exit; return its exit status and the output of both streams."""
        assert self._process.stdout is not None
        if (work := getattr(_reserved, "work", None)) is not None:
            _reserved.work = None
            work()
        output = []
        for line in self._process.stdout:
            output.append(line.decode("utf-8", "replace"))
            if self._is_shown:
                print(output[-1], end="", file=sys.stderr, flush=True)
        self._process.stdout.close()
        return self._process.wait(), "".join(output)


# Threads


class Later(Generic[_T]):
    """Work that starts at once in its own daemon thread."""

    def __init__(self, work: Callable[[], _T]) -> None:
        self._value: _T
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(work,), daemon=True)
        self._thread.start()

    def _run(self, work: Callable[[], _T]) -> None:
        try:
            self._value = work()
        except BaseException as error:
            self._error = error

    def result(self) -> _T:
        """Wait for the result; raises what the work raised."""
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._value
