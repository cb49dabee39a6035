"""``tvmffi-cubin describe``: a module's description, which can be edited and built again."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

__all__ = ["add_to"]

_TEXT = "print how a module's functions launch, as JSON that embed --functions takes"


def add_to(commands: Any) -> None:
    """Add the command to the parser's subcommands."""
    parser = commands.add_parser("describe", help=_TEXT, description=_TEXT)
    parser.add_argument("file", type=Path, metavar="FILE", help="a module (.so), or an object (.o)")
    help_ = "write it there instead, and the images beside it, which it then names"
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help=help_)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    if options.output is None:
        from ..formats.description import Description

        print(json.dumps(Description.of(options.file).to_json(), indent=2))
        return 0
    from ..formats.load import describe_module

    for file in describe_module(options.file, options.output):
        print(file)
    return 0
