"""The command ``tvmffi-cubin``, also ``python -m tvmffi_cubin``."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence
from typing import Any

from . import __version__
from .commands import cache, compile, demo, describe, doctor, embed, inspect  # noqa: A004
from .errors import CubinError

__all__ = ["main"]

_COMMANDS = (demo, doctor, compile, embed, inspect, describe, cache)
# What shells report of a program that SIGINT has ended.
_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit status.

    Parameters
    ----------
    arguments : sequence of str, optional
        What follows the program's name. Default: this process's own.
    """
    parser = _parser()
    options = parser.parse_args(arguments)
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        # A path need be no text: it is printed as it is, as Python does by itself in the locale C.
        sys.stdout.reconfigure(errors="surrogateescape")
    try:
        status: int = options.run(options)
        if sys.stdout is not None:  # as where it was closed
            sys.stdout.flush()
    except BrokenPipeError:
        # The reader went away, as `head` does; Python must not complain once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        print(f"{parser.prog}: interrupted", file=sys.stderr)
        return _INTERRUPTED
    except (CubinError, ValueError, TypeError, OSError) as error:
        print(f"{parser.prog}: error: {_text(error)}", file=sys.stderr)
        return 1
    return status


def _text(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error)


class _PrintCmakeDir(argparse.Action):
    """Prints where the CMake package is, and ends, as ``--version`` does."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option: Any = None) -> None:
        print(os.path.join(os.path.dirname(os.path.abspath(__file__)), "cmake"))
        parser.exit()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tvmffi-cubin",
        description="CUDA source, or any cubin, to typed, cached functions, with no CUDA toolkit.",
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    help_ = "print the folder of the CMake package: cmake -Dtvmffi_cubin_DIR=..."
    parser.add_argument("--cmake-dir", action=_PrintCmakeDir, nargs=0, help=help_)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in _COMMANDS:
        command.add_to(commands)
    return parser


if __name__ == "__main__":
    sys.exit(main())
