"""``tvmffi-cubin cache``: what is in the cache, less of it, and carrying it elsewhere."""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from .. import config
from ..cache import bundle, upkeep
from ..cache.folder import cache_folder, places
from ..cache.remote import secret, without_secrets
from ..cache.store import Cache
from ..cache.upkeep import Item, capacity, contents, read_size, size_text
from .progress import say, watched, weighed

_TEXT = "say where the cache is and what is in it, check it, empty it, carry it elsewhere"
# Enough of a key to tell entries apart; `export --key` takes as much.
_SHORT = 12
_PLURALS = {"entry": "entries", "history": "histories", "identity": "identities"}
_AGES = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def add_to(commands: Any) -> None:
    """Add the command to the parser's subcommands."""
    parser = commands.add_parser("cache", help=_TEXT, description=_TEXT)
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)

    def action(
        name: str, run: Callable[[argparse.Namespace], int], text: str, *, has_json: bool = True
    ) -> argparse.ArgumentParser:
        added: argparse.ArgumentParser = actions.add_parser(name, help=text, description=text)
        if has_json:
            added.add_argument("--json", action="store_true", help="print JSON instead of text")
        added.set_defaults(run=run, parser=added)
        return added

    action("path", _path, "print the cache folder", has_json=False)
    action("stats", _stats, "say how much is in the cache, and how old it is")
    action("list", _list, "list what was built, what was used last first")
    verify = action("verify", _verify, "compare every file with what was published")
    help_ = "remove what is damaged, so that it is built again"
    verify.add_argument("--repair", action="store_true", help=help_)
    prune = action("prune", _prune, "remove what was not used for long, and what leads nowhere")
    help_ = "until the cache takes no more, such as 500MB; default: TVMFFI_CUBIN_CACHE_SIZE"
    prune.add_argument("--max-size", metavar="SIZE", help=help_)
    help_ = "all that was not used for so long, such as 30d, 12h or 45m"
    prune.add_argument("--older-than", metavar="AGE", help=help_)
    prune.add_argument("--dry-run", action="store_true", help="only say what would be removed")
    action("clear", _clear, "remove what was built, but for builds that run")
    export = action(
        "export",
        _export,
        "write what was built to an archive for `import`, signed where a key for the remote is "
        "set, or to a folder for TVMFFI_CUBIN_CACHE_PATH",
        has_json=False,
    )
    export.add_argument("file", nargs="?", type=Path, metavar="FILE", help="the archive to write")
    help_ = "the folder to write instead, or to add to"
    export.add_argument("--layer", type=Path, metavar="FOLDER", help=help_)
    help_ = "only modules of this name; may be repeated"
    export.add_argument("--name", action="append", default=[], metavar="NAME", help=help_)
    help_ = "only the entry whose key begins so, as `list` shows it; may be repeated"
    export.add_argument("--key", action="append", default=[], metavar="KEY", help=help_)
    text = "take in what `export` wrote; where a key is set, only what is signed with it"
    import_ = action("import", _import, text, has_json=False)
    import_.add_argument("file", type=Path, metavar="FILE", help="the archive")
    help_ = "take what is not signed, too: it is code that this user will run"
    import_.add_argument("--unsigned", action="store_true", help=help_)


def _path(_: argparse.Namespace) -> int:
    print(cache_folder())
    return 0


def _stats(options: argparse.Namespace) -> int:
    named, limit = places(), capacity()
    found = contents(named.root)
    now = time.time()
    entries = [item for item in found if item.kind == "entry"]
    url = config.get("TVMFFI_CUBIN_CACHE_REMOTE")
    kinds = dict.fromkeys(item.kind for item in found)
    facts: dict[str, Any] = {
        "folder": named.root,
        "mode": named.mode,
        "size": sum(item.size for item in found),
        "limit": limit,
        "kinds": {kind: _part([x for x in found if x.kind == kind]) for kind in kinds},
        "layers": {layer: _part(contents(layer, "entry")) for layer in named.layers},
        "remote": None if url is None else without_secrets(url),
        "longest_not_used": max((now - x.used for x in entries), default=0.0),
    }
    if options.json:
        print(json.dumps(facts, indent=2))
        return 0
    rows = {
        "folder": named.root,
        "mode": named.mode,
        "holds": f"{size_text(facts['size'])}, limit {size_text(limit) if limit else 'unlimited'}",
    }
    for kind, part in facts["kinds"].items():
        rows[_PLURALS.get(kind, f"{kind}s")] = f"{part['count']:>6}  {size_text(part['size']):>9}"
    if entries:
        rows["longest not used"] = age_text(facts["longest_not_used"])
    for layer, part in facts["layers"].items():
        rows[f"layer {layer}"] = f"{part['count']:>6}  {size_text(part['size']):>9}"
    if url is not None:
        rows["remote"] = without_secrets(url)
    for name, text in rows.items():
        print(f"{name:<18} {text}")
    return 0


def _part(items: Iterable[Item]) -> dict[str, int]:
    sizes = [item.size for item in items]
    return {"count": len(sizes), "size": sum(sizes)}


def _list(options: argparse.Namespace) -> int:
    folder = cache_folder()
    rows = upkeep.listed(watched(contents(folder, "entry"), what="reading"))
    found = sorted(rows, key=lambda row: (-row.used, row.key))
    if options.json:
        entries = [row._asdict() for row in found]
        print(json.dumps({"folder": folder, "entries": entries}, indent=2))
        return 0
    now = time.time()
    cells = [("NAME", "KIND", "SIZE", "ARCH", "BUILT", "USED", "KEY")]
    for row in found:
        ages = age_text(now - row.built), age_text(now - row.used)
        size, archs = size_text(row.size), ",".join(row.archs)
        cells.append((row.name, row.kind, size, archs, *ages, row.key[:_SHORT]))
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for line in cells if found else ():
        print("  ".join(map(str.ljust, line, widths)).rstrip())
    return 0


def _verify(options: argparse.Namespace) -> int:
    folder = cache_folder()
    items = contents(folder, "entry", "record", "history", "identity")
    damaged = []
    for found in upkeep.verify(weighed(items, what="comparing"), repair=options.repair):
        damaged.append(found)
        if not options.json:
            say(f"{found.path}: {found.reason}{'; removed' * found.is_repaired}")
    size = sum(item.size for item in items)
    if options.json:
        facts = {"folder": folder, "compared": len(items), "size": size}
        print(json.dumps({**facts, "damaged": [x._asdict() for x in damaged]}, indent=2))
    else:
        what = f"{len(damaged)} damaged" if damaged else "all whole"
        print(f"{folder}: {len(items)} entries and records compared, {size_text(size)}, {what}")
    return 0 if all(found.is_repaired for found in damaged) else 1


def _prune(options: argparse.Namespace) -> int:
    folder = cache_folder()
    max_size = capacity() if options.max_size is None and options.older_than is None else None
    if options.max_size is not None:
        max_size = read_size(options.max_size, what="--max-size")
    age = None if options.older_than is None else read_age(options.older_than)
    items = upkeep.plan_prune(folder, max_size=max_size, max_age=age)
    if not options.dry_run:
        return _tell(options, folder, upkeep.prune(folder, items))
    size = sum(item.size for item in items)
    if options.json:
        rows = [item._asdict() for item in items]
        print(json.dumps({"folder": folder, "would_remove": rows, "size": size}, indent=2))
        return 0
    for item in items:
        age_ = age_text(time.time() - item.used)
        print(f"{item.kind:<8} {item.name[:_SHORT]:<{_SHORT}} {size_text(item.size):>9}  {age_}")
    print(f"{folder}: {len(items)} would be removed, {size_text(size)} freed")
    return 0


def _clear(options: argparse.Namespace) -> int:
    folder = cache_folder()
    return _tell(options, folder, upkeep.clear(folder))


def _tell(options: argparse.Namespace, folder: str, removed: upkeep.Removed) -> int:
    if options.json:
        print(json.dumps({"folder": folder, **removed._asdict()}, indent=2))
    else:
        count = f"{removed.entries} entr{'y' if removed.entries == 1 else 'ies'}"
        print(f"{folder}: {count} removed, {size_text(removed.size)} freed")
    return 0


def _export(options: argparse.Namespace) -> int:
    if (options.file is None) == (options.layer is None):
        options.parser.error("give the archive to write, or --layer and a folder")
    # What others could write is signed by nobody.
    root = places().root
    entries = upkeep.entries_named(root, options.name, options.key)
    if options.layer is not None:
        moved = bundle.export_layer(root, entries, options.layer)
    else:
        moved = bundle.export(root, entries, options.file, secret())
    count, problems = _watch(moved, "exporting", "was left out")
    left = f", {problems} left out" if problems else ""
    print(f"{options.layer or options.file}: {count} entr{'y' if count == 1 else 'ies'}{left}")
    return 0


def _import(options: argparse.Namespace) -> int:
    root = places().root
    moved = bundle.import_(options.file, Cache(root), secret(), takes_unsigned=options.unsigned)
    count, refused = _watch(moved, "importing", "was refused")
    left = f", {refused} refused" if refused else ""
    print(f"{root}: {count} entr{'y' if count == 1 else 'ies'} of {options.file} taken{left}")
    return 1 if refused else 0


def _watch(moved: Iterable[bundle.Moved], what: str, problem: str) -> tuple[int, int]:
    counts = [0, 0]
    for entry in watched(moved, what=what):
        counts[bool(entry.problem)] += 1
        if entry.problem:
            say(f"{entry.name} {problem}: {entry.problem}")
    return counts[0], counts[1]


def read_age(text: str) -> int:
    """Return the seconds that a text such as ``30d`` says; a ValueError where it says none."""
    match = re.fullmatch(r"\s*(\d{1,9})\s*([smhdw])\s*", text)
    if match is None:
        raise ValueError(
            f"--older-than {text!r}: wanted a whole number with s, m (minutes), h, d or w after "
            "it, such as 30d"
        )
    return int(match[1]) * _AGES[match[2]]


def age_text(seconds: float) -> str:
    """Return a length of time for people, in the largest unit of which there are two."""
    for unit, length in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{int(seconds // length)} {unit}"
    return f"{max(int(seconds), 0)} s"
