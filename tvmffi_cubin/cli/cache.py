"""``tvmffi-cubin cache``: what is in the cache, less of it, and carrying it elsewhere."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from ..cache import bundle, upkeep
from ..cache.folder import cache_folder, places
from ..cache.remote import secret, without_secrets
from ..cache.store import Cache
from ..cache.upkeep import capacity, contents, read_size, size_text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what follows the command's name."""
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)

    def action(run: Callable[[argparse.Namespace], int], text: str) -> argparse.ArgumentParser:
        name = run.__name__.strip("_")
        added: argparse.ArgumentParser = actions.add_parser(name, help=text, description=text)
        added.set_defaults(run=run)
        return added

    action(_path, "print the cache folder")
    action(_stats, "say how much is in the cache, and what it may hold")
    list_ = action(_list, "list what was built, what was used last first")
    list_.add_argument("--json", action="store_true", help="print JSON instead of text")
    action(_verify, "compare every file with what was published, and remove what is damaged")
    prune = action(_prune, "remove what was not used for long, and what leads nowhere")
    help_ = "until the cache takes no more, such as 500MB; default: TVMFFI_CUBIN_CACHE_SIZE"
    prune.add_argument("--max-size", metavar="SIZE", help=help_)
    action(_clear, "remove what was built, but for builds that run")
    export = action(
        _export,
        "write what was built to an archive for `import`, signed where a key for the remote is "
        "set, or to a folder for TVMFFI_CUBIN_CACHE_PATH",
    )
    where = export.add_mutually_exclusive_group(required=True)
    where.add_argument("file", nargs="?", type=Path, metavar="FILE", help="the archive to write")
    help_ = "the folder to write instead, or to add to"
    where.add_argument("--layer", type=Path, metavar="FOLDER", help=help_)
    help_ = "only modules of this name; may be repeated"
    export.add_argument("--name", action="append", default=[], metavar="NAME", help=help_)
    text = "take in what `export` wrote; where a key is set, only what is signed with it"
    import_ = action(_import, text)
    import_.add_argument("file", type=Path, metavar="FILE", help="the archive")
    help_ = "take what was exported without a key: it is code that this user will run"
    import_.add_argument("--unsigned", action="store_true", help=help_)


def _path(_: argparse.Namespace) -> int:
    print(cache_folder())
    return 0


def _stats(_: argparse.Namespace) -> int:
    from .. import config

    named, limit = places(), capacity()
    found = contents(named.root)
    size = sum(item.size for item in found)
    remote = without_secrets(config.get("TVMFFI_CUBIN_CACHE_REMOTE") or "")
    kinds = {x.kind: [y.size for y in found if y.kind == x.kind] for x in found}
    kinds |= {f"layer {x}": [y.size for y in contents(x, "entry")] for x in named.layers}
    print(f"{named.root}, {named.mode}" + (f", remote {remote}" if remote else ""))
    print(f"{size_text(size)}, limit {size_text(limit) if limit else 'unlimited'}")
    for kind, sizes in kinds.items():
        print(f"{kind:<10} {len(sizes):>6}  {size_text(sum(sizes)):>9}")
    return 0


def _list(options: argparse.Namespace) -> int:
    rows = upkeep.listed(contents(cache_folder(), "entry"))
    found = sorted(rows, key=lambda row: (-row.used, row.key))
    if options.json:
        print(json.dumps([row._asdict() for row in found], indent=2))
        return 0
    cells = [("NAME", "KIND", "SIZE", "ARCH", "BUILT", "USED", "KEY")]
    for row in found:
        size, archs = size_text(row.size), ",".join(row.archs)
        dates = _date(row.built), _date(row.used)
        cells.append((row.name, row.kind, size, archs, *dates, row.key[:12]))
    _print_table(cells if found else ())
    return 0


def _verify(_: argparse.Namespace) -> int:
    folder = cache_folder()
    items = contents(folder, "entry", "record", "history", "identity")
    damaged = 0
    for path, reason in upkeep.verify(items):
        damaged += 1
        print(f"{path}: {reason}; removed", flush=True)
    size = size_text(sum(item.size for item in items))
    what = f"{damaged} damaged" if damaged else "all whole"
    print(f"{folder}: {len(items)} entries and records compared, {size}, {what}")
    return 1 if damaged else 0


def _prune(options: argparse.Namespace) -> int:
    folder, limit = cache_folder(), capacity()
    if options.max_size is not None:
        limit = read_size(options.max_size, what="--max-size")
    return _tell(folder, upkeep.prune(folder, upkeep.plan_prune(folder, max_size=limit)))


def _clear(_: argparse.Namespace) -> int:
    folder = cache_folder()
    return _tell(folder, upkeep.clear(folder))


def _tell(folder: str, removed: upkeep.Removed) -> int:
    print(f"{folder}: {_entries(removed.entries)} removed, {size_text(removed.size)} freed")
    return 0


def _export(options: argparse.Namespace) -> int:
    # What others could write is signed by nobody.
    root = places().root
    entries = upkeep.entries_named(root, options.name)
    if options.layer is not None:
        moved = bundle.export_layer(root, entries, options.layer)
    else:
        moved = bundle.export(root, entries, options.file, secret() or b"")
    count, problems = _watch(moved, "was left out")
    left = f", {problems} left out" if problems else ""
    print(f"{options.layer or options.file}: {_entries(count)}{left}")
    return 0


def _import(options: argparse.Namespace) -> int:
    root = places().root
    key = None if options.unsigned else secret()
    moved = bundle.import_(options.file, Cache(root), key or b"")
    count, refused = _watch(moved, "was refused")
    left = f", {refused} refused" if refused else ""
    print(f"{root}: {_entries(count)} of {options.file} taken{left}")
    return 1 if refused else 0


def _watch(moved: Iterable[tuple[str, str]], what: str) -> tuple[int, int]:
    counts = [0, 0]
    for name, problem in moved:
        counts[bool(problem)] += 1
        if problem:
            print(f"{name} {what}: {problem}", flush=True)
    return counts[0], counts[1]


def _entries(count: int) -> str:
    return f"{count} entr{'y' if count == 1 else 'ies'}"


def _date(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))


def _print_table(rows: Sequence[Sequence[str]]) -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(map(str.ljust, row, widths)).rstrip())
