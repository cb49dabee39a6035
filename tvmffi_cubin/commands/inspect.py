"""``tvmffi-cubin inspect``: the kernels of an image and what they use."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from .image_report import report

__all__ = ["add_to"]


def add_to(commands: Any) -> None:
    """Add the command to the parser's subcommands."""
    text = "list the kernels of an image: registers, shared and local memory, parameters"
    parser = commands.add_parser("inspect", help=text, description=text)
    help_ = "a cubin, a fatbin, PTX, or a module that was built here (.so)"
    parser.add_argument("file", type=Path, metavar="FILE", help=help_)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    found = report(options.file)
    print(json.dumps(found.values(), indent=2) if options.json else found.text())
    return 0
