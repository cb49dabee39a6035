"""Work in other processes, new ones and forked children, and in threads that start at once."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

# No child may outlive its test, should it hang: in seconds.
_PATIENCE = 600


def run(*command: object, **options: Any) -> str:
    """Run a command; return what it prints."""
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, f"{words}\n{done.stdout[-20_000:]}\n{done.stderr}"
    return done.stdout


def in_new_process(code: str, *args: object, **options: Any) -> str:
    """Run Python code in a process of its own; return what it prints."""
    return run(sys.executable, "-c", code, *args, **options).strip()


@dataclass(frozen=True)
class Child:
    """A forked child that runs a function, and the pipe that its result comes through."""

    process: int
    pipe: int

    def result(self) -> Any:
        """Wait for its end; return what the function returned, or its error."""
        try:
            with os.fdopen(self.pipe, "rb") as pipe:
                return pickle.load(pipe)
        finally:
            os.waitpid(self.process, 0)

    def kill(self) -> None:
        """Kill it, unless it has ended; its result is lost."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.process, signal.SIGKILL)
        os.close(self.pipe)
        os.waitpid(self.process, 0)


def fork(work: Callable[[], Any]) -> Child:
    """Run `work` in a forked child, without waiting for it."""
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the process may have threads
        process = os.fork()
    if process == 0:
        os.close(read)
        signal.alarm(_PATIENCE)
        try:
            result = work()
        except BaseException as error:
            result = error
        with os.fdopen(write, "wb") as pipe:
            pickle.dump(result, pipe)
        os._exit(0)
    os.close(write)
    return Child(process, read)


def in_fork(work: Callable[[], Any]) -> Any:
    """Run `work` in a forked child; return what it returns, or its error."""
    return fork(work).result()


def together(count: int, work: Callable[[int], object]) -> None:
    """Run `work` in threads that start at once; raise the first error."""
    barrier, errors = threading.Barrier(count), []

    def run(index: int) -> None:
        barrier.wait()
        try:
            work(index)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(index,)) for index in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
