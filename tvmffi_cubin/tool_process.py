"""Running compilers and other tools of the host."""

from __future__ import annotations

import errno
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

__all__ = ["run", "when_free"]

_T = TypeVar("_T")

# How long to wait before each further try to start a program that is busy, in seconds.
_WAITS = tuple(0.001 * 2**n for n in range(10))


def run(
    command: Sequence[str],
    *,
    environment: Mapping[str, str],
    folder: Path | None = None,
    is_apart: bool = False,
) -> tuple[int, str]:
    """Run a tool to its end.

    Parameters
    ----------
    command : sequence of str
        The program, and its arguments.
    environment : mapping
        Its environment.
    folder : Path, optional
        Where it runs; by default here.
    is_apart : bool, optional
        Whether a terminal's Ctrl-C does not reach it.

    Returns
    -------
    status, output : int, str
        Its exit status, and what it printed to either stream.

    Raises
    ------
    OSError
        It cannot be started.
    """

    def ended() -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=is_apart,
            check=False,
        )

    done = when_free(ended)
    return done.returncode, done.stdout.decode("utf-8", "replace")


def when_free(begin: Callable[[], _T]) -> _T:
    """Start a program that may have been written a moment ago.

    A program that this process has just written, a wrapper of the compiler say, is open for writing
    in each child that another thread started meanwhile, until that child has become its own
    program; and most kernels of Linux start nothing that is open for writing. What such a program
    starts in its turn is not waited for.

    Parameters
    ----------
    begin : function
        Starts it.

    Returns
    -------
    object
        What `begin` returned.

    Raises
    ------
    OSError
        It cannot be started, or has been open for writing for a second.
    """
    for wait in _WAITS:
        try:
            return begin()
        except OSError as error:
            if error.errno != errno.ETXTBSY:
                raise
        time.sleep(wait)
    return begin()
