"""``tvmffi-cubin inspect``: what a module or an image consists of, without running it."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

__all__ = ["add_to"]


def add_to(commands: Any) -> None:
    """Add the command to the parser's subcommands."""
    text = "say what is in a module or an image: functions, kernels, what they use; runs nothing"
    parser = commands.add_parser("inspect", help=text, description=text)
    help_ = "a module (.so), an object with images (.o), a cubin, a fatbin or PTX"
    parser.add_argument("file", type=Path, metavar="FILE", help=help_)
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    from ..inspect_file import inspect

    found = inspect(options.file)
    print(json.dumps(found.values(), indent=2) if options.json else found.text())
    return 0
