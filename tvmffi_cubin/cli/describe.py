"""``tvmffi-cubin describe``: a module's description, which can be edited and built again."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from ..formats.description import describe, describe_module


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="a module (.so), or an object (.o)")
    help_ = "write to this file instead, with the images beside it"
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help=help_)


def run(options: argparse.Namespace) -> int:
    if options.output is None:
        print(json.dumps(describe(options.file), indent=2))
        return 0
    print(*describe_module(options.file, options.output), sep="\n")
    return 0
