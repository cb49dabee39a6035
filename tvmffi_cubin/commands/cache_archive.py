"""``tvmffi-cubin cache export|import``: what was built, carried to where it was not."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from .. import inventory
from ..archive import Exported, read_archive, write_archive
from ..cache import Cache
from ..layer_export import write_layer
from ..limit import size_text
from ..listing import Listed, listed
from ..places import places
from ..remote import secret
from .progress import say, watched

__all__ = ["add_to"]


def add_to(actions: Any) -> None:
    """Add the actions to the parser of ``cache``."""
    parser = actions.add_parser(
        "export",
        help="write what was built to an archive, or to a folder for TVMFFI_CUBIN_CACHE_PATH",
        description="Write what was built to an archive for `import`, or to a folder for "
        "TVMFFI_CUBIN_CACHE_PATH. An archive is signed where TVMFFI_CUBIN_CACHE_REMOTE_KEY_FILE or "
        "TVMFFI_CUBIN_CACHE_REMOTE_KEY gives a key.",
    )
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE", help="the archive to write")
    help_ = "the folder to write instead, or to add to"
    parser.add_argument("--layer", type=Path, metavar="FOLDER", help=help_)
    help_ = "only modules of this name; may be repeated"
    parser.add_argument("--name", action="append", default=[], metavar="NAME", help=help_)
    help_ = "only the entry whose key begins so, as `list` shows it; may be repeated"
    parser.add_argument("--key", action="append", default=[], metavar="KEY", help=help_)
    parser.set_defaults(run=_export, parser=parser)
    parser = actions.add_parser(
        "import",
        help="take in an archive",
        description="Take in what `export` wrote. Every file of it is verified first. Where a key "
        "is set, only what is signed with it is taken. Exit status 1 where something was refused.",
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="the archive")
    help_ = "take what is not signed, too: it is code that this user will run"
    parser.add_argument("--unsigned", action="store_true", help=help_)
    parser.set_defaults(run=_import)


def _export(options: argparse.Namespace) -> int:
    if (options.file is None) == (options.layer is None):
        options.parser.error("give the archive to write, or --layer and a folder")
    # What others could write is signed by nobody.
    folder = places().root
    entries = _chosen(folder, options.name, options.key)
    shown = watched(entries, what="exporting")
    if options.layer is None:
        done = write_archive(options.file, folder, shown, key=secret())
        return _tell(done, options.file)
    return _tell(write_layer(options.layer, folder, shown), options.layer)


def _chosen(folder: str, names: Sequence[str], keys: Sequence[str]) -> list[Listed]:
    entries = list(listed(inventory.take(folder).of("entry"), ()))
    for name in names:
        if not any(entry.name == name for entry in entries):
            raise ValueError(
                f"no entry of {folder} is called {name!r}; see tvmffi-cubin cache list"
            )
    for key in keys:
        if not key or not any(entry.key.startswith(key) for entry in entries):
            raise ValueError(
                f"no entry of {folder} has the key {key!r}; see tvmffi-cubin cache list"
            )
    if names or keys:
        entries = [x for x in entries if x.name in names or x.key.startswith(tuple(keys))]
    return sorted(entries, key=lambda entry: (entry.name, entry.key))


def _tell(done: Iterable[Exported], output: Path) -> int:
    count = problems = 0
    for exported in done:
        if exported.problem:
            problems += 1
            entry = exported.entry
            say(f"{entry.name} {entry.key[:12]} was left out: {exported.problem}")
        else:
            count += 1
    left = f", {problems} left out" if problems else ""
    print(f"{output}: {count} entr{'y' if count == 1 else 'ies'}{left}")
    return 0


def _import(options: argparse.Namespace) -> int:
    folder = places().root
    key = secret()
    size = os.path.getsize(options.file)
    count = refused = 0
    members = read_archive(
        options.file, Cache(Path(folder)), key=key, takes_unsigned=options.unsigned
    )
    for member in watched(members, what="importing"):
        if member.problem:
            refused += 1
            # Names of a stranger's may be no text, or such that a terminal obeys.
            name = member.name if member.name.isprintable() else ascii(member.name)
            say(f"{name} was refused: {member.problem}")
        else:
            count += 1
    left = f", {refused} refused" if refused else ""
    entries = f"{count} entr{'y' if count == 1 else 'ies'}"
    print(f"{folder}: {entries} of {options.file} ({size_text(size)}) taken{left}")
    return 1 if refused else 0
