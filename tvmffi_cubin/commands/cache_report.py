"""``tvmffi-cubin cache stats|list``: what the cache holds."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from .. import inventory, uses
from ..age_text import age_text
from ..cache_stats import Stats
from ..folder import cache_folder
from ..limit import UNLIMITED, size_text
from ..listing import Listed, listed
from .progress import watched

__all__ = ["add_to"]

_JSON = "print JSON instead of text"
# Enough of a key to tell entries apart; `export --key` takes as much.
_SHORT = 12


def add_to(actions: Any) -> None:
    """Add the actions to the parser of ``cache``."""
    text = "say how much is in the cache, and how old it is"
    stats = actions.add_parser("stats", help=text, description=text)
    stats.set_defaults(run=_stats)
    text = "list what was built, what was used last first"
    list_ = actions.add_parser("list", help=text, description=text)
    list_.set_defaults(run=_list)
    for parser in (stats, list_):
        parser.add_argument("--json", action="store_true", help=_JSON)


def _stats(options: argparse.Namespace) -> int:
    stats = Stats.look()
    if options.json:
        print(json.dumps(asdict(stats), indent=2))
        return 0
    for name, text in _rows(stats):
        print(f"{name:<22} {text}")
    return 0


def _rows(stats: Stats) -> Iterator[tuple[str, str]]:
    limit = UNLIMITED if stats.limit is None else size_text(stats.limit)
    yield "folder", stats.folder
    yield "holds", f"{size_text(stats.size)}, limit {limit}"
    if stats.mode != "on":
        yield "mode", stats.mode
    for name, part in stats.kinds.items():
        if part.count:
            yield name.replace("_", " "), f"{part.count:>6}  {size_text(part.size):>9}"
    if stats.kinds["entries"].count:
        yield "in use", f"{stats.in_use:>6}"
        for when, count in stats.last_used.items():
            yield f"used {when.replace('_', ' ')}", f"{count:>6}"
        yield "longest not used", age_text(stats.oldest)
    for layer, part in stats.layers.items():
        yield "layer", f"{part.count:>6}  {size_text(part.size):>9}  {layer}"
    if stats.beside_package.count:
        part = stats.beside_package
        yield "beside the package", f"{part.count:>6}  {size_text(part.size):>9}"
    if stats.remote is not None:
        yield "remote", stats.remote


def _list(options: argparse.Namespace) -> int:
    folder = cache_folder()
    found = inventory.take(folder)
    entries = watched(found.of("entry", "header"), what="reading")
    rows = sorted(listed(entries, uses.living(folder)), key=lambda row: (-row.used, row.key))
    if options.json:
        print(json.dumps({"folder": folder, "entries": [asdict(row) for row in rows]}, indent=2))
    else:
        _print(rows, time.time())
    return 0


def _print(rows: Sequence[Listed], now: float) -> None:
    head = ("NAME", "KIND", "SIZE", "ARCH", "BUILT", "USED", "KEY")
    cells = [
        (
            row.name,
            row.kind,
            size_text(row.size),
            ",".join(row.archs),
            age_text(now - row.built),
            "now" if row.in_use else age_text(now - row.used),
            row.key[:_SHORT],
        )
        for row in rows
    ]
    if not cells:
        return
    widths = [max(map(len, column)) for column in zip(head, *cells, strict=True)]
    for line in (head, *cells):
        print("  ".join(map(str.ljust, line, widths)).rstrip())
