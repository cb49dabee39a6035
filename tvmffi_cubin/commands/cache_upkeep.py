"""``tvmffi-cubin cache verify|prune|clear``: whether the cache is whole; and less of it."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from typing import Any

from .. import inventory, package_headers
from ..age_text import age_text, read_age
from ..cache_clear import Removed, clear, plan_prune, prune
from ..cache_verify import checkable, verify
from ..folder import cache_folder
from ..limit import capacity, read_size, size_text
from .progress import say, weighed

__all__ = ["add_to"]

_SHORT = 12


def add_to(actions: Any) -> None:
    """Add the actions to the parser of ``cache``."""
    parser = actions.add_parser(
        "verify",
        help="compare every file with what was published",
        description="Compare every byte with what was published. Exit status 1 where something is "
        "damaged and was not repaired. A look-up compares what it loads, too.",
    )
    help_ = "set damaged entries aside, so that they are built again, and remove damaged records"
    parser.add_argument("--repair", action="store_true", help=help_)
    parser.set_defaults(run=_verify)
    parser = actions.add_parser(
        "prune",
        help="remove what was not used for long",
        description="Remove what was used least recently, never what a living process was given, "
        "and what leads nowhere.",
    )
    help_ = "until the cache takes no more, such as 500MB; default: TVMFFI_CUBIN_CACHE_SIZE"
    parser.add_argument("--max-size", metavar="SIZE", help=help_)
    help_ = "all that was not used for so long, such as 30d, 12h or 45m"
    parser.add_argument("--older-than", metavar="AGE", help=help_)
    parser.add_argument("--dry-run", action="store_true", help="only say what would be removed")
    parser.set_defaults(run=_prune)
    parser = actions.add_parser(
        "clear",
        help="remove what was built",
        description="Remove what was built, except what living processes were given or build now, "
        "and precompiled headers, those beside the package too. Only files that the cache itself "
        "made are touched.",
    )
    parser.set_defaults(run=_clear)
    for parser in map(actions.choices.get, ("verify", "prune", "clear")):
        parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def _verify(options: argparse.Namespace) -> int:
    folder = cache_folder()
    items = checkable(inventory.take(folder))
    damaged = []
    for found in verify(weighed(items, what="comparing"), repair=options.repair):
        damaged.append(found)
        if not options.json:
            done = "; repaired" if found.is_repaired else ""
            say(f"{found.path}: {found.reason}{done}")
    size = sum(item.size for item in items)
    if options.json:
        _print_json(folder, compared=len(items), size=size, damaged=list(map(asdict, damaged)))
    else:
        what = f"{len(damaged)} damaged" if damaged else "all whole"
        print(f"{folder}: {len(items)} entries and records compared, {size_text(size)}, {what}")
    return 0 if all(found.is_repaired for found in damaged) else 1


def _prune(options: argparse.Namespace) -> int:
    folder = cache_folder()
    given = options.max_size, options.older_than
    max_size = capacity() if given == (None, None) else None
    if options.max_size is not None:
        max_size = read_size(options.max_size, what="--max-size")
    max_age = None
    if options.older_than is not None:
        max_age = read_age(options.older_than, what="--older-than")
    plan = plan_prune(folder, max_size=max_size, max_age=max_age)
    if not options.dry_run:
        _tell(options, folder, prune(plan))
    elif options.json:
        items = [asdict(item) for item in plan.items]
        _print_json(folder, would_remove=items, size=plan.size, kept=plan.kept)
    else:
        for item in plan.items:
            age = age_text(plan.moment - item.used)
            print(f"{item.kind:<8} {item.name[:_SHORT]:<{_SHORT}} {size_text(item.size):>9}  {age}")
        print(f"{folder}: {len(plan.items)} would be removed, {size_text(plan.size)} freed")
    return 0


def _clear(options: argparse.Namespace) -> int:
    folder = cache_folder()
    _tell(options, folder, clear(folder) + package_headers.clear())
    return 0


def _tell(options: argparse.Namespace, folder: str, removed: Removed) -> None:
    if options.json:
        _print_json(folder, removed=removed.entries, size=removed.size, kept=removed.kept)
        return
    count = f"{removed.entries} entr{'y' if removed.entries == 1 else 'ies'}"
    kept = f"; {removed.kept} that living processes use stay" if removed.kept else ""
    print(f"{folder}: {count} removed, {size_text(removed.size)} freed{kept}")


def _print_json(folder: str, **values: Any) -> None:
    print(json.dumps({"folder": folder, **values}, indent=2))
