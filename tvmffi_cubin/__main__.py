"""The command ``tvmffi-cubin``, also ``python -m tvmffi_cubin``."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence

_COMMANDS = {
    "demo": "build and load two kernels, and launch them if there is a GPU",
    "doctor": "show which tools and libraries were found; exit status 1 if one is missing",
    "compile": "compile CUDA sources to a cubin, PTX or a fatbin with NVRTC",
    "embed": "build a module (.so) from images, or embed an image into an object file",
    "inspect": "show what a module or image contains: functions, kernels, resources",
    "describe": "print how a module's functions are launched, as JSON for embed --functions",
    "warm": "build what a recorded run requested, for any architectures, into the cache or a layer",
    "cache": "show, check, prune, clear, export and import the cache",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line, by default this process's own, and return its exit status."""
    words = sys.argv[1:] if arguments is None else [*arguments]
    if words == ["--cmake-dir"]:
        print(os.path.join(os.path.dirname(os.path.abspath(__file__)), "cmake"))
        return 0
    parser = _parser(words)
    options = parser.parse_args(words)
    from .errors import CubinError

    try:
        status: int = options.run(options)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader closed the pipe, as `head` does; keep Python from complaining again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        print(f"{parser.prog}: interrupted", file=sys.stderr)
        return 130  # what shells report for a program killed by SIGINT
    except (CubinError, ValueError, TypeError, OSError) as error:
        print(f"{parser.prog}: error: {error}", file=sys.stderr)
        return 1
    return status


def _parser(words: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser, with the arguments of only the command that is named."""
    from . import __version__

    parser = argparse.ArgumentParser(
        prog="tvmffi-cubin",
        description="Typed, cached functions from CUDA source or any cubin, with no CUDA toolkit.",
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    help_ = "print the folder of the CMake package: cmake -Dtvmffi_cubin_DIR=..."
    parser.add_argument("--cmake-dir", action="store_true", help=help_)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, text in _COMMANDS.items():
        command = commands.add_parser(name, help=text, description=text)
        if words[:1] == [name]:
            module = importlib.import_module(f".cli.{name}", __package__)
            if hasattr(module, "run"):  # `cache` has several
                command.set_defaults(run=module.run)
            if hasattr(module, "add_arguments"):
                module.add_arguments(command)
    return parser


if __name__ == "__main__":
    sys.exit(main())
