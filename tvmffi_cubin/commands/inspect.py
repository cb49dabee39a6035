"""``tvmffi-cubin inspect``: the kernels of an image and what they use."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from .. import elf
from .kernel_table import kernel_facts, kernel_table

__all__ = ["add_to"]


def add_to(commands: Any) -> None:
    """Add the command to the parser's subcommands."""
    text = "list the kernels of a cubin: registers, shared and local memory, parameters"
    parser = commands.add_parser("inspect", help=text, description=text)
    parser.add_argument("file", type=Path, metavar="FILE", help="the cubin")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    image = options.file.read_bytes()
    try:
        parsed = elf.parse(image)
    except ValueError as error:
        raise ValueError(f"{options.file}: {error}") from None
    if options.json:
        kernels = [kernel_facts(kernel) for kernel in parsed.kernels]
        print(json.dumps({"arch": parsed.arch, "bytes": len(image), "kernels": kernels}, indent=2))
        return 0
    print(f"{options.file}: {len(image)} bytes for {parsed.arch}")
    print(kernel_table(parsed.kernels) if parsed.kernels else "It has no kernels.")
    return 0
