"""``tvmffi-cubin cache``: show what is in the cache, remove some, and carry it elsewhere."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from .. import config
from ..cache import upkeep
from ..cache.files import cache_folder
from ..cache.remote import without_secrets
from ..cache.store import default
from ..cache.upkeep import capacity, contents, listed, read_size, size_text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)

    def action(run: Callable[[argparse.Namespace], int], text: str) -> argparse.ArgumentParser:
        name = run.__name__.strip("_")
        added: argparse.ArgumentParser = actions.add_parser(name, help=text, description=text)
        added.set_defaults(run=run)
        return added

    action(_path, "print the cache folder")
    action(_stats, "show the size of the cache and its limit")
    text = "show what a run with TVMFFI_CUBIN_RECORD requested, and where it came from"
    report = action(_report, text)
    report.add_argument("file", type=Path, metavar="FILE", help="the record of the run")
    list_ = action(_list, "list the entries, most recently used first")
    list_.add_argument("--json", action="store_true", help="print JSON instead of text")
    action(_verify, "check every file against its checksum, and remove damaged entries")
    prune = action(_prune, "remove the least recently used entries, and records without an entry")
    help_ = "the limit to prune to, such as 500MB; default: TVMFFI_CUBIN_CACHE_SIZE"
    prune.add_argument("--max-size", metavar="SIZE", help=help_)
    action(_clear, "remove everything except running builds")
    text = "copy entries to a folder for TVMFFI_CUBIN_CACHE_PATH, or for `import` elsewhere"
    export = action(_export, text)
    export.add_argument("folder", type=Path, metavar="FOLDER", help="the folder to write or add to")
    help_ = "only modules with this name; may be repeated"
    export.add_argument("--name", action="append", default=[], metavar="NAME", help=help_)
    import_ = action(_import, "add entries that `export` wrote: code that you will run")
    import_.add_argument("folder", type=Path, metavar="FOLDER", help="what `export` wrote")


def _path(_: argparse.Namespace) -> int:
    print(cache_folder())
    return 0


def _stats(_: argparse.Namespace) -> int:
    named, limit = default(), capacity()
    found = contents(str(named.root))
    size = sum(item.size for item in found)
    remote = without_secrets(config.get("TVMFFI_CUBIN_CACHE_REMOTE") or "")
    kinds = {x.kind: [y.size for y in found if y.kind == x.kind] for x in found}
    kinds |= {f"layer {x}": [y.size for y in contents(x, "entry")] for x in named.layers}
    print(f"{named.root}, {named.mode}" + (f", remote {remote}" if remote else ""))
    print(f"{size_text(size)}, limit {size_text(limit) if limit else 'unlimited'}")
    for kind, sizes in kinds.items():
        print(f"{kind:<10} {len(sizes):>6}  {size_text(sum(sizes)):>9}")
    return 0


def _report(options: argparse.Namespace) -> int:
    from ..inline.recording import read

    lines = read(options.file)
    cells = [("NAME", "ARCH", "OUTCOME", "MS", "WHERE")]
    cells += [(x.name, ",".join(x.archs), x.outcome, f"{x.ms:.2f}", x.where) for x in lines]
    _print_table(cells)
    counts = Counter(line.outcome for line in lines)
    said = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
    print(f"{len(lines)} modules in {sum(x.ms for x in lines):.1f} ms: {said}")
    return 0


def _list(options: argparse.Namespace) -> int:
    found = listed(cache_folder())[::-1]
    if options.json:
        print(json.dumps([row._asdict() for row in found], indent=2))
        return 0
    cells = [("NAME", "FILE", "SIZE", "ARCH", "BUILT", "USED", "KEY")]
    for row in found:
        size, archs = size_text(row.size), ",".join(row.archs)
        dates = _date(row.built), _date(row.used)
        cells.append((row.name or "-", row.file, size, archs, *dates, row.key[:12]))
    _print_table(cells)
    return 0


def _verify(_: argparse.Namespace) -> int:
    folder = cache_folder()
    done = _watch(upkeep.verify(folder), "was removed")
    print(f"{folder}: {_entries(len(done))} checked, {done.count(False)} damaged")
    return 0 if all(done) else 1


def _prune(options: argparse.Namespace) -> int:
    given = options.max_size
    limit = capacity() if given is None else read_size(given, what="--max-size")
    return _tell(*upkeep.prune(cache_folder(), limit))


def _clear(_: argparse.Namespace) -> int:
    return _tell(*upkeep.clear(cache_folder()))


def _tell(entries: int, size: int) -> int:
    print(f"{cache_folder()}: {_entries(entries)} removed, {size_text(size)} freed")
    return 0


def _export(options: argparse.Namespace) -> int:
    entries = [x.path for x in listed(str(default().root), options.name) if x.name]
    print(f"{options.folder}: {_entries(write_layer(entries, options.folder))}")
    return 0


def write_layer(entries: Sequence[str], folder: Path) -> int:
    """Copy entries to a folder for ``TVMFFI_CUBIN_CACHE_PATH``; return how many arrived."""
    folder.mkdir(parents=True, exist_ok=True)
    done = _watch(upkeep.copy(entries, os.path.abspath(folder)), "was skipped")
    upkeep.let_all_read(folder)
    return sum(done)


def _import(options: argparse.Namespace) -> int:
    root, folder = str(default().root), options.folder
    if not folder.is_dir():
        raise ValueError(f"{folder} is not a folder written by `tvmffi-cubin cache export`")
    entries = [x.path for x in contents(os.fspath(folder), "entry")]
    done = _watch(upkeep.copy(entries, root), "was rejected")
    print(f"{root}: {_entries(sum(done))} imported from {folder}")
    return 0 if all(done) else 1


def _watch(entries: Iterable[tuple[str, str]], what: str) -> list[bool]:
    """Return whether each entry is fine, and print what is wrong with the others."""
    done = []
    for name, problem in entries:
        done.append(not problem)
        if problem:
            show_progress("")
            print(f"{name} {what}: {problem}", flush=True)
        show_progress(f"{_entries(len(done))} so far")
    show_progress("")
    return done


def show_progress(text: str) -> None:
    """Show a text in a terminal's last line, in place of the previous one."""
    if sys.stderr is not None and sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def _entries(count: int) -> str:
    return f"{count} entr{'y' if count == 1 else 'ies'}"


def _date(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))


def _print_table(rows: Sequence[Sequence[str]]) -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows if len(rows) > 1 else ():
        print("  ".join(map(str.ljust, row, widths)).rstrip())
