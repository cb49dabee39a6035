"""Work in other processes: new ones, and forked children."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any


def in_new_process(code: str, *args: str) -> str:
    """Run Python code in a process of its own; return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", code, *args], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def in_fork(work: Callable[[], Any]) -> Any:
    """Run `work` in a forked child; return what it returns, or its error."""
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the process may have threads
        child = os.fork()
    if child == 0:
        try:
            result = work()
        except BaseException as error:
            result = error
        with os.fdopen(write, "wb") as pipe:
            pickle.dump(result, pipe)
        os._exit(0)
    os.close(write)
    try:
        with os.fdopen(read, "rb") as pipe:
            return pickle.load(pipe)
    finally:
        os.waitpid(child, 0)
