"""``tvmffi-cubin cache``: where the cache is; and emptying it."""

from __future__ import annotations

import argparse
from typing import Any

from ..cache_clear import clear
from ..folder import cache_folder

__all__ = ["add_to"]


def add_to(commands: Any) -> None:
    """Add the command to the parser's subcommands."""
    text = "say where the cache is, or empty it"
    parser = commands.add_parser("cache", help=text, description=text)
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    path = actions.add_parser("path", help="print the cache folder")
    path.set_defaults(run=_path)
    clear_ = actions.add_parser(
        "clear",
        help="remove what was built",
        description="Remove what was built. Loaded modules go on working, and what is being built "
        "now is left alone. Only files that the cache itself made are touched.",
    )
    clear_.set_defaults(run=_clear)


def _path(_: argparse.Namespace) -> int:
    print(cache_folder())
    return 0


def _clear(_: argparse.Namespace) -> int:
    folder = cache_folder()
    removed = clear(folder)
    count = f"{removed.entries} entr{'y' if removed.entries == 1 else 'ies'}"
    print(f"{folder}: {count} removed, {removed.size / 2**20:.1f} MiB freed")
    return 0
