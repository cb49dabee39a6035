"""``tvmffi-cubin inspect``: show what a module or an image contains, without running it."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from ..artifacts.inspection import inspect


def add_arguments(parser: argparse.ArgumentParser) -> None:
    help_ = "a module (.so), an object (.o), a cubin, a fatbin or PTX; - for standard input"
    parser.add_argument("file", type=Path, metavar="FILE", help=help_)
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def run(options: argparse.Namespace) -> int:
    is_piped = options.file == Path("-")
    found = inspect(sys.stdin.buffer.read() if is_piped else options.file)
    print(json.dumps(found.values(), indent=2) if options.json else found)
    return 0
