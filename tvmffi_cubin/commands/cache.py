"""``tvmffi-cubin cache``: where the cache is, what is in it; and less of it."""

from __future__ import annotations

import argparse
from typing import Any

from ..folder import cache_folder
from . import cache_archive, cache_report, cache_upkeep

__all__ = ["add_to"]

_TEXT = "say where the cache is and what is in it, check it, empty it, carry it elsewhere"


def add_to(commands: Any) -> None:
    """Add the command to the parser's subcommands."""
    parser = commands.add_parser("cache", help=_TEXT, description=_TEXT)
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    path = actions.add_parser("path", help="print the cache folder")
    path.set_defaults(run=_path)
    for part in (cache_report, cache_upkeep, cache_archive):
        part.add_to(actions)


def _path(_: argparse.Namespace) -> int:
    print(cache_folder())
    return 0
